/// The result of storing entries.
///
/// A store of an app's own fills it. An entry is in `refused`, or it was stored.
public struct StoreReport: Sendable, Hashable {
  /// The number of stored entries, including those with unchanged bytes.
  package var stored = 0
  /// The keys whose bytes did not change. The cache reports them as confirmed.
  public var unchanged: Set<ResourceKey> = []
  /// The keys that were not written, with the reasons. An earlier entry under such a key may be gone or still exist.
  ///
  /// Empty if all entries were stored.
  public var refused: [ResourceKey: StorageObstacle] = [:]
  /// The keys that were evicted, to keep the limits or to free a full disk. Variants are named apart.
  public var evicted: [ResourceKey] = []
  /// Creates an empty report.
  ///
  /// It states that all entries were stored, and nothing was evicted.
  public init() {}
}

/// The totals of one source.
///
/// A crash may leave them too high by what it interrupted, and never too low.
public struct StoreTotals: Sendable, Hashable {
  /// The number of entries. Each variant of a key counts.
  ///
  /// Pinned entries and those that say that nothing exists count too.
  public var count = 0
  /// The counted bytes: bodies, metadata, and the rounding of the disk.
  ///
  /// Bytes that several entries share in a `database` count once.
  public var bytes: Int64 = 0
  /// The number of pinned entries, which is included in `count`.
  package var pinnedCount = 0
  /// The bytes of pinned entries, which are included in `bytes`.
  package var pinnedBytes: Int64 = 0

  package init() {}

  /// Counts one entry.
  mutating func add(_ size: StoredSize) {
    count += 1
    bytes += size.bytes
    if size.isPinned {
      pinnedCount += 1
      pinnedBytes += size.bytes
    }
  }
}

/// The space of one entry on disk, and the values that decide on its eviction.
package struct StoredSize: Sendable, Hashable {
  /// The counted bytes: body, metadata, and the rounding of the disk.
  package var bytes: Int64
  /// True if a holder has pinned the entry.
  package var isPinned: Bool
  /// The time of the last use, in milliseconds since 1970.
  package var lastUsed: Int64
  /// Creates a size in a custom store.
  package init(bytes: Int64, isPinned: Bool, lastUsed: Int64) {
    self.bytes = bytes
    self.isPinned = isPinned
    self.lastUsed = lastUsed
  }
}

/// One pin of a holder.
package struct StoredPin: Sendable, Hashable {
  /// The key, of variant 0, for all its variants.
  package var key: ResourceKey
  /// The name of the holder.
  package var holder: String
  /// The counted bytes of all variants of the key, or `nil` if none is stored.
  package var bytes: Int64?
  /// Creates a pin in a custom store.
  package init(key: ResourceKey, holder: String, bytes: Int64?) {
    self.key = key
    self.holder = holder
    self.bytes = bytes
  }
}

/// The result of a check of all bodies.
package struct VerifyReport: Sendable, Hashable {
  /// The number of checked entries.
  package var checked = 0
  /// The entries whose bytes did not match their checksum. They are quarantined.
  package var damaged: [ResourceKey] = []
  /// Creates an empty report.
  package init() {}
}

/// The result of a garbage collection.
package struct GarbageReport: Sendable, Hashable {
  /// The number of deleted files: temporary files of killed processes, quarantined files, and files without an entry.
  package var removedFiles = 0
  /// The bytes of the deleted files.
  package var freedBytes: Int64 = 0
  /// Creates an empty report.
  package init() {}
}
