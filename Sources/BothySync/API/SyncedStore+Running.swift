import BothyStore
import Logging
import Synchronization

/// Syncing, on request and by itself.
extension SyncedStore {
  /// Brings the local store and the server into agreement, as far as the network allows. Returns when done.
  /// Throws nothing: the report says what did not work.
  ///
  /// ```swift
  /// let report = await store.sync(container: "trips/oslo")
  /// show(report.message ?? "sent \(report.pushed), received \(report.pulled)")
  /// ```
  ///
  /// One round trip if nothing has changed. The sync of a container makes one more if it brings changes of others that
  /// the other subscriptions don't show yet. It pulls these too, because a transaction is shown as a whole.
  ///
  /// An equal sync that is running is joined. Changes that wait for a retry are sent too. A cancelled task ends its sync with `SyncObstacle.cancelled`, and callers that have
  /// joined it sync by themselves. While syncing is paused or the network rules forbid it, it returns at once.
  ///
  /// - Parameters:
  ///   - direction: which way; nil as configured.
  ///   - container: this container is pulled, with those below it; nil pulls the configured scopes.
  ///     Pending changes of all containers are sent.
  @discardableResult
  public func sync(_ direction: SyncDirection? = nil, container: String? = nil) async -> SyncReport {
    await sync(direction, container: container, forced: false)
  }

  /// Like `sync(_:container:)`, but also while something forbids it.
  ///
  /// - Parameters:
  ///   - scope: which way; nil as configured.
  ///   - container: only this container is pulled, with those below it; nil pulls the configured scopes.
  ///   - forced: true if it runs though syncing is paused, the network rules forbid it, or the server asked for a newer
  ///     version of the app. Otherwise the report says `skipped`, and no request is made.
  ///   - ifRunning: what to do when a sync is running already; nil as configured.
  @discardableResult
  package func sync(
    _ scope: SyncDirection? = nil, container: String? = nil, forced: Bool = false,
    ifRunning: SyncOptions.IfRunning? = nil
  ) async -> SyncReport {
    if (ifRunning ?? configuration.ifRunning) == .ignore && engine.isBusy {
      return SyncReport(stop: .alreadyRunning)
    }
    if let obstacle = await governor.obstacle(in: store), !forced || obstacle == .signedOut {
      return await engine.skip(obstacle)
    }
    let pulls = container.map { [SyncScope(container: $0, includesChildren: true)] }
    return await engine.sync(
      SyncRunner.Request(
        scope: scope ?? configuration.direction, pulls: pulls, ignoresRetryTimes: true,
        heldTypes: forced ? [] : governor.heldTypes, isGoverned: !forced))
  }

  /// Syncs both ways and returns when nothing is pending and nothing newer is known on the server.
  ///
  /// ```swift
  /// do {
  ///   try await store.syncCompletely()
  /// } catch let error as BothyError where error.code == .pendingChanges {
  ///   show(error.message)
  /// }
  /// ```
  ///
  /// Drafts don't count as pending here. Costs as `sync`, and a scan of the outbox.
  ///
  /// - Throws: `BothyError` `.pendingChanges` if changes are left, such as rejected ones. Throws `.unreachable`
  ///   or another code for the obstacle of the sync.
  @discardableResult
  public func syncCompletely() async throws -> SyncReport {
    let report = await sync(.both, ifRunning: .join)
    if let reason = report.stop { throw BothyError(reason) }
    let waiting = try pendingCounts()
    guard waiting.total == waiting.drafts else {
      throw BothyError(
        .pendingChanges,
        "\(waiting.total - waiting.drafts) changes are still pending. The rejected ones have the server's reasons."
      )
    }
    return report
  }

  /// Syncs by itself until its task is cancelled: after saves, on notifications of the server, on a timer, and when the
  /// network or the app comes back, as the configuration's triggers say.
  ///
  /// ```swift
  /// let syncing = Task { await store.run() }
  /// try await store.save(Todo(title: "Oil the lamp"))  // sent at once
  /// syncing.cancel()  // later, when the app no longer wants it
  /// ```
  ///
  /// Failures are tried again with growing, random waits of a minute at most, and no sooner than the server asked
  /// for. No trigger shortens a wait, and neither does calling this again. A sync or an awaited save of the app itself
  /// is tried at once, and ends the wait when the server answers; so does a network that came back after one that was
  /// gone.
  ///
  /// One call runs at a time, such as those of two windows. A further one waits until that ends, and takes its place.
  public func run(reachability: (any ReachabilityMonitor)? = nil) async {
    await run(reachability: reachability, clock: configuration.clock)
  }

  /// Like `run(reachability:)`, but on a given clock, for tests.
  package func run<C: Clock>(reachability: (any ReachabilityMonitor)? = nil, clock: C) async
  where C.Duration == Duration {
    // Cancelled while it waited.
    try? await engine.loops.withPermit { await runAlone(reachability, clock) }
  }

  private func runAlone<C: Clock>(_ reachability: (any ReachabilityMonitor)?, _ clock: C) async
  where C.Duration == Duration {
    let configuration = configuration
    let triggers = configuration.triggers
    let request = SyncRunner.Request(scope: configuration.direction, pulls: configuration.runScopes)
    let hasWork = triggers.contains(.start) ? await hasReasonToStart() : false
    await withTaskGroup(of: Void.self) { group in
      if triggers.contains(.timer) { group.addTask { await self.requestOnTimer(clock) } }
      if let interval = configuration.pollInterval {
        group.addTask { await self.poll(every: interval, clock) }
      }
      if triggers.contains(.commit) { group.addTask { await self.requestOnCommits(clock) } }
      if triggers.contains(.notifications), remote.hasNotifications {
        group.addTask { await self.askOnNotifications(clock) }
      }
      if let reachability { group.addTask { await self.follow(reachability, triggers, clock) } }
      await engine.run(request: request, startsWithWork: hasWork, clock: clock)
      // Signed out: no task listens now.
      group.cancelAll()
    }
  }

  private func hasReasonToStart() async -> Bool {
    let scopes = configuration.runScopes ?? followed.current
    let found = try? await store.read { transaction in
      try OutboxQueue.hasWork(in: transaction)
        || scopes.contains { try !PullState.load($0, in: transaction).isComplete }
    }
    return found ?? true  // unreadable: the pass will say why
  }

  private func askOnNotifications<C: Clock>(_ clock: C) async where C.Duration == Duration {
    let backoff = configuration.backoff
    var failures = 0
    while !Task.isCancelled {
      let opened = clock.now
      do { for try await _ in remote.notifications() { engine.request() } } catch is CancellationError {
        return
      } catch {
        configuration.logger.debug("The stream of notifications ended.", metadata: ["error": "\(error)"])
      }
      // One that ends as soon as it has begun is a failure, however often it begins.
      if opened.duration(to: clock.now) >= backoff.delay(attempt: failures + 1) { failures = 0 }
      failures += 1
      let delay = backoff.delay(attempt: failures)
      do { try await clock.sleep(until: clock.now.advanced(by: delay), tolerance: nil) } catch { return }
    }
  }
}

/// The triggers of automatic syncs: the timer for pending changes, polls of a remote without notifications, writes that
/// bypassed the synced store, the app's coming back.
extension SyncedStore {
  /// First one interval after the start. When nothing waits to be sent it makes no request; a sync that is running is
  /// not doubled.
  func requestOnTimer<C: Clock>(_ clock: C) async where C.Duration == Duration {
    await tick(every: configuration.timerInterval, clock) {
      // Unreadable: the pass will say why.
      let needed = try? await self.scopesToSend()
      if needed?.isEmpty == true { return }
      self.engine.request(only: needed)
    }
  }

  func poll<C: Clock>(every interval: Duration, _ clock: C) async where C.Duration == Duration {
    await tick(every: interval, clock) { self.engine.request() }
  }

  /// After commits, one look a second at most. What was pending already at the look before is being sent, or waits for
  /// a reason: a sync that fails is tried again by the engine, not from here. Another process may have paused or resumed.
  ///
  /// A sync that runs may have made its last request before the commit, so the outbox is looked at after it.
  func requestOnCommits<C: Clock>(_ clock: C) async where C.Duration == Duration {
    var known: OutboxQueue.Extent?
    for await _ in store.commits {
      repeat {
        do { try await clock.sleep(until: clock.now.advanced(by: .seconds(1)), tolerance: nil) } catch {
          return
        }
        await noticePause()
      } while engine.isBusy
      let found = try? await store.read { transaction in
        (try OutboxQueue.extent(in: transaction), isReady: try OutboxQueue.isReady(in: transaction))
      }
      guard let (extent, isReady) = found, extent != known else { continue }
      known = extent
      if isReady { engine.request() }
    }
  }

  /// Reads if another process has paused or resumed syncs, and wakes `run()` if so.
  private func noticePause() async {
    let wasPaused = governor.isPaused
    // Unreadable: it stays as it was.
    try? await store.read { [governor] in governor.isPaused = try SyncValues.isPaused(in: $0) }
    if governor.isPaused != wasPaused { engine.request() }
  }

  private func tick<C: Clock>(
    every interval: Duration, _ clock: C, _ body: () async -> Void
  ) async where C.Duration == Duration {
    while !Task.isCancelled {
      do { try await clock.sleep(until: clock.now.advanced(by: interval), tolerance: nil) } catch { return }
      await presence.foreground()
      if Task.isCancelled { return }
      await body()
    }
  }

  /// The followed scopes that hold containers in which anything waits to be sent; such a container itself where no
  /// scope holds it. Nil if something waits and no scope is followed.
  private func scopesToSend() async throws -> [SyncScope]? {
    let followed = followed.current
    let containers = try await store.read { try OutboxQueue.containersToSend(in: $0) }
    if followed.isEmpty, !containers.isEmpty { return nil }
    var scopes: [SyncScope] = []
    for container in containers {
      let holding = followed.filter { $0.contains(container) }
      // A container outside of all scopes is sent with any pass.
      for scope in holding.isEmpty ? Array(followed.prefix(1)) : holding where !scopes.contains(scope) {
        scopes.append(scope)
      }
    }
    return scopes
  }
}

/// Pausing, and the network as the monitor reports it.
extension SyncedStore {
  /// Notifies `run()` that there may be something to do: another process wrote, say. Ends no wait after a failure.
  package func requestSync() { engine.request() }

  /// Stops syncing until `resume`, of all processes that have the file open, and over relaunches: what a user switched
  /// off stays off. A sync that is running ends before its next request, in the middle of a large blob too; a forced one
  /// runs. One transaction.
  ///
  /// Only syncs are held. Saves that go to the server first (`.remote`, `.remoteThenLocal`), `SaveReceipt.result` and reads
  /// that ask the server still do: save with `.localThenRemote` or `.local` while this is to send nothing.
  ///
  /// ```swift
  /// try store.pause()
  /// try await store.save(Todo(title: "Oil the lamp"))  // stays here until `resume()`
  /// ```
  public func pause() throws { try setPaused(true) }

  /// Lets syncs run again, of all processes and after relaunches. Does no harm if syncing isn't paused.
  ///
  /// A running `run()` looks at once for something to do, that of another process a second later if it has the
  /// trigger `.commit`. One transaction on the calling thread. Throws `BothyError` for a file that can't be
  /// written.
  public func resume() throws { try setPaused(false) }

  private func setPaused(_ isPaused: Bool) throws {
    try store.write(origin: .remote) { transaction in
      try SyncValues.setPaused(isPaused, in: transaction)
      transaction.touchBookkeeping()
    }
    governor.isPaused = isPaused
    engine.request()
  }

  /// True if the account is being signed out, or was.
  package var isSignedOut: Bool { governor.isShut }

  /// True if syncing was paused when this store last looked. It looks at each sync and after commits of others.
  package var isPaused: Bool { governor.isPaused }

  /// The read policy in force, then each different one: a screen may want to read again.
  package var readPolicies: AsyncStream<ReadPolicy> {
    governor.readPolicies.values(startingWith: governor.readPolicy)
  }

  /// True for a network and false for none, as `run()` is told of it, and `nil` before. Then each different value.
  package var networkPresences: AsyncStream<Bool?> {
    governor.presences.values(startingWith: governor.network.isReachable)
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
        if state.isReachable != last.isReachable, let provider {
          governor.take(provider(state.isReachable), isReachable: state.isReachable)
        }
        last = state
        governor.network = state
        engine.update { $0.network = state }
        reachability.hear(state.isReachable == true ? nil : state.isReachable, at: self.clock.now())
        let change = changes.next()
        guard state.isReachable == true, triggers.contains(.reachability) || provider != nil else {
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
