/// The load that the hosts of a source may receive. If sources share a host, the stricter number applies to all.
package struct HostLimits: Sendable, Hashable {
  /// The number of simultaneous requests to one host.
  package var perHost: Int
  /// The number of requests a second, on average, or `nil` for no limit.
  package var ratePerSecond: Double?
  /// The number of requests that may be sent at once after a quiet time, if a rate is set.
  package var burst: Int

  package init(perHost: Int = 6, ratePerSecond: Double? = nil, burst: Int = 10) {
    self.perHost = max(1, perHost)
    self.ratePerSecond = ratePerSecond.map { $0.isFinite ? max(0.001, $0) : 1e6 }
    self.burst = max(1, burst)
  }
}
