public import BothyStore
import Synchronization

/// The conditions under which a sync may run now, and the policies in force. They come from the app, the user and the
/// server. Makes no request and writes nothing.
final class SyncConditions: Sendable {
  private struct State {
    var policy: NetworkRules
    var network = SyncStatus.NetworkState.unknown
    /// The file's word when it was last read. Other processes change it too.
    var isPaused = false
    /// The server's message when it required a newer version of the app.
    var updateRequired: String?
    var isShut = false
    var readPolicy: ReadPolicy
    /// The read policy that takes effect when a sync has completed.
    var awaited: ReadPolicy?
    var writePolicy: WritePolicy
    var merging: MergePolicies
  }

  private let state: Mutex<State>
  private let file: OpenedFile
  let networkStatuses = Broadcast<SyncStatus.NetworkStatus>()
  let readPolicies = Broadcast<ReadPolicy>()

  init(_ configuration: SyncOptions, file: OpenedFile) {
    self.file = file
    var start = State(
      policy: configuration.network, readPolicy: configuration.readPolicy,
      writePolicy: configuration.writePolicy, merging: configuration.merging)
    if let provider = configuration.readPolicyProvider { start.readPolicy = provider(.unknown) }
    if configuration.startup == .syncThenNetwork, start.readPolicy.asksServer {
      start.awaited = start.readPolicy
      start.readPolicy = .local
    }
    state = Mutex(start)
  }

  /// The reason why syncs may not run now, or `nil` if they may.
  var obstacle: SyncStop? {
    if file.isGone { return .signedOut }
    return state.withLock { state in
      if state.isShut { return .signedOut }
      if let message = state.updateRequired { return .updateRequired(message) }
      if state.isPaused { return .paused }
      return state.policy.general.obstacle(state.network)
    }
  }

  /// Like `obstacle`, but looks in the file whether another process has ended a pause.
  func obstacle(in store: LocalStore) async -> SyncStop? {
    // Unreadable: it stays paused.
    if isPaused { try? await store.read { try self.isPaused = SyncValues.isPaused(in: $0) } }
    return obstacle
  }

  /// The types whose changes wait.
  var heldTypes: Set<String> { state.withLock { $0.policy.held(on: $0.network) } }

  /// True after the user is signed out, here or by another process that removed the file.
  var isShut: Bool { state.withLock { $0.isShut } || file.isGone }

  /// Ends syncing. Returns false if it was ended already.
  func shut() -> Bool {
    state.withLock { state in
      defer { state.isShut = true }
      return !state.isShut
    }
  }

  func reopen() { state.withLock { $0.isShut = false } }

  var isPaused: Bool {
    get { state.withLock { $0.isPaused } }
    set { state.withLock { $0.isPaused = newValue } }
  }

  var policy: NetworkRules {
    get { state.withLock { $0.policy } }
    set { state.withLock { $0.policy = newValue } }
  }

  var updateRequired: String? {
    get { state.withLock { $0.updateRequired } }
    set { state.withLock { $0.updateRequired = newValue } }
  }

  var network: SyncStatus.NetworkState {
    get { state.withLock { $0.network } }
    set {
      let isOther = state.withLock { state in
        defer { state.network = newValue }
        return state.network.status != newValue.status
      }
      if isOther { networkStatuses.send(newValue.status) }
    }
  }

  // MARK: the policies of calls and conflicts

  var writePolicy: WritePolicy {
    get { state.withLock { $0.writePolicy } }
    set { state.withLock { $0.writePolicy = newValue } }
  }

  var merging: MergePolicies {
    get { state.withLock { $0.merging } }
    set { state.withLock { $0.merging = newValue } }
  }

  /// Returns the configuration with the save and merge policies that are in force.
  func inForce(_ configuration: SyncOptions) -> SyncOptions {
    var configuration = configuration
    (configuration.writePolicy, configuration.merging) = state.withLock {
      ($0.writePolicy, $0.merging)
    }
    return configuration
  }

  var readPolicy: ReadPolicy { state.withLock { $0.readPolicy } }

  /// Sets the policy at once.
  func set(_ policy: ReadPolicy) {
    let isOther = state.withLock { state in
      state.awaited = nil
      defer { state.readPolicy = policy }
      return state.readPolicy != policy
    }
    if isOther { readPolicies.send(policy) }
  }

  /// Sets the policy that a provider returned for a status. A policy that reads from the server takes effect after the
  /// next completed sync. Until then the server's answers may lack pending changes.
  func take(_ policy: ReadPolicy, on status: SyncStatus.NetworkStatus) {
    guard status == .reachable && policy.asksServer else { return set(policy) }
    state.withLock { $0.awaited = policy }
  }

  /// Notes that a sync completed.
  func completed() {
    if let awaited = state.withLock({ $0.awaited }) { set(awaited) }
  }
}

extension ReadPolicy {
  /// True if a read under the policy uses the server before it returns.
  var asksServer: Bool {
    switch self {
    case .remote, .remoteElseLocal, .localElseRemote: true
    case .local, .syncThenLocal, .localThenRemote: false
    }
  }
}

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
    func obstacle(_ network: SyncStatus.NetworkState) -> SyncStop? {
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
  func held(on network: SyncStatus.NetworkState) -> Set<String> {
    heldTypes.union(types.filter { $0.value.obstacle(network) != nil }.keys)
  }
}

/// A source of network states: `PathMonitor` on Apple's platforms, a type of the app elsewhere.
///
/// ```swift
/// import BothySync
///
/// /// The network of a machine with a cable.
/// struct WiredNetwork: ReachabilityMonitor {
///   func states() -> AsyncStream<SyncStatus.NetworkState> { AsyncStream { $0.yield(.init(.reachable)) } }
/// }
///
/// await store.run(reachability: WiredNetwork())
/// ```
public protocol ReachabilityMonitor: Sendable {
  /// Returns the present state, then each different one. The stream ends when the monitor stops.
  ///
  /// Each `run(reachability:)` calls it once, and cancels the stream when it ends. Without a first state the
  /// network counts as unknown, so requests are tried.
  func states() -> AsyncStream<SyncStatus.NetworkState>
}

/// A monitor that passes on the states that the app sends. Any number of listeners may read it.
package final class NetworkFeed: ReachabilityMonitor {
  private let current: Mutex<SyncStatus.NetworkState>
  private let changes = Broadcast<SyncStatus.NetworkState>()

  /// - Parameter state: the first state that listeners receive, until `send` changes it.
  package init(_ state: SyncStatus.NetworkState = SyncStatus.NetworkState(.unknown)) {
    current = Mutex(state)
  }

  /// The state that was sent last, or the initial one.
  package var state: SyncStatus.NetworkState { current.withLock { $0 } }

  /// Sends the present state to all listeners. May be called from any thread.
  package func send(_ state: SyncStatus.NetworkState) {
    current.withLock { $0 = state }
    changes.send(state)
  }

  package func states() -> AsyncStream<SyncStatus.NetworkState> { changes.values(startingWith: state) }
}

/// The app's presence in the foreground, and the tasks that wait for it.
final class AppPresence: Sendable {
  private let state = Mutex(true)
  private let returns = Broadcast<Void>()

  var isForeground: Bool { state.withLock { $0 } }

  /// Stores the app's new presence. Returns true if the app was in the background and came back.
  func set(isForeground: Bool) -> Bool {
    let isBack = state.withLock { state in
      defer { state = isForeground }
      return isForeground && !state
    }
    if isBack { returns.send(()) }
    return isBack
  }

  /// Returns once the app is in the foreground, or the task is cancelled.
  func foreground() async {
    // Listens before it looks, so that no return falls between.
    let returns = returns.values()
    if isForeground { return }
    for await _ in returns { return }
  }
}
