/// The seam to what keeps entries on disk.
///
/// Every method blocks, may be called from any thread and is meant for the cache's own threads. Each call is one step:
/// a crash leaves what was there before or after it, whole. Several processes may use one directory.
public protocol BlobStore: Sendable {
  /// The entry with its bytes, checked against their checksum; nil when there is none, or when what was there is damaged
  /// (it is then put away and told of through `events`). Writes nothing else.
  func entry(_ key: ResourceKey) throws -> CacheEntry?

  /// What is known of the entry, without its bytes.
  func metadata(_ key: ResourceKey) throws -> EntryMetadata?

  /// Writes entries, replacing those of the same keys, and makes room first if the limits ask for it: they hold
  /// when this returns. What is pinned or larger than may be stored is not written; the report says so.
  @discardableResult
  func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> StoreReport

  /// Replaces what is known of an entry and leaves its bytes. False when the entry is gone.
  func update(_ key: ResourceKey, _ metadata: EntryMetadata) throws -> Bool

  /// Tells when entries were last used. A read never writes; the cache gathers uses and hands them over in batches.
  func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws

  func remove(_ keys: [ResourceKey]) throws
  func removeAll(_ source: SourceID?) throws
  /// Removes what came before the time; entries whose time is unknown count as oldest.
  func remove(receivedBefore: Int64, _ source: SourceID?) throws

  /// Marks entries as wanted by the named holder: they are never evicted and do not count against the limits.
  func pin(_ keys: [ResourceKey], by holder: String) throws
  func unpin(_ keys: [ResourceKey]?, by holder: String) throws

  /// What is stored, for each source. Costs nothing that grows with the number of entries.
  func totals() throws -> [SourceID: StoreTotals]

  /// Goes through what is known of all entries of a source, or of all, without touching when they were last used.
  func forEach(_ source: SourceID?, _ body: (ResourceKey, EntryMetadata, StoredSize) throws -> Void) throws

  /// Reads every body and checks it; damaged ones are put away.
  func verify(progress: (Int) -> Void) throws -> VerifyReport

  /// Removes what nobody names any more: bodies without an entry, temporary files of killed processes, quarantine.
  func collectGarbage() throws -> GarbageReport

  func close() throws
}

/// What a store did with what it was given.
public struct StoreReport: Sendable, Hashable {
  public var stored = 0
  /// Keys that were not written, and why.
  public var refused: [ResourceKey: StoreRefusal] = [:]
  /// Keys that had to go to make room.
  public var evicted: [ResourceKey] = []
  public init() {}
}

public enum StoreRefusal: Sendable, Hashable {
  /// The entry alone is larger than the store's limit for one.
  case tooLarge
  /// There is no room on the disk, also after an eviction.
  case diskFull
}

/// How much is stored of one source.
public struct StoreTotals: Sendable, Hashable {
  public var count = 0
  public var bytes: Int64 = 0
  public var pinnedCount = 0
  public var pinnedBytes: Int64 = 0
  public init() {}
}

public struct StoredSize: Sendable, Hashable {
  public var bytes: Int64
  public var isPinned: Bool
  public var lastUsed: Int64
  public init(bytes: Int64, isPinned: Bool, lastUsed: Int64) {
    self.bytes = bytes
    self.isPinned = isPinned
    self.lastUsed = lastUsed
  }
}

public struct VerifyReport: Sendable, Hashable {
  public var checked = 0
  public var damaged: [ResourceKey] = []
  public init() {}
}

public struct GarbageReport: Sendable, Hashable {
  public var removedFiles = 0
  public var freedBytes: Int64 = 0
  public init() {}
}
