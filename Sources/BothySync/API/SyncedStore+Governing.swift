import BothyStore
import Synchronization

/// When syncs run: the network, the sync policy, pausing. And the policies that change while the store is open.
extension SyncedStore {
  /// When syncs may run. Set at any time; a sync that is running and is not forced ends before its next request if
  /// it may not go on. What it did stays done, the rest stays pending.
  public var syncPolicy: NetworkRules {
    get { governor.policy }
    set {
      governor.policy = newValue
      engine.ask()
    }
  }

  /// Notifies `run()` that there may be something to do: another process wrote, say. Ends no wait after a failure.
  public func requestSync() { engine.ask() }

  /// Stops syncing until `resume`, of all processes that have the file open, and over relaunches: what a user switched
  /// off stays off. A sync that is running ends before its next request, in the middle of a large blob too; a forced one
  /// runs. One transaction.
  ///
  /// Only syncs are held. Saves that go to the server first (`.remote`, `.remoteThenLocal`) and reads that ask the
  /// server still do: save with `.localThenRemote` or `.local` while this is to send nothing.
  public func pause() throws { try setPaused(true) }

  /// Lets syncs run again, of all processes and after relaunches. A running `run()` looks at once for something to do,
  /// that of another process a second later if it has the trigger `.commit`. One transaction.
  public func resume() throws { try setPaused(false) }

  private func setPaused(_ isPaused: Bool) throws {
    try store.write(origin: .remote) { transaction in
      try SyncValues.setPaused(isPaused, in: transaction)
      transaction.touchBookkeeping()
    }
    governor.isPaused = isPaused
    engine.ask()
  }

  /// Whether the account is being signed out, or was.
  package var isSignedOut: Bool { governor.isShut }

  /// Whether syncing was paused when this store last looked: at each sync, at each look after commits of others.
  package var isPaused: Bool { governor.isPaused }

  /// The fetch policy in force for reads that give none. Each read uses what it was when it began; setting it takes
  /// effect at once.
  public var readPolicy: ReadPolicy {
    get { governor.readPolicy }
    set { governor.set(newValue) }
  }

  /// The fetch policy in force, then each different one: a screen may want to read again.
  package var readPolicies: AsyncStream<ReadPolicy> {
    governor.readPolicies.values(startingWith: governor.readPolicy)
  }

  /// The save policy in force for writes that give none. Each write uses what it was when it began; setting it takes
  /// effect at once, and sends nothing that is pending.
  public var writePolicy: WritePolicy {
    get { governor.writePolicy }
    set { governor.writePolicy = newValue }
  }

  /// How conflicts are decided. Set at any time; what sends or pulls at that moment continues with what it began with,
  /// and what was decided stays so.
  ///
  /// A change of a part reads all and sets all: of two tasks that do so at once, one may lose its change.
  public var mergePolicies: MergePolicies {
    get { governor.mergePolicies }
    set { governor.mergePolicies = newValue }
  }

  /// The network's status as `run()` is told of it, then each different one. Any number may listen.
  package var networkStatuses: AsyncStream<NetworkStatus> {
    governor.networkStatuses.values(startingWith: governor.network.status)
  }

  /// Takes what a monitor reports. States count at once. A network that came back, or costs nothing now, starts a sync
  /// when it has been so for a second. One that flaps is let settle.
  func follow<C: Clock>(
    _ monitor: any ReachabilityMonitor, _ triggers: SyncOptions.Triggers, _ clock: C
  ) async where C.Duration == Duration {
    let changes = Counter()
    let provider = configuration.readPolicyProvider
    await withTaskGroup(of: Void.self) { group in
      var last = governor.network
      for await state in monitor.states() where state != last {
        if state.status != last.status, let provider {
          governor.take(provider(state.status), on: state.status)
        }
        last = state
        governor.network = state
        engine.update { $0.network = state }
        belief.hear(state.status == .reachable ? .unknown : state.status, at: self.clock.now())
        let change = changes.next()
        guard state.status == .reachable, triggers.contains(.reachability) || provider != nil else {
          continue
        }
        group.addTask { [engine] in
          do { try await clock.sleep(until: clock.now.advanced(by: .seconds(1)), tolerance: nil) } catch {
            return
          }
          if changes.last == change { engine.networkReturned() }
        }
      }
    }
  }
}

/// Numbers events, so that one can tell whether it is the last.
private final class Counter: Sendable {
  private let count = Mutex(0)

  var last: Int { count.withLock { $0 } }

  func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}
