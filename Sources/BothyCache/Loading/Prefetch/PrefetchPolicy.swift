/// When and how much is loaded that nobody has asked for yet.
public struct PrefetchPolicy: Sendable, Hashable {
  /// Whether anything is prefetched.
  public var isEnabled: Bool
  /// Also where bytes may cost money, or the user asked for restraint.
  public var onMeteredNetworks: Bool
  /// Also when the device saves power.
  public var inLowPowerMode: Bool
  /// Loads at the same time.
  public var concurrentLoads: Int
  /// How many wishes are remembered. Older ones give way to newer ones.
  public var remembered: Int

  /// Two loads at a time and 256 wishes, on free networks and full power alone, unless told otherwise. Neither number
  /// is less than one.
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

  /// Why nothing is prefetched at present.
  public enum Obstacle: Sendable, Hashable {
    /// The policy says so.
    case switchedOff
    /// There is no network.
    case offline
    /// Bytes may cost money, and the policy does not allow that.
    case metered
    /// The user asked for restraint, and the policy does not override that.
    case constrained
    /// The device saves power, and the policy heeds that.
    case lowPower
    /// `pause` was called.
    case paused
  }

  /// What stands in the way under these conditions; nil when nothing does.
  public func obstacle(_ network: NetworkConditions) -> Obstacle? {
    if !isEnabled { return .switchedOff }
    if !network.isOnline { return .offline }
    if network.isMetered, !onMeteredNetworks { return .metered }
    if network.isConstrained, !onMeteredNetworks { return .constrained }
    if network.isLowPower, !inLowPowerMode { return .lowPower }
    return nil
  }
}
