/// When and how much is loaded that nobody has asked for yet.
public struct PrefetchPolicy: Sendable, Hashable {
  public var isEnabled: Bool
  /// Also where bytes may cost money, or the user asked for restraint.
  public var onMeteredNetworks: Bool
  public var inLowPowerMode: Bool
  /// Loads at the same time.
  public var concurrentLoads: Int
  /// How many wishes are remembered. Older ones give way to newer ones.
  public var remembered: Int

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
    case switchedOff
    case offline
    case metered
    case constrained
    case lowPower
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
