import BothyStore

extension StoreMaintenance {
  /// Compares the local records of a scope with the server's, by digests, and downloads those that differ. Keeps pending
  /// changes.
  ///
  /// Pulls first. Then makes one round trip if all is equal, else two more and one for each five hundred records that
  /// differ. Where much differs, or the remote cannot compare parts, it pulls the scope as a whole. This device reads the
  /// scope up to three times. Throws `BothyError` if the server can't be reached, and `BothyError`.
  ///
  /// - Parameter scope: the scope to compare, as far as it is subscribed to; `nil` for all subscriptions.
  @discardableResult
  public func repair(_ scope: SyncScope? = nil) async throws -> [Repair] {
    let followed = synced.followed.current
    var scopes = followed
    if let scope {
      scopes = followed.contains { $0.contains(scope) } ? [scope] : followed.filter { scope.contains($0) }
    }
    var reports: [Repair] = []
    for scope in scopes { reports.append(try await compare(scope)) }
    return reports
  }

  private func compare(_ scope: SyncScope) async throws -> Repair {
    let holding = synced.followed.current.filter { $0.contains(scope) }
    var requests = 0
    // Others may change something between the pull and the comparison.
    for attempt in 1...3 {
      let pulled = await synced.engine.sync(SyncPass.Request(scope: .pull, pulls: holding))
      if let reason = pulled.stop { throw BothyError(reason) }
      requests += pulled.requests
      do {
        var found = try await synced.engine.exclusively { () -> Repair in
          let position = try await synced.store.read { transaction in
            try holding.first.flatMap { try PullState.load($0, in: transaction).cursor }
              .flatMap { Cursor(token: $0)?.position }
          }
          return try await Comparison(
            store: synced.store, remote: synced.remote, scope: scope, position: attempt < 3 ? position : nil
          ).repair()
        }
        requests += found.requests
        found.requests = requests
        if found.needsPull {
          try synced.resetValidator(of: scope.container)
          let anew = await synced.engine.sync(SyncPass.Request(scope: .pull, pulls: holding))
          if let reason = anew.stop { throw BothyError(reason) }
          found.requests += anew.requests + 1
          found.isEqual = try await isEqual(scope)
          return found
        }
        if !found.isBehind { return found }
      } catch let error as RemoteError { throw BothyError(error) }
    }
    throw BothyError(.conflict, "Others keep changing '\(scope.container)'. Compare again.")
  }

  private func isEqual(_ scope: SyncScope) async throws -> Bool {
    let theirs = try await remoteDigest(scope)
    let ours = try await synced.store.read { try ServerView.digest(scope, parts: 0, in: $0) }
    return ours.digest == theirs.digest && ours.count == theirs.count
  }
}
