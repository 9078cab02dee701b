import BothyStore
import Synchronization

/// The conditions under which a sync may run now, and the policies in force. They come from the app, the user and the
/// server. Makes no request and writes nothing.
final class SyncGovernor: Sendable {
  private struct State {
    var policy: SyncPolicy
    var network = NetworkState.unknown
    var isPaused = false
    /// The server's message when it required a newer version of the app.
    var updateRequired: String?
    var isShut = false
    var fetchPolicy: FetchPolicy
    /// The fetch policy that takes effect when a sync has completed.
    var awaited: FetchPolicy?
    var savePolicy: SavePolicy
    var mergePolicies: MergePolicies
  }

  private let state: Mutex<State>
  private let file: OpenedFile
  let networkStatuses = Broadcast<NetworkStatus>()
  let fetchPolicies = Broadcast<FetchPolicy>()

  init(_ configuration: SyncConfiguration, file: OpenedFile) {
    self.file = file
    var start = State(
      policy: configuration.syncPolicy, fetchPolicy: configuration.fetchPolicy,
      savePolicy: configuration.savePolicy, mergePolicies: configuration.mergePolicies)
    if let provider = configuration.fetchPolicyProvider { start.fetchPolicy = provider(.unknown) }
    if configuration.startup == .syncThenNetwork, start.fetchPolicy.asksServer {
      start.awaited = start.fetchPolicy
      start.fetchPolicy = .cacheOnly
    }
    state = Mutex(start)
  }

  /// The reason why syncs may not run now, or `nil` if they may.
  var obstacle: SkipReason? {
    if file.isGone { return .signedOut }
    return state.withLock { state in
      if state.isShut { return .signedOut }
      if let message = state.updateRequired { return .updateRequired(message) }
      if state.isPaused { return .paused }
      return state.policy.general.obstacle(state.network)
    }
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

  var policy: SyncPolicy {
    get { state.withLock { $0.policy } }
    set { state.withLock { $0.policy = newValue } }
  }

  var updateRequired: String? {
    get { state.withLock { $0.updateRequired } }
    set { state.withLock { $0.updateRequired = newValue } }
  }

  var network: NetworkState {
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

  var savePolicy: SavePolicy {
    get { state.withLock { $0.savePolicy } }
    set { state.withLock { $0.savePolicy = newValue } }
  }

  var mergePolicies: MergePolicies {
    get { state.withLock { $0.mergePolicies } }
    set { state.withLock { $0.mergePolicies = newValue } }
  }

  /// Returns the configuration with the save and merge policies that are in force.
  func inForce(_ configuration: SyncConfiguration) -> SyncConfiguration {
    var configuration = configuration
    (configuration.savePolicy, configuration.mergePolicies) = state.withLock {
      ($0.savePolicy, $0.mergePolicies)
    }
    return configuration
  }

  var fetchPolicy: FetchPolicy { state.withLock { $0.fetchPolicy } }

  /// Sets the policy at once.
  func set(_ policy: FetchPolicy) {
    let isOther = state.withLock { state in
      state.awaited = nil
      defer { state.fetchPolicy = policy }
      return state.fetchPolicy != policy
    }
    if isOther { fetchPolicies.send(policy) }
  }

  /// Sets the policy that a provider returned for a status. A policy that reads from the server takes effect after the
  /// next completed sync. Until then the server's answers may lack pending changes.
  func take(_ policy: FetchPolicy, on status: NetworkStatus) {
    guard status == .reachable && policy.asksServer else { return set(policy) }
    state.withLock { $0.awaited = policy }
  }

  /// Notes that a sync completed.
  func completed() {
    if let awaited = state.withLock({ $0.awaited }) { set(awaited) }
  }
}

extension FetchPolicy {
  /// True if a read under the policy uses the server before it returns.
  var asksServer: Bool {
    switch self {
    case .networkOnly, .networkElseCache, .cacheElseNetwork: true
    case .cacheOnly, .syncThenCache, .cacheThenRefresh: false
    }
  }
}
