/// The network as far as work for later is concerned: whether it is there, and what using it costs the user.
public struct NetworkConditions: Sendable, Hashable {
  /// Whether there is a network at all; whether a server answers is another matter.
  public var isOnline: Bool
  /// Each byte may cost money: a mobile network, somebody's hotspot.
  public var isMetered: Bool
  /// The user asked apps to use little of it.
  public var isConstrained: Bool
  /// The device saves power.
  public var isLowPower: Bool

  /// Online, free of charge and without restraint, unless told otherwise.
  public init(
    isOnline: Bool = true, isMetered: Bool = false, isConstrained: Bool = false, isLowPower: Bool = false
  ) {
    self.isOnline = isOnline
    self.isMetered = isMetered
    self.isConstrained = isConstrained
    self.isLowPower = isLowPower
  }
}
