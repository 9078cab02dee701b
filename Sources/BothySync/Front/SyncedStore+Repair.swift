import BothyStore

/// Proof of equality with the server, and what brings it about.
extension SyncedStore {
  /// Compares what is here of a scope with the server, by digests, and brings back what differs: the server's side
  /// counts for clean records, pending changes stay. What differs is found part by part, so that one wrong record costs
  /// the fetch of one.
  ///
  /// Pulls first. Then one round trip if all is equal, else two more and one for each five hundred records that differ;
  /// the server reads the scope once for each of the first two, this device reads it up to three times. Where much
  /// differs, or the remote cannot tell parts apart, the scope is pulled anew as a whole. Throws `SyncError` when the
  /// server cannot be reached, `StoreError`.
  ///
  /// - Parameter scope: nil compares all that is followed; of other scopes the parts that are followed.
  @discardableResult
  public func repair(_ scope: PullScope? = nil) async throws -> [RepairReport] {
    let followed = followed.current
    var scopes = followed
    if let scope {
      scopes = followed.contains { $0.contains(scope) } ? [scope] : followed.filter { scope.contains($0) }
    }
    var reports: [RepairReport] = []
    for scope in scopes { reports.append(try await compare(scope)) }
    return reports
  }

  private func compare(_ scope: PullScope) async throws -> RepairReport {
    let holding = followed.current.filter { $0.contains(scope) }
    var requests = 0
    // Others may change something between the pull and the comparison.
    for attempt in 1...3 {
      let pulled = await engine.sync(SyncPass.Request(scope: .pull, pulls: holding))
      if let reason = pulled.skipped { throw SyncError(reason) }
      requests += pulled.requests
      do {
        var found = try await engine.exclusively { () -> RepairReport in
          let position = try await store.read { transaction in
            try holding.first.flatMap { try PullState.load($0, in: transaction).cursor }
              .flatMap { Cursor(token: $0)?.position }
          }
          return try await Comparison(
            store: store, remote: remote, scope: scope, position: attempt < 3 ? position : nil
          ).repair()
        }
        requests += found.requests
        found.requests = requests
        if found.needsPull {
          try resetValidator(of: scope.container)
          let anew = await engine.sync(SyncPass.Request(scope: .pull, pulls: holding))
          if let reason = anew.skipped { throw SyncError(reason) }
          found.requests += anew.requests + 1
          found.isEqual = try await isEqual(scope)
          return found
        }
        if !found.isBehind { return found }
      } catch let error as RemoteError { throw SyncError(error) }
    }
    throw SyncError(.conflict, "Others keep changing '\(scope.container)'. Compare again.")
  }

  private func isEqual(_ scope: PullScope) async throws -> Bool {
    let theirs = try await remoteDigest(scope)
    let ours = try await store.read { try ServerView.digest(scope, parts: 0, in: $0) }
    return ours.digest == theirs.digest && ours.count == theirs.count
  }
}
