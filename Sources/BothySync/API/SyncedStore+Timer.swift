import BothyStore

/// The triggers of automatic syncs: the timer for pending changes, polls of a remote that gives no hints, writes that
/// bypassed the synced store, the app's coming back.
extension SyncedStore {
  /// True if the app is in the foreground, as it says: set false when it enters the background. There the timer and
  /// polls rest; what came due meanwhile is done once the app is back. Its coming back is a trigger of its own,
  /// `SyncOptions.Triggers.foreground`.
  public var isForeground: Bool {
    get { presence.isForeground }
    set {
      let isBack = presence.set(isForeground: newValue)
      // A `run()` that begins later has triggers for its start.
      if isBack && engine.isLooping && configuration.triggers.contains(.foreground) { engine.ask() }
    }
  }

  /// First one interval after the start. When nothing waits to be sent it makes no request; a sync that is running is
  /// not doubled.
  func askOnTimer<C: Clock>(_ clock: C) async where C.Duration == Duration {
    await tick(every: configuration.timerInterval, clock) {
      // Unreadable: the pass will say why.
      let needed = try? await self.scopesToSend()
      if needed?.isEmpty ?? false { return }
      self.engine.ask(only: needed)
    }
  }

  func poll<C: Clock>(every interval: Duration, _ clock: C) async where C.Duration == Duration {
    await tick(every: interval, clock) { self.engine.ask() }
  }

  /// After commits, one look a second at most. What was pending already at the look before is being sent, or waits for
  /// a reason: a sync that fails is tried again by the engine, not from here. Another process may have paused or resumed.
  func askOnCommits<C: Clock>(_ clock: C) async where C.Duration == Duration {
    var known: OutboxQueue.Extent?
    for await _ in store.commits {
      do { try await clock.sleep(until: clock.now.advanced(by: .seconds(1)), tolerance: nil) } catch {
        return
      }
      let wasPaused = governor.isPaused
      let found = try? await store.read { [governor] transaction in
        governor.isPaused = try SyncValues.isPaused(in: transaction)
        return try OutboxQueue.extent(in: transaction)
      }
      if governor.isPaused != wasPaused { engine.ask() }
      guard let found, found != known else { continue }
      known = found
      if !found.isEmpty && !engine.isBusy { engine.ask() }
    }
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
  /// scope holds it.
  private func scopesToSend() async throws -> [SyncScope] {
    let followed = followed.current
    let containers = try await store.read { try OutboxQueue.containersToSend(in: $0) }
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
