/// How much is kept in memory, and what goes first when that is too much.
public struct MemoryLimits: Sendable, Hashable {
  /// The most bytes; the object around each entry counts too. Zero keeps nothing.
  public var bytes: Int { didSet { bytes = max(0, bytes) } }
  /// The most entries; nil for no limit. Less than one is one.
  public var count: Int? { didSet { count = count.map { max(1, $0) } } }
  /// The part of `bytes` that one entry may take; larger ones are read from disk each time.
  public var largestShare: Double { didSet { largestShare = min(1, max(0, largestShare)) } }
  /// What goes first; `scanResistant` unless told otherwise.
  public var order: Order

  /// Which entries go first.
  public enum Order: String, Sendable, Hashable, CaseIterable {
    /// Those that were read once and not again, then those that were read least: a pan across the map does not push
    /// out what is looked at every day. S3-FIFO (Yang, Zhang, Qiu, Yue and Vinayak, "FIFO queues are all you need
    /// for cache eviction", SOSP 2023).
    case scanResistant
    /// Those whose last read, or last write, is longest ago.
    case leastRecentlyUsed
    /// Those that came first, whether they are read or not.
    case firstIn
  }

  /// - Parameters:
  ///   - bytes: 64 MiB unless given.
  ///   - largestShare: a tenth unless given.
  public init(
    bytes: Int = 64 << 20, count: Int? = nil, largestShare: Double = 0.1, order: Order = .scanResistant
  ) {
    self.bytes = max(0, bytes)
    self.count = count.map { max(1, $0) }
    self.largestShare = min(1, max(0, largestShare))
    self.order = order
  }

  var largestCost: Int { bytes.part(largestShare) }

  /// Few entries are kept in one order, exactly; many in a few, so that readers seldom meet.
  var shardCount: Int { (count ?? .max) < 1024 || bytes < 16 << 20 ? 1 : 4 }
}

extension Int {
  /// A part from 0 to 1 of a number that is not negative; of the largest one too.
  func part(_ share: Double) -> Int { Int(exactly: (Double(self) * share).rounded(.down)) ?? self }
}
