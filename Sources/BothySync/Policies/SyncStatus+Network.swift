/// The network as syncs see it: part of the status, and what their conditions are decided by.
extension SyncStatus {
  /// The presence of a network, as far as it is known. It is that of the device, and says nothing about the
  /// server.
  public enum NetworkStatus: Int, Sendable, Hashable, CaseIterable {
    /// Unknown. Requests are tried, and a failure is reported.
    case unknown = -1
    /// The device has no network.
    case notReachable = 0
    /// The device has a network. The server may still not answer. Under `run()` a change to it starts a sync a
    /// second later.
    case reachable = 1
  }

  /// The network as the device sees it: its presence and the cost of using it.
  ///
  /// A `ReachabilityMonitor` reports it, and `NetworkRules` decide by it.
  public struct NetworkState: Sendable, Hashable {
    /// The presence of a network.
    package var status: NetworkStatus
    /// True if each byte may cost money, as on a mobile network or a personal hotspot.
    package var isExpensive: Bool
    /// True if the user asked apps to use little data.
    package var isConstrained: Bool
    /// True if the device saves power.
    package var isLowPower: Bool

    /// Makes a state. The network costs nothing and need not be spared, unless the parameters say otherwise.
    ///
    /// - Parameters:
    ///   - expensive: true if each byte may cost money, as on a mobile network.
    ///   - constrained: true if the user asked apps to use little data.
    ///   - lowPower: true if the device saves power.
    public init(
      _ status: NetworkStatus, expensive: Bool = false, constrained: Bool = false, lowPower: Bool = false
    ) {
      self.status = status
      isExpensive = expensive
      isConstrained = constrained
      isLowPower = lowPower
    }

    /// An unknown network of unknown cost.
    package static let unknown = NetworkState(.unknown)
    /// No network.
    package static let notReachable = NetworkState(.notReachable)
    /// A network that costs nothing.
    package static let reachable = NetworkState(.reachable)
  }
}
