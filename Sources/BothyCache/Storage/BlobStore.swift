/// The seam to what keeps entries on disk.
///
/// Every method blocks, may be called from any thread and is meant for the cache's own threads. A crash leaves each
/// entry as it was before the call or after it, whole; a call with many entries may be cut off between two of them.
/// Several processes may use one directory. Keys that differ in their variant are keys of entries of their own, but are
/// pinned together. Errors are `StoreError`s of BothyStore.
public protocol BlobStore: BlobReader {
  /// Writes entries, replacing those of the same keys, and makes room first if the limits ask for it: they hold
  /// when this returns. What is larger than may be stored, or finds no room on the disk, is not written; the report
  /// says so. What is pinned already is replaced and stays pinned.
  ///
  /// Costs one transaction for about a megabyte of entries.
  @discardableResult
  func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> StoreReport

  /// Replaces what is known of an entry and leaves its bytes. False when the entry is gone.
  func update(_ key: ResourceKey, _ metadata: EntryMetadata) throws -> Bool

  /// Tells when entries were last used, in milliseconds since 1970. A read never writes; the cache gathers uses and
  /// hands them over in batches. Nothing happens where entries go in the order in which they came.
  func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws

  /// Removes entries, pinned or not. Pins stay: what is stored again under such a key is pinned again.
  func remove(_ keys: [ResourceKey]) throws
  /// Removes all entries of a source, or all there are, pinned or not. Pins stay.
  func removeAll(_ source: SourceID?) throws
  /// Removes what came before the time and is not pinned; an entry whose time is unknown (0) counts as oldest.
  func remove(receivedBefore time: Int64, _ source: SourceID?) throws

  /// Marks keys, with all their variants, as wanted by the named holder, whether they are stored yet or not: such
  /// entries are never evicted and do not count against the limits.
  func pin(_ keys: [ResourceKey], by holder: String) throws
  /// Takes the holder's marks away, all of them for nil. What nobody holds any more counts against the limits again,
  /// and what is too much goes.
  func unpin(_ keys: [ResourceKey]?, by holder: String) throws

  /// Whether any holder wants the key kept, stored or not.
  func isPinned(_ key: ResourceKey) throws -> Bool

  /// What is stored of all that the holder wants kept. Costs a look at the row of each.
  func totals(heldBy holder: String) throws -> StoreTotals
  /// How many keys the holder wants kept, stored or not. Stores that do not say are gone through.
  func pinCount(by holder: String) throws -> Int
  /// Goes through the marks of one holder, or of all, by holder: also of what is not stored yet.
  func forEachPin(by holder: String?, _ body: (StoredPin) throws -> Void) throws

  /// Sets other limits; they hold when this returns. Returns what had to go.
  @discardableResult
  func apply(_ limits: BlobStoreLimits) throws -> [ResourceKey]

  /// What is stored, for each source. Costs nothing that grows with the number of entries.
  func totals() throws -> [SourceID: StoreTotals]

  /// Goes through what is known of all entries of a source, or of all, without touching when they were last used.
  func forEach(_ source: SourceID?, _ body: (ResourceKey, EntryMetadata, StoredSize) throws -> Void) throws

  /// Reads every body and checks it; damaged ones are put away. `progress` is told how many are done.
  func verify(progress: (Int) -> Void) throws -> VerifyReport

  /// Removes what nobody names any more: bodies without an entry, rests of killed processes, what was put away; and
  /// counts anew what is stored.
  func collectGarbage() throws -> GarbageReport

  /// Ends the use of the store; every later call throws.
  func close() throws
}

extension BlobStore {
  public func pinCount(by holder: String) throws -> Int {
    var count = 0
    try forEachPin(by: holder) { _ in count += 1 }
    return count
  }
}

/// Entries that can be read: a store, or what came with the app and is never written.
public protocol BlobReader: Sendable {
  /// The entry with its bytes, checked against their checksum; nil when there is none, or when what was there is
  /// damaged (a store then puts it away and tells of it). Writes nothing else.
  func entry(_ key: ResourceKey) throws -> CacheEntry?

  /// What is known of the entry, without its bytes.
  func metadata(_ key: ResourceKey) throws -> EntryMetadata?
}
