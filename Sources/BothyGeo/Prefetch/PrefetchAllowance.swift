import BothyCache

/// The bytes that may be loaded ahead within an hour, by the cost of the network. Pure.
package struct PrefetchAllowance: Sendable {
  /// The bytes of an hour on a network that costs nothing.
  private let bytesPerHour: Int
  private let policy: PrefetchPolicy
  /// The loads of the last hour: their time in milliseconds since 1970 and their bytes.
  private var loads: [(time: Int64, bytes: Int)] = []
  private var spent = 0
  /// The bytes of loads that have begun, by their estimates.
  private var promised = 0
  private var average = 30_000

  private static let hour: Int64 = 3_600_000
  /// The part of the bytes that a network may take on which each byte may cost money.
  private static let meteredPart = 10

  package init(bytesPerHour: Int, policy: PrefetchPolicy) {
    self.bytesPerHour = max(0, bytesPerHour)
    self.policy = policy
  }

  /// Returns the bytes that an hour may take on a network.
  package func limit(_ network: NetworkState) -> Int {
    switch policy.obstacle(network) {
    case nil: bytesPerHour
    case .metered where !network.isConstrained && !network.isLowPower: bytesPerHour / Self.meteredPart
    default: 0
    }
  }

  /// Begins a load if the rest of the hour has room for one of the average size. Returns its estimate.
  package mutating func begin(at time: Int64, _ network: NetworkState) -> Int? {
    // Loads of a later time count as loads of now, because the clock was wrong then.
    for place in loads.indices { loads[place].time = min(loads[place].time, time) }
    let old = loads.prefix { time - $0.time >= Self.hour }
    spent -= old.reduce(0) { $0 + $1.bytes }
    loads.removeFirst(old.count)
    let limit = limit(network)
    // One load an hour may be larger than all of it.
    let estimate = spent + promised == 0 ? min(average, limit) : average
    guard limit > 0, spent + promised + estimate <= limit else { return nil }
    promised += estimate
    return estimate
  }

  /// Ends a load.
  ///
  /// - Parameter bytes: the bytes that came from the network, or `nil` if none were requested.
  package mutating func end(_ estimate: Int, bytes: Int?, at time: Int64) {
    promised -= estimate
    guard let bytes else { return }
    loads.append((time, bytes))
    spent += bytes
    average = max(1000, (average * 7 + bytes) / 8)
  }
}
