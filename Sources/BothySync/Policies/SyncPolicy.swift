/// When a sync may run, as the user wishes it: on which networks, at what power, for which types. A value that can
/// be set at any time; what it holds back stays pending and goes when it may.
///
/// It governs syncs, whoever asks for them; a sync that is forced goes anyway. It does not govern a single read or
/// write for which the app asks the server by its policy.
public struct SyncPolicy: Sendable, Hashable {
  /// Which networks may be used, and at what power.
  public struct Terms: Sendable, Hashable {
    /// Networks on which each byte may cost money.
    public var allowsExpensive: Bool
    /// Networks of which the user asked apps to use little.
    public var allowsConstrained: Bool
    /// Syncing while the device saves power.
    public var allowsLowPower: Bool

    /// All is allowed unless told otherwise.
    public init(expensive: Bool = true, constrained: Bool = true, lowPower: Bool = true) {
      allowsExpensive = expensive
      allowsConstrained = constrained
      allowsLowPower = lowPower
    }

    /// Every network, at every power.
    public static let always = Terms()
    /// Only networks that cost nothing and that nobody asked to spare.
    public static let wifiOnly = Terms(expensive: false, constrained: false)

    /// What stands against these terms; nil when nothing does.
    func obstacle(_ network: NetworkState) -> SkipReason? {
      if network.isExpensive && !allowsExpensive { return .expensiveNetwork }
      if network.isConstrained && !allowsConstrained { return .constrainedNetwork }
      if network.isLowPower && !allowsLowPower { return .lowPower }
      return nil
    }
  }

  /// What a sync as a whole needs; where they stand against it, none runs.
  public var general: Terms
  /// Narrower terms for the local changes of some types: on a network that they exclude, the changes of those types
  /// wait while others are sent. What others changed is pulled by container, whatever its type.
  public var types: [String: Terms]
  /// Types whose local changes wait until they are no longer named here.
  public var heldTypes: Set<String>

  /// - Parameters:
  ///   - types: by the types' names.
  ///   - heldTypes: names of types.
  public init(_ general: Terms = .always, types: [String: Terms] = [:], heldTypes: Set<String> = []) {
    self.general = general
    self.types = types
    self.heldTypes = heldTypes
  }

  /// On every network, at every power. The default.
  public static let always = SyncPolicy()
  /// Only on networks that cost nothing and that nobody asked to spare.
  public static let wifiOnly = SyncPolicy(.wifiOnly)

  /// The types whose changes wait on a network.
  func held(on network: NetworkState) -> Set<String> {
    heldTypes.union(types.filter { $0.value.obstacle(network) != nil }.keys)
  }
}
