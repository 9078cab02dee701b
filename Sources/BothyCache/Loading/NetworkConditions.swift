/// The conditions of the network that matter for prefetching: its presence and its cost for the user.
///
/// A loader reports them by `ResourceLoader.conditions()`. While they are offline, reads return usable copies at once,
/// except under `ReadPolicy.remote`.
public struct NetworkConditions: Sendable, Hashable {
  /// True if a network exists. A server may still not respond.
  package var isOnline: Bool
  /// True if each byte may cost money, as on a mobile network or a hotspot.
  package var isMetered: Bool
  /// True if the user asked apps to use little data.
  package var isConstrained: Bool
  /// True if the device saves power.
  package var isLowPower: Bool

  /// Creates conditions. The default is online, free of charge and without restraint.
  ///
  /// - Parameters:
  ///   - isOnline: true if a network exists. A server may still not respond.
  ///   - isMetered: true if each byte may cost money, as on a mobile network or a hotspot.
  ///   - isConstrained: true if the user asked apps to use little data.
  ///   - isLowPower: true if the device saves power.
  public init(
    isOnline: Bool = true, isMetered: Bool = false, isConstrained: Bool = false, isLowPower: Bool = false
  ) {
    self.isOnline = isOnline
    self.isMetered = isMetered
    self.isConstrained = isConstrained
    self.isLowPower = isLowPower
  }
}
