import BothyStore

/// Decisions after a sync that ended with `SyncObstacle.otherServer`.
extension StoreMaintenance {

  /// Gives up the server or history that the file was synced with, and takes what the present one has. Records that
  /// came from the first one and that this one lacks are evicted, and are in `SyncReport.lost`. Pending changes stay,
  /// and are sent.
  ///
  /// For after `SyncObstacle.otherServer`. A sync that can't be finished now is the matter of the next one. Costs a pull of
  /// all that is followed. Throws `BothyError`.
  @discardableResult
  public func adoptServer() async throws -> SyncReport { try await decide(.adopt) }

  /// Gives up the server or history that the file was synced with, and gives the present one what it lacks: everything
  /// that the file holds and that this server has not, or has as it was before, becomes pending inserts and updates, which
  /// are in `SyncReport.givenBack` and are sent like others.
  ///
  /// For after `SyncObstacle.otherServer`: a server that was restored gets back what it had acknowledged since its backup,
  /// and one that lost everything is rebuilt from its devices. What others deleted or changed on a restored server counts.
  /// On a server with another identity versions can't be compared: where it has a record in another content, the merge
  /// policy decides. Any number of devices may do it, and one may do it again: nothing is made twice.
  ///
  /// The decision and what it brings about are each one transaction; a sync that can't be finished now, or a process that
  /// ends, is the matter of the next one. Costs a pull of all that is followed. Throws `BothyError`.
  ///
  /// ```swift
  /// if await store.sync().obstacle == .otherServer {
  ///   print("Given back: \(try await store.maintenance.uploadMine().givenBack.count)")
  /// }
  /// ```
  @discardableResult
  public func uploadMine() async throws -> SyncReport { try await decide(.uploadMine) }

  private func decide(_ decision: ServerBinding.Decision) async throws -> SyncReport {
    try await synced.engine.exclusively {
      try await synced.store.write(origin: .remote) { try ServerBinding.decide(decision, in: $0) }
    }
    return await synced.sync(.both, forced: true)
  }

  /// Leaves the file with the server that it was synced with: it can be read and written, and pending changes wait.
  /// Syncs end with `SyncObstacle.otherServer` after requesting the server's identity, until the first server answers
  /// again. Then they continue.
  ///
  /// For the other server open another file, or sign out with `AccountFolder`; `adoptServer` and `uploadMine` may still be
  /// called later. Survives a relaunch. One transaction, no request. Throws `BothyError`.
  public func keepApart() async throws {
    try await synced.store.write(origin: .remote) { transaction in
      try ServerBinding.setApart(true, in: transaction)
      transaction.touchBookkeeping()
    }
  }

  /// Whether `keepApart` was called, and the first server has not answered since. One read.
  package func isKeptApart() async throws -> Bool {
    try await synced.store.read { try ServerBinding.load(in: $0).isApart }
  }
}
