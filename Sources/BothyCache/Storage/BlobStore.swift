/// The interface to a store of entries on disk.
///
/// Every method blocks, may be called from any thread and is meant for the cache's own threads. After a crash each
/// entry is whole, as it was before the call or after it. A call with many entries may be interrupted between two of
/// them. Several processes may use one directory. Keys with different variants have separate entries, but are pinned
/// together. Errors are `BothyError`s of BothyStore.
public protocol BlobStore: BlobReader {
  /// Writes entries, replacing those of equal keys. Evicts entries first if the limits require it.
  ///
  /// The limits are enforced before this returns. An entry that is too large or for which the disk has no space isn't
  /// written, and the report says so. A pinned entry is replaced and stays pinned. Takes one transaction for about a
  /// megabyte of entries.
  @discardableResult
  func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> StoreReport

  /// Replaces the metadata of an entry and leaves its bytes. Returns false if the entry does not exist.
  func update(_ key: ResourceKey, _ metadata: EntryMetadata) throws -> Bool

  /// Sets the times of last use of entries, in milliseconds since 1970.
  ///
  /// A read never writes, so the cache collects uses and passes them in batches. With the order `firstIn` this does
  /// nothing.
  func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws

  /// Removes entries, pinned or not. Pins stay, so a new entry under such a key is pinned again.
  func remove(_ keys: [ResourceKey]) throws
  /// Removes all entries of a source, or all entries, pinned or not. Pins stay.
  func removeAll(_ source: SourceID?) throws
  /// Removes entries from before the time, except pinned ones. An entry of unknown time (0) counts as oldest.
  func remove(receivedBefore time: Int64, _ source: SourceID?) throws

  /// Pins keys with all their variants for the named holder, stored or not.
  ///
  /// Pinned entries are never evicted and do not count against the limits.
  func pin(_ keys: [ResourceKey], by holder: String) throws
  /// Removes the holder's pins of the keys, or all its pins for `nil`.
  ///
  /// An entry without pins counts against the limits again, and entries beyond the limits are evicted.
  func unpin(_ keys: [ResourceKey]?, by holder: String) throws

  /// True if any holder has pinned the key, stored or not.
  func isPinned(_ key: ResourceKey) throws -> Bool

  /// Returns the totals of the holder's pinned entries. Reads the row of each.
  func totals(heldBy holder: String) throws -> StoreTotals
  /// Returns the number of keys that the holder has pinned, stored or not. By default, counts the pins one by one.
  func pinCount(by holder: String) throws -> Int
  /// Calls `body` with the pins of one holder or of all, ordered by holder, stored or not.
  func forEachPin(by holder: String?, _ body: (StoredPin) throws -> Void) throws

  /// Sets other limits, which are enforced before this returns. Returns the evicted keys.
  @discardableResult
  func apply(_ limits: BlobStoreLimits) throws -> [ResourceKey]

  /// Returns the totals of each source. The cost does not grow with the number of entries.
  func totals() throws -> [SourceID: StoreTotals]

  /// Calls `body` with the metadata of all entries, of a source or of all. Does not change their times of last use.
  func forEach(_ source: SourceID?, _ body: (ResourceKey, EntryMetadata, StoredSize) throws -> Void) throws

  /// Reads every body and checks it. Damaged ones are quarantined. `progress` receives the number of checked entries.
  func verify(progress: (Int) -> Void) throws -> VerifyReport

  /// Deletes unneeded data, and recomputes the totals.
  ///
  /// Unneeded are bodies without an entry, temporary files of killed processes, and quarantined files.
  func collectGarbage() throws -> GarbageReport

  /// Closes the store. Every later call throws.
  func close() throws
}

extension BlobStore {
  public func pinCount(by holder: String) throws -> Int {
    var count = 0
    try forEachPin(by: holder) { _ in count += 1 }
    return count
  }
}

/// A source of entries: a store, or the resources that came with the app, which are never written.
public protocol BlobReader: Sendable {
  /// Returns the entry with its bytes, checked against their checksum, or `nil` if it is missing or damaged.
  ///
  /// A store quarantines a damaged entry and reports it. It writes nothing else.
  func entry(_ key: ResourceKey) throws -> CacheEntry?

  /// Returns the metadata of the entry, without its bytes.
  func metadata(_ key: ResourceKey) throws -> EntryMetadata?
}
