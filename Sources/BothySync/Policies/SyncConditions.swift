import BothyStore
import Synchronization

/// The conditions under which a sync may run now, and the policies in force. They come from the app, the user and the
/// server. Makes no request and writes nothing.
final class SyncConditions: Sendable {
  private struct State {
    var policy: NetworkRules
    var network = NetworkState.unknown
    /// The file's word when it was last read. Other processes change it too.
    var isPaused = false
    /// The server's message when it required a newer version of the app.
    var updateRequired: String?
    var isShut = false
    var isOver = false
    var readPolicy: ReadPolicy
    /// The read policy that takes effect when a sync has completed.
    var awaited: ReadPolicy?
    var writePolicy: WritePolicy
    var merging: MergePolicies
  }

  private let state: Mutex<State>
  private let file: OpenedFile
  let presences = Broadcast<Bool?>()
  let readPolicies = Broadcast<ReadPolicy>()

  init(_ configuration: SyncOptions, file: OpenedFile) {
    self.file = file
    var start = State(
      policy: configuration.network, readPolicy: configuration.readPolicy,
      writePolicy: configuration.writePolicy, merging: configuration.merging)
    if let provider = configuration.readPolicyProvider { start.readPolicy = provider(nil) }
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

  /// True after the user was signed out. False while a sign-out is tried that may be refused.
  var isOver: Bool { state.withLock { $0.isOver } || file.isGone }

  /// Notes that the user was signed out.
  func end() { state.withLock { $0.isOver = true } }

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

  var network: NetworkState {
    get { state.withLock { $0.network } }
    set {
      let isOther = state.withLock { state in
        defer { state.network = newValue }
        return state.network.isReachable != newValue.isReachable
      }
      if isOther { presences.send(network.isReachable) }
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
    if isOther { readPolicies.send(readPolicy) }
  }

  /// Sets the policy that a provider returned for a network. A policy that reads from the server takes effect after the
  /// next completed sync. Until then the server's answers may lack pending changes.
  func take(_ policy: ReadPolicy, isReachable: Bool?) {
    guard isReachable == true && policy.asksServer else { return set(policy) }
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
