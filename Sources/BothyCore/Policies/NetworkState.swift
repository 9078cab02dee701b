/// The network as the device sees it: its presence and the cost of using it. Syncs, downloads and maps decide by it.
///
/// A `ReachabilityMonitor` reports it for syncs and, through `HTTPLoader`, for a cache and its maps.
///
/// ```swift
/// let hotspot = NetworkState(isReachable: true, isExpensive: true)
/// ```
public struct NetworkState: Sendable, Hashable {
  /// True if the device has a network, false if it has none, or `nil` while that is unknown.
  package var isReachable: Bool?
  /// True if each byte may cost money, as on a mobile network or a personal hotspot.
  package var isExpensive: Bool
  /// True if the user asked apps to use little data.
  package var isConstrained: Bool
  /// True if the device saves power.
  package var isLowPower: Bool

  /// Makes a state. The network costs nothing and need not be spared, unless the parameters say otherwise.
  ///
  /// - Parameters:
  ///   - isReachable: true if the device has a network, whose servers may still not answer. False if it has none. With
  ///     `nil`, an unknown network, requests are tried.
  ///   - isExpensive: true if each byte may cost money, as on a mobile network.
  ///   - isConstrained: true if the user asked apps to use little data.
  ///   - isLowPower: true if the device saves power.
  public init(
    isReachable: Bool?, isExpensive: Bool = false, isConstrained: Bool = false, isLowPower: Bool = false
  ) {
    self.isReachable = isReachable
    self.isExpensive = isExpensive
    self.isConstrained = isConstrained
    self.isLowPower = isLowPower
  }

  /// An unknown network of unknown cost.
  package static let unknown = NetworkState(isReachable: nil)
  /// No network.
  package static let notReachable = NetworkState(isReachable: false)
  /// A network that costs nothing.
  package static let reachable = NetworkState(isReachable: true)
}
