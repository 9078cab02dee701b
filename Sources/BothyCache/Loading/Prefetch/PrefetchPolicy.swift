/// The conditions and the amount of prefetching.
///
/// ```swift
/// let everywhere = PrefetchPolicy(onMeteredNetworks: true, concurrentLoads: 4)
/// let ahead = ResourcePrefetcher(cache, policy: everywhere)
/// ```
public struct PrefetchPolicy: Sendable, Hashable {
  /// True if prefetching is on.
  package var isEnabled: Bool
  /// True if prefetching also runs where bytes may cost money or the user asked for restraint.
  package var onMeteredNetworks: Bool
  /// True if prefetching also runs while the device saves power.
  package var inLowPowerMode: Bool
  /// The number of simultaneous loads.
  package var concurrentLoads: Int
  /// The number of items to remember. Newer items replace older ones.
  package var remembered: Int

  /// Creates a policy. By default it has two loads at a time and 256 items, on free networks and full power alone.
  ///
  /// - Parameters:
  ///   - isEnabled: true if prefetching is on.
  ///   - onMeteredNetworks: true if it also runs where bytes may cost money or the user asked for restraint.
  ///   - inLowPowerMode: true if it also runs while the device saves power.
  ///   - concurrentLoads: the number of simultaneous loads, at least one.
  ///   - remembered: the number of items to remember, at least one. Newer items replace older ones.
  public init(
    isEnabled: Bool = true, onMeteredNetworks: Bool = false, inLowPowerMode: Bool = false,
    concurrentLoads: Int = 2, remembered: Int = 256
  ) {
    self.isEnabled = isEnabled
    self.onMeteredNetworks = onMeteredNetworks
    self.inLowPowerMode = inLowPowerMode
    self.concurrentLoads = max(1, concurrentLoads)
    self.remembered = max(1, remembered)
  }

  /// The reason why prefetching does not run at present.
  ///
  /// Of several reasons the first in this order is given, and `paused` before all. Waiting resources stay.
  public enum Obstacle: Sendable, Hashable {
    /// The policy forbids it.
    case switchedOff
    /// The device is offline, or the loader has not reported its first state yet.
    case offline
    /// Bytes may cost money, and the policy forbids that.
    case metered
    /// The user asked for restraint, and the policy does not override that by `onMeteredNetworks`.
    case constrained
    /// The device saves power, and the policy respects that.
    case lowPower
    /// `pause` was called, and `resume` was not called since.
    case paused
  }

  /// Returns the obstacle on a network, or `nil` if prefetching may run.
  package func obstacle(_ network: NetworkState) -> Obstacle? {
    if !isEnabled { return .switchedOff }
    if network.isReachable == false { return .offline }
    if network.isExpensive, !onMeteredNetworks { return .metered }
    if network.isConstrained, !onMeteredNetworks { return .constrained }
    if network.isLowPower, !inLowPowerMode { return .lowPower }
    return nil
  }
}
