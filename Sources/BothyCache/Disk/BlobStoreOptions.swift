/// The options of a store of entries on disk.
package struct BlobStoreOptions: Sendable {
  /// The limits of the store.
  package var limits: BlobStoreLimits
  /// The longest time that a write waits for another process's write.
  package var busyTimeout: Duration
  /// Called with damage, on the thread that found it. It must not call the store.
  package var onEvent: (@Sendable (BlobStoreEvent) -> Void)?
  /// Returns the identity of the source with an id, or `nil` for an unknown one.
  ///
  /// Entries of a source are stored only if the id has none of another one.
  package var identity: (@Sendable (SourceID) -> UInt64?)?
  /// Called before each commit and each file in tests. True simulates a full disk.
  package var isDiskFull: (@Sendable () -> Bool)?
  /// Called before each transaction that takes over an earlier format in tests. True simulates the end of the process.
  package var isTakeoverStopped: (@Sendable () -> Bool)?

  /// Creates options. By default a write waits 5 s for another process, and damage isn't reported.
  package init(
    limits: BlobStoreLimits = BlobStoreLimits(), busyTimeout: Duration = .seconds(5),
    onEvent: (@Sendable (BlobStoreEvent) -> Void)? = nil
  ) {
    self.limits = limits
    self.busyTimeout = busyTimeout
    self.onEvent = onEvent
  }
}

/// The limits of a store, not counting pinned entries, and the order of eviction.
///
/// The entries whose last use is oldest are evicted first, down to nine tenths of a limit.
public struct BlobStoreLimits: Sendable, Hashable {
  /// The largest number of bytes on disk with the store's own overhead, or `nil` for no limit.
  ///
  /// An eighth of it, 16 MiB at most, is reserved for the store's own tables and log.
  public var bytes: Int64?
  /// The largest number of entries, or `nil` for no limit. Each response that depends on its request counts.
  public var count: Int?
  /// The largest entry that is stored, except pinned ones, or `nil` for a tenth of `bytes`.
  ///
  /// In bytes, with metadata. A larger response is returned to its readers and not stored.
  public var largestEntry: Int64?
  /// The order of eviction. The default is `leastRecentlyUsed`.
  package var order: Order
  /// The extent of an eviction. The default is to nine tenths of the limit.
  package var slack: Slack

  /// An order of eviction.
  package enum Order: Sendable, Hashable {
    /// Evicts the entries whose last use is oldest first, by the uses that were passed to `BlobStore.touch`.
    ///
    /// Writing an entry counts as a use.
    case leastRecentlyUsed
    /// Evicts the oldest entries first, even if they are used. A confirmed or replaced entry counts as new.
    case firstIn
  }

  /// The extent of an eviction below a limit, so that not every write must evict.
  package enum Slack: Sendable, Hashable {
    /// Evicts down to this part of the limit, by at most 64 entries a write beyond the limit.
    ///
    /// A part above 1 counts as 1.
    case lowMark(Double)
    /// Evicts at least this number of entries at a time, once a limit is exceeded.
    case minimalPurge(Int)
  }

  /// Creates limits. The default is 512 MiB with any number of entries. Pinned entries do not count.
  ///
  /// - Parameters:
  ///   - bytes: the largest number of bytes on disk, or `nil` for no limit.
  ///   - count: the largest number of entries, or `nil` for no limit.
  ///   - largestEntry: the largest stored entry in bytes, or `nil` for a tenth of `bytes`.
  public init(bytes: Int64? = 512 << 20, count: Int? = nil, largestEntry: Int64? = nil) {
    self.init(bytes: bytes, count: count, largestEntry: largestEntry, order: .leastRecentlyUsed)
  }

  /// Like `init(bytes:count:largestEntry:)`, with the order of eviction.
  package init(bytes: Int64? = 512 << 20, count: Int? = nil, largestEntry: Int64? = nil, order: Order) {
    self.init(
      bytes: bytes, count: count, largestEntry: largestEntry, order: order, slack: .lowMark(0.9))
  }

  package init(
    bytes: Int64? = 512 << 20, count: Int? = nil, largestEntry: Int64? = nil,
    order: Order = .leastRecentlyUsed, slack: Slack
  ) {
    self.bytes = bytes
    self.count = count
    self.largestEntry = largestEntry
    self.order = order
    self.slack = slack
  }
}

/// A damage that a store found and reports to its owner.
package enum BlobStoreEvent: Sendable, Hashable {
  /// The entry's bytes did not match their checksum. They are quarantined, and the next look-up finds nothing.
  case damaged(ResourceKey)
  /// The file wasn't a usable database of this store. It was renamed to `movedTo` and recreated.
  ///
  /// Entries in files of their own are found again. Entries in rows and pins are copied as far as the old file is
  /// readable. The next garbage collection deletes the renamed file. That of a newer version is deleted at once if all
  /// of it was copied. Otherwise it stays for 30 days, which a second event says.
  case recreated(file: String, movedTo: String, reason: String)
}
