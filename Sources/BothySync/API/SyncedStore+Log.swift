import BothyStore

extension SyncedStore {
  /// Returns when a sync last succeeded and how later ones ended, in any process. Reads the whole log.
  package func syncStanding() throws -> SyncHealth {
    try store.read { transaction in
      let pulls = try PullState.all(in: transaction).compactMap(engine.pass.heard.time)
      return SyncHealth(try SyncLog.runs(limit: .max, in: transaction), pulledAt: pulls.max())
    }
  }
}
