import BothyStore

/// How past syncs ended, as the file remembers it.
extension SyncedStore {
  /// The syncs that the file remembers, newest first, at most `limit` of them: those of every process that has the file
  /// open, also before the present launch.
  ///
  /// A sync that moved something or ended in another way than the one before it has a row; those that found
  /// nothing to do are not told of, and failures in a row that are alike share one. The newest 150 that ended well are
  /// kept, and the newest 150 that did not. `reset` and a purge of everything that is pending remove them.
  ///
  /// Reads the file on the calling thread, a row for each. Throws `StoreError`.
  public func recentSyncs(limit: Int = 50) throws -> [SyncRun] {
    try store.read { try SyncLog.runs(limit: limit, in: $0) }
  }

  /// When a sync last ended well and what they have ended in since, whichever processes ran them. Reads the whole log.
  package func syncStanding() throws -> SyncStanding {
    try store.read { transaction in
      let pulls = try PullState.all(in: transaction).compactMap(engine.pass.heard.time)
      return SyncStanding(try SyncLog.runs(limit: .max, in: transaction), pulledAt: pulls.max())
    }
  }
}
