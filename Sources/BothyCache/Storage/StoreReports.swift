/// The result of storing entries.
public struct StoreReport: Sendable, Hashable {
  /// The number of stored entries, including those with unchanged bytes.
  public var stored = 0
  /// The keys whose bytes did not change.
  public var unchanged: Set<ResourceKey> = []
  /// The keys that were not written, with the reasons.
  public var refused: [ResourceKey: StoreRefusal] = [:]
  /// The keys that were evicted.
  public var evicted: [ResourceKey] = []
  /// Creates an empty report.
  public init() {}
}

/// The reason why an entry was not written. An earlier entry under its key may be gone or may still exist.
public enum StoreRefusal: Sendable, Hashable {
  /// The entry is larger than the store's limit for one entry.
  case tooLarge
  /// The disk has no space, even after an eviction.
  case diskFull
}

/// The totals of one source.
public struct StoreTotals: Sendable, Hashable {
  /// The number of entries. Each variant of a key counts.
  public var count = 0
  /// The counted bytes: bodies, metadata, and the rounding of the disk.
  public var bytes: Int64 = 0
  /// The number of pinned entries, which is included in `count`.
  public var pinnedCount = 0
  /// The bytes of pinned entries, which are included in `bytes`.
  public var pinnedBytes: Int64 = 0
  /// Creates empty totals.
  public init() {}
}

/// The space of one entry on disk, and the values that decide on its eviction.
public struct StoredSize: Sendable, Hashable {
  /// The counted bytes: body, metadata, and the rounding of the disk.
  public var bytes: Int64
  /// True if a holder has pinned the entry.
  public var isPinned: Bool
  /// The time of the last use, in milliseconds since 1970.
  public var lastUsed: Int64
  /// Creates a size in a custom store.
  public init(bytes: Int64, isPinned: Bool, lastUsed: Int64) {
    self.bytes = bytes
    self.isPinned = isPinned
    self.lastUsed = lastUsed
  }
}

/// One pin of a holder.
public struct StoredPin: Sendable, Hashable {
  /// The key, of variant 0, for all its variants.
  public var key: ResourceKey
  /// The name of the holder.
  public var holder: String
  /// The counted bytes of all variants of the key, or `nil` if none is stored.
  public var bytes: Int64?
  /// Creates a pin in a custom store.
  public init(key: ResourceKey, holder: String, bytes: Int64?) {
    self.key = key
    self.holder = holder
    self.bytes = bytes
  }
}

/// The result of a check of all bodies.
public struct VerifyReport: Sendable, Hashable {
  /// The number of checked entries.
  public var checked = 0
  /// The entries whose bytes did not match their checksum. They are quarantined.
  public var damaged: [ResourceKey] = []
  /// Creates an empty report.
  public init() {}
}

/// The result of a garbage collection.
public struct GarbageReport: Sendable, Hashable {
  /// The number of deleted files: temporary files of killed processes, quarantined files, and files without an entry.
  public var removedFiles = 0
  /// The bytes of the deleted files.
  public var freedBytes: Int64 = 0
  /// Creates an empty report.
  public init() {}
}
