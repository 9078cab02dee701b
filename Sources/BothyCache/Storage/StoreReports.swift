/// What a store did with what it was given.
public struct StoreReport: Sendable, Hashable {
  public var stored = 0
  /// Keys whose bytes are the ones that were there before.
  public var unchanged: Set<ResourceKey> = []
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
  /// The part of `count` and `bytes` that is pinned.
  public var pinnedCount = 0
  public var pinnedBytes: Int64 = 0
  public init() {}
}

public struct StoredSize: Sendable, Hashable {
  /// What the entry is counted with: its bytes, what is known of them, and the rounding of the disk.
  public var bytes: Int64
  public var isPinned: Bool
  /// Milliseconds since 1970.
  public var lastUsed: Int64
  public init(bytes: Int64, isPinned: Bool, lastUsed: Int64) {
    self.bytes = bytes
    self.isPinned = isPinned
    self.lastUsed = lastUsed
  }
}

/// One mark of a holder that wants something kept.
public struct StoredPin: Sendable, Hashable {
  public var key: ResourceKey
  public var holder: String
  /// What is counted for the key, all its variants together; nil when nothing of it is stored yet.
  public var bytes: Int64?
  public init(key: ResourceKey, holder: String, bytes: Int64?) {
    self.key = key
    self.holder = holder
    self.bytes = bytes
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
