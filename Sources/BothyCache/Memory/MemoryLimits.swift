/// The limits of entries in memory, and the order of their eviction.
///
/// Entries that were read only once are evicted first, so a pan across the map spares the places of every day. An
/// evicted entry is still on disk.
public struct MemoryLimits: Sendable, Hashable {
  /// The largest number of bytes, including the object around each entry. Zero stores nothing.
  package var bytes: Int { didSet { bytes = max(0, bytes) } }
  /// The largest number of entries, or `nil` for no limit. Less than one counts as one.
  package var count: Int? { didSet { count = count.map { max(1, $0) } } }
  /// The part of `bytes` that one entry may use. Larger entries are read from disk each time.
  package var largestShare: Double { didSet { largestShare = min(1, max(0, largestShare)) } }
  /// The order of eviction. The default is `scanResistant`.
  package var order: Order

  /// An order of eviction.
  package enum Order: String, Sendable, Hashable, CaseIterable {
    /// Evicts entries that were read only once first, then those that were read least.
    ///
    /// A pan across the map therefore does not evict the places that the user looks at every day. S3-FIFO (Yang, Zhang,
    /// Qiu, Yue and Vinayak, "FIFO queues are all you need for cache eviction", SOSP 2023).
    case scanResistant
    /// Evicts entries whose last read or write is oldest first.
    case leastRecentlyUsed
    /// Evicts the oldest entries first, even if they are read.
    case firstIn
  }

  /// Creates limits.
  ///
  /// - Parameters:
  ///   - bytes: the largest number of bytes, including the object around each entry. Zero stores nothing. From 16 MiB
  ///     on, without a small `count` and with a `largestShare` up to a quarter, memory has four parts of this size.
  ///   - count: the largest number of entries, or `nil` for no limit. Less than one counts as one.
  ///   - largestShare: the part of `bytes` that one entry may use, from 0 to 1. Larger entries are read from disk each
  ///     time.
  public init(bytes: Int = 64 << 20, count: Int? = nil, largestShare: Double = 0.1) {
    self.init(bytes: bytes, count: count, largestShare: largestShare, order: .scanResistant)
  }

  /// Like `init(bytes:count:largestShare:)`, with the order of eviction.
  package init(bytes: Int = 64 << 20, count: Int? = nil, largestShare: Double = 0.1, order: Order) {
    self.bytes = max(0, bytes)
    self.count = count.map { max(1, $0) }
    self.largestShare = min(1, max(0, largestShare))
    self.order = order
  }

  var largestCost: Int { bytes.part(largestShare) }

  /// The number of shards. Few entries are in one exact order, and many are in four, so that readers seldom collide.
  ///
  /// The largest entry fits each shard.
  var shardCount: Int {
    (count ?? .max) < 1024 || bytes < 16 << 20 || largestCost > bytes / 4 ? 1 : 4
  }
}

extension Int {
  /// Returns a part from 0 to 1 of a number that isn't negative. Works for the largest number too.
  func part(_ share: Double) -> Int { Int(exactly: (Double(self) * share).rounded(.down)) ?? self }
}
