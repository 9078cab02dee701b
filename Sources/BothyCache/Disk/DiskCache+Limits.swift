extension DiskCache {
  /// The limits of a store, not counting pinned entries, and the order of eviction.
  ///
  /// The entries whose last use is oldest are evicted first, down to nine tenths of a limit.
  public struct Limits: Sendable, Hashable {
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
      /// Evicts the entries whose last use is oldest first, by the uses that were passed to `DiskCache.Store.touch`.
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
}
