import BothyStore

/// The user's conditions for syncs: the networks, the power state and the types. A value that can be set at any time.
/// Changes that it holds back stay pending and are sent when it allows.
///
/// It governs all syncs, except forced ones. It doesn't govern a single read or write that uses the server by the app's
/// policy.
///
/// The monitor that is given to `run(reachability:)` reports the network. Without a monitor every network is allowed.
///
/// ```swift
/// store.options.network = .wifiOnly
/// store.options.network = NetworkRules(.always, types: [Photo.self: .wifiOnly], heldTypes: [Todo.self])
/// ```
public struct NetworkRules: Sendable, Hashable {
  /// The allowed networks and power state. A network that is unknown counts as one that costs nothing.
  public struct Terms: Sendable, Hashable {
    /// True if networks on which each byte may cost money are allowed.
    package var allowsExpensive: Bool
    /// True if networks on which the user asked apps to use little data are allowed.
    package var allowsConstrained: Bool
    /// True if syncing is allowed while the device saves power.
    package var allowsLowPower: Bool

    /// Makes terms that allow everything, unless the parameters say otherwise.
    package init(expensive: Bool = true, constrained: Bool = true, lowPower: Bool = true) {
      allowsExpensive = expensive
      allowsConstrained = constrained
      allowsLowPower = lowPower
    }

    /// Every network, in every power state. The default of `NetworkRules`.
    public static let always = Terms()
    /// Only networks that cost nothing and need not be spared. A mobile network and a personal hotspot are
    /// excluded.
    ///
    /// The power state doesn't count. A wired network is allowed.
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
  private let types: [String: Terms]
  /// The types whose local changes wait on every network.
  private let heldTypes: Set<String>

  /// Makes rules, by default without limits. Types that the store's schema lacks have no effect.
  ///
  /// - Parameters:
  ///   - general: the terms of a whole sync. On a network that they exclude no sync runs.
  ///   - types: narrower terms of types. Only local changes of the type wait, while pulls bring all types. Of several
  ///     terms of a type the last count.
  ///   - heldTypes: types whose local changes wait on every network.
  public init(
    _ general: Terms = .always, types: KeyValuePairs<any Entity.Type, Terms> = [:],
    heldTypes: [any Entity.Type] = []
  ) {
    self.general = general
    self.types = Dictionary(types.map { ($0.key.typeName, $0.value) }, uniquingKeysWith: { $1 })
    self.heldTypes = Set(heldTypes.map { $0.typeName })
  }

  /// The policy that allows every network, in every power state. The default of `SyncOptions.network`.
  public static let any = NetworkRules()
  /// The policy that allows only networks that cost nothing and need not be spared.
  ///
  /// On another one syncs end with `SyncObstacle.network`, and changes wait. Reads and saves that use the
  /// server by their policy are sent all the same.
  public static let wifiOnly = NetworkRules(.wifiOnly)

  /// Returns the types whose changes wait on a network.
  func held(on network: NetworkState) -> Set<String> {
    heldTypes.union(types.filter { $0.value.obstacle(network) != nil }.keys)
  }
}
