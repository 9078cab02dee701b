/// Work that an index does in one statement. For a store without one it is done entry by entry.
extension DiskCache.Store {
  private var index: DiskStore? { self as? DiskStore }

  /// The changes of a store with an index, which other processes may make too, or `nil`.
  var changeCount: ChangeCount? { index?.changes }

  /// True for a store with an index, which takes many entries in one transaction.
  package var hasIndex: Bool { index != nil }

  /// Stores entries. Those that confirm stored bytes replace no newer ones, as another process may have stored, and those
  /// of `known` none that were requested later. See `DiskStore.store(_:of:packed:confirming:known:)`.
  ///
  /// A store without an index stores all of them.
  package func store(
    _ entries: [(key: ResourceKey, entry: CacheEntry)], confirming keys: Set<ResourceKey>,
    known: [ResourceKey: Int64]
  ) throws -> DiskCache.Report {
    if let index { return try index.store(entries, packed: [:], confirming: keys, known: known) }
    return try store(entries)
  }

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
    if let index { return try index.forEachEntry(source, body) }
    try forEach(source) { key, metadata, bytes in
      try body(key, metadata, StoredSize(bytes: bytes, isPinned: isPinned(key.base), lastUsed: 0))
    }
  }

  /// Returns the totals of each source. With an index, the cost does not grow with the number of entries.
  package func totals() throws -> [SourceID: ResourceCache.Totals] {
    if let index { return try index.totals() }
    var totals: [SourceID: ResourceCache.Totals] = [:]
    try forEachSized(nil) { key, _, size in
      totals[key.source, default: ResourceCache.Totals()].add(size)
    }
    return totals
  }

  /// Returns the identity of each source with entries, `nil` for entries of an earlier version.
  ///
  /// It came with the first entry. A store without an index has none. Reads a row of each source.
  package func identities(_ source: SourceID? = nil) throws -> [SourceID: UInt64?] {
    try index?.identities(source) ?? [:]
  }

  /// Returns the totals of the holder's pinned entries. Reads the row of each.
  package func totals(heldBy holder: String) throws -> ResourceCache.Totals {
    if let index { return try index.totals(heldBy: holder) }
    var totals = ResourceCache.Totals()
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

  /// True if a holder other than this one has pinned the key, stored or not.
  package func isPinned(_ key: ResourceKey, besides holder: String) throws -> Bool {
    if let index { return try index.isPinned(key, besides: holder) }
    var isPinned = false
    try forEachPin(by: nil) { pinned, name, _ in if pinned == key.base, name != holder { isPinned = true } }
    return isPinned
  }

  /// Returns the names of all holders of pins.
  package func pinHolders() throws -> [String] {
    if let index { return try index.pinHolders() }
    var names: Set<String> = []
    try forEachPin(by: nil) { _, holder, _ in names.insert(holder) }
    return names.sorted()
  }

  /// Returns the digest of each entry, of its first variant, or `nil` where nothing is stored.
  ///
  /// With an index, it reads rows and sizes of files, but no bodies.
  package func digests(_ keys: [ResourceKey]) throws -> [StoredDigest?] {
    if let index { return try index.digests(keys) }
    return try keys.map { key in
      for place in key.variants {
        if let entry = try entry(place) { return StoredDigest(of: entry.body) }
      }
      return nil
    }
  }

  /// Returns an entry with the coding in which its bytes are stored, which `Content-Encoding` names, or `nil`.
  ///
  /// An entry that came with a coding is so read without unpacking. Others are as `entry(_:)` returns them.
  package func codedEntry(_ key: ResourceKey) throws -> CacheEntry? {
    if let index { return try index.codedEntry(key) }
    return try entry(key)
  }

  /// Reads every body and checks it. Damaged ones are quarantined. `progress` receives the number of checked entries.
  ///
  /// Does nothing in a store without an index, which checks by rules of its own.
  package func verify(progress: (Int) -> Void) throws -> VerifyReport {
    try index?.verify(progress: progress) ?? VerifyReport()
  }

  /// Returns true if pinned entries are to be checked at a time in milliseconds since 1970. They are after a process was
  /// killed while it used the store, and a month after the last check.
  ///
  /// False for a store without an index, which checks by rules of its own.
  package func isCheckDue(at now: Int64) -> Bool { index?.isCheckDue(at: now) ?? false }

  /// Reads about a megabyte of the pinned entries that are to be checked, and removes damaged ones.
  ///
  /// Returns the bytes that were read, or `nil` if nothing is left to check. Each call continues the one before.
  package func checkNext(at now: Int64) throws -> Int64? { try index?.checkNext(at: now) }

  /// Writes all entries into a new file at `path`. Copies everything, while reads continue and writes wait.
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

  /// Makes the store smaller after much of it has changed. Does nothing in a store without an index.
  package func pack() throws { try index?.pack() }

  /// The bytes that the store holds on the disk for removals. 0 for a store without an index.
  var heldRoom: Int64 { index?.room.bytes ?? 0 }

  /// Gives up the room that the store holds for removals. Returns false if it holds none.
  func giveUpRoom() throws -> Bool { try index?.giveUpRoom() ?? false }

  /// Holds room for removals again if the disk has some.
  func keepRoom() throws { try index.map { index in try index.lock.writing { index.keepRoom() } } }
}
