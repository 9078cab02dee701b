/// What the hosts of a source may be burdened with. Where sources share a host, the stricter number holds for all.
package struct HostLimits: Sendable, Hashable {
  /// Requests at the same time to one host.
  package var perHost: Int
  /// Requests a second, over time; nil for no limit.
  package var ratePerSecond: Double?
  /// How many requests may go out at once after a quiet time, when there is a rate.
  package var burst: Int

  package init(perHost: Int = 6, ratePerSecond: Double? = nil, burst: Int = 10) {
    self.perHost = max(1, perHost)
    self.ratePerSecond = ratePerSecond.map { $0.isFinite ? max(0.001, $0) : 1e6 }
    self.burst = max(1, burst)
  }

  func joined(_ other: HostLimits) -> HostLimits {
    var joined = HostLimits(perHost: min(perHost, other.perHost), burst: min(burst, other.burst))
    joined.ratePerSecond = [ratePerSecond, other.ratePerSecond].compactMap { $0 }.min()
    return joined
  }
}
