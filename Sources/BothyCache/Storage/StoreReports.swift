/// What a store did with what it was given.
public struct StoreReport: Sendable, Hashable {
  /// How many entries were taken, those whose bytes were the same before among them.
  public var stored = 0
  /// Keys whose bytes are the ones that were there before.
  public var unchanged: Set<ResourceKey> = []
  /// Keys that were not written, and why.
  public var refused: [ResourceKey: StoreRefusal] = [:]
  /// Keys that had to go to make room.
  public var evicted: [ResourceKey] = []
  /// Nothing done yet.
  public init() {}
}

/// Why an entry was not written. What was stored under its key before may be gone, or still there.
public enum StoreRefusal: Sendable, Hashable {
  /// The entry alone is larger than the store's limit for one.
  case tooLarge
  /// There is no room on the disk, also after an eviction.
  case diskFull
}

/// How much is stored of one source.
public struct StoreTotals: Sendable, Hashable {
  /// How many entries, each variant of a key for itself.
  public var count = 0
  /// What they are counted with: bytes, what is known of them, and the rounding of the disk.
  public var bytes: Int64 = 0
  /// The part of `count` and `bytes` that is pinned.
  public var pinnedCount = 0
  /// The bytes of the pinned ones.
  public var pinnedBytes: Int64 = 0
  /// Nothing stored.
  public init() {}
}

/// What one entry takes on disk, and what decides whether it stays.
public struct StoredSize: Sendable, Hashable {
  /// What the entry is counted with: its bytes, what is known of them, and the rounding of the disk.
  public var bytes: Int64
  /// Whether a holder wants it kept.
  public var isPinned: Bool
  /// Milliseconds since 1970.
  public var lastUsed: Int64
  /// For stores of one's own.
  public init(bytes: Int64, isPinned: Bool, lastUsed: Int64) {
    self.bytes = bytes
    self.isPinned = isPinned
    self.lastUsed = lastUsed
  }
}

/// One mark of a holder that wants something kept.
public struct StoredPin: Sendable, Hashable {
  /// The key, of variant 0, that stands for all its variants.
  public var key: ResourceKey
  /// The name that the holder pinned by.
  public var holder: String
  /// What is counted for the key, all its variants together; nil when nothing of it is stored yet.
  public var bytes: Int64?
  /// For stores of one's own.
  public init(key: ResourceKey, holder: String, bytes: Int64?) {
    self.key = key
    self.holder = holder
    self.bytes = bytes
  }
}

/// What a check of all bodies found.
public struct VerifyReport: Sendable, Hashable {
  /// How many entries were read.
  public var checked = 0
  /// The entries whose bytes did not match their checksum; they are put away.
  public var damaged: [ResourceKey] = []
  /// Nothing checked yet.
  public init() {}
}

/// What was cleared away.
public struct GarbageReport: Sendable, Hashable {
  /// How many files went: rests of killed processes, what was put away, and those that no entry names.
  public var removedFiles = 0
  /// Their bytes.
  public var freedBytes: Int64 = 0
  /// Nothing removed yet.
  public init() {}
}
