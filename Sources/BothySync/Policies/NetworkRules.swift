/// The user's conditions for syncs: the networks, the power state and the types. A value that can be set at any time.
/// Changes that it holds back stay pending and are sent when it allows.
///
/// It governs all syncs, except forced ones. It doesn't govern a single read or write that uses the server by the app's
/// policy.
public struct NetworkRules: Sendable, Hashable {
  /// The allowed networks and power state.
  public struct Terms: Sendable, Hashable {
    /// True if networks on which each byte may cost money are allowed.
    package var allowsExpensive: Bool
    /// True if networks on which the user asked apps to use little data are allowed.
    package var allowsConstrained: Bool
    /// True if syncing is allowed while the device saves power.
    package var allowsLowPower: Bool

    /// Makes terms that allow everything, unless the parameters say otherwise.
    public init(expensive: Bool = true, constrained: Bool = true, lowPower: Bool = true) {
      allowsExpensive = expensive
      allowsConstrained = constrained
      allowsLowPower = lowPower
    }

    /// Every network, in every power state.
    public static let always = Terms()
    /// Only networks that cost nothing and need not be spared.
    public static let wifiOnly = Terms(expensive: false, constrained: false)

    /// Returns the reason why these terms exclude a network, or `nil` if they allow it.
    func obstacle(_ network: NetworkState) -> SyncStop? {
      if network.isExpensive && !allowsExpensive { return .expensiveNetwork }
      if network.isConstrained && !allowsConstrained { return .constrainedNetwork }
      if network.isLowPower && !allowsLowPower { return .lowPower }
      return nil
    }
  }

  /// The terms of a whole sync. If they exclude the network, syncs don't run.
  package var general: Terms
  /// Narrower terms for the local changes of some types. On a network that they exclude, changes of those types wait
  /// while others are sent. Changes of others are pulled by container, for all types.
  package var types: [String: Terms]
  /// The types whose local changes wait while they are named here.
  package var heldTypes: Set<String>

  /// - Parameters:
  ///   - types: terms by the names of types.
  ///   - heldTypes: names of types.
  public init(_ general: Terms = .always, types: [String: Terms] = [:], heldTypes: Set<String> = []) {
    self.general = general
    self.types = types
    self.heldTypes = heldTypes
  }

  /// The policy that allows every network, in every power state. The default.
  public static let always = NetworkRules()
  /// The policy that allows only networks that cost nothing and need not be spared.
  public static let wifiOnly = NetworkRules(.wifiOnly)

  /// Returns the types whose changes wait on a network.
  func held(on network: NetworkState) -> Set<String> {
    heldTypes.union(types.filter { $0.value.obstacle(network) != nil }.keys)
  }
}
