/// A store with an index in SQLite, behind which an engine does the work.
package protocol IndexedBlobStore: BlobStore {
  var engine: IndexedStore { get }
}

extension IndexedBlobStore {
  package func entry(_ key: ResourceKey) throws -> CacheEntry? { try engine.entry(key) }
  package func metadata(_ key: ResourceKey) throws -> EntryMetadata? { try engine.metadata(key) }
  @discardableResult
  package func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> StoreReport {
    try engine.store(entries)
  }
  package func update(_ key: ResourceKey, _ metadata: EntryMetadata) throws -> Bool {
    try engine.update(key, metadata)
  }
  package func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws { try engine.touch(uses) }
  package func remove(_ keys: [ResourceKey]) throws { try engine.remove(keys) }
  package func pin(_ keys: [ResourceKey], by holder: String) throws { try engine.pin(keys, by: holder) }
  package func unpin(_ keys: [ResourceKey]?, by holder: String) throws { try engine.unpin(keys, by: holder) }
  package func isPinned(_ key: ResourceKey) throws -> Bool { try engine.isPinned(key) }
  package func forEachPin(
    by holder: String?, _ body: (_ key: ResourceKey, _ holder: String, _ bytes: Int64?) throws -> Void
  ) throws {
    try engine.forEachPin(by: holder, body)
  }
  @discardableResult
  package func apply(_ limits: BlobStoreLimits) throws -> [ResourceKey] { try engine.apply(limits) }
  package func forEach(
    _ source: SourceID?,
    _ body: (_ key: ResourceKey, _ metadata: EntryMetadata, _ bytes: Int64) throws -> Void
  ) throws {
    try engine.forEach(source) { try body($0, $1, $2.bytes) }
  }
  package func close() throws { try engine.close() }
}

/// Work that an index does in one statement. For a store without one it is done entry by entry.
extension BlobStore {
  private var index: IndexedStore? { (self as? any IndexedBlobStore)?.engine }

  /// Removes all entries of a source, or all entries, pinned or not. Pins stay.
  package func removeAll(_ source: SourceID?) throws {
    if let index { return try index.removeAll(source) }
    var keys: [ResourceKey] = []
    try forEach(source) { key, _, _ in keys.append(key) }
    try remove(keys)
  }

  /// Removes entries from before the time, except pinned ones. An entry of unknown time (0) counts as oldest.
  package func remove(receivedBefore time: Int64, _ source: SourceID?) throws {
    if let index { return try index.remove(receivedBefore: time, source) }
    var keys: [ResourceKey] = []
    try forEach(source) { key, metadata, _ in
      if try metadata.receivedAt < time && !isPinned(key.base) { keys.append(key) }
    }
    try remove(keys)
  }

  /// Calls `body` with all entries, of a source or of all, and what decides on their eviction.
  package func forEachSized(
    _ source: SourceID?, _ body: (ResourceKey, EntryMetadata, StoredSize) throws -> Void
  ) throws {
    if let index { return try index.forEach(source, body) }
    try forEach(source) { key, metadata, bytes in
      try body(key, metadata, StoredSize(bytes: bytes, isPinned: isPinned(key.base), lastUsed: 0))
    }
  }

  /// Returns the totals of each source. With an index, the cost does not grow with the number of entries.
  package func totals() throws -> [SourceID: StoreTotals] {
    if let index { return try index.totals() }
    var totals: [SourceID: StoreTotals] = [:]
    try forEachSized(nil) { key, _, size in
      totals[key.source, default: StoreTotals()].add(size)
    }
    return totals
  }

  /// Returns the totals of the holder's pinned entries. Reads the row of each.
  package func totals(heldBy holder: String) throws -> StoreTotals {
    if let index { return try index.totals(heldBy: holder) }
    var totals = StoreTotals()
    try forEachPin(by: holder) { _, _, bytes in
      guard let bytes else { return }
      totals.count += 1
      totals.bytes += bytes
    }
    (totals.pinnedCount, totals.pinnedBytes) = (totals.count, totals.bytes)
    return totals
  }

  /// Returns the number of keys that the holder has pinned, stored or not.
  package func pinCount(by holder: String) throws -> Int {
    if let index { return try index.pinCount(by: holder) }
    var count = 0
    try forEachPin(by: holder) { _, _, _ in count += 1 }
    return count
  }

  /// Reads every body and checks it. Damaged ones are quarantined. `progress` receives the number of checked entries.
  ///
  /// Does nothing in a store without an index, which checks by rules of its own.
  package func verify(progress: (Int) -> Void) throws -> VerifyReport {
    try index?.verify(progress: progress) ?? VerifyReport()
  }

  /// Writes all entries into a new file at `path`. Copies everything, while other calls continue.
  package func export(to path: String) throws {
    guard let index else {
      throw BothyError(.invalidConfiguration, "This kind of store can't be exported. Use files or database.")
    }
    try index.export(to: path)
  }

  /// Deletes unneeded data, and recomputes the totals. Does nothing in a store without an index.
  ///
  /// Unneeded are bodies without an entry, temporary files of killed processes, and quarantined files.
  package func collectGarbage() throws -> GarbageReport { try index?.collectGarbage() ?? GarbageReport() }
}
