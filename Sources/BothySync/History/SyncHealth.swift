import BothyStore

/// The recent health of syncing, computed from the log: the last sync that ended well, and the failures since. Pure.
package struct SyncHealth: Sendable, Hashable {
  /// The time when a sync last ended well, in milliseconds since 1970; `nil` if none is known.
  package var lastEndedWell: Int64?
  /// The failures since; `nil` if the last sync ended well, or none is known.
  package var failing: Failing?

  package struct Failing: Sendable, Hashable {
    /// The reason why the last of them did not run to its end.
    package var reason: SyncStop
    /// The time when the first of them began, in milliseconds since 1970.
    package var since: Int64
    /// The time when the last of them ended.
    package var last: Int64
    /// The number of failed syncs, for any reasons.
    package var count: Int
  }

  /// - Parameters:
  ///   - runs: the log, newest first.
  ///   - pulledAt: the time of the last completed pull. A sync without changes leaves no other trace.
  ///
  /// A cancelled sync counts as neither.
  package init(_ runs: [StoreMaintenance.SyncRun], pulledAt: Int64?) {
    let reported = runs.filter { $0.problem != .cancelled }
    let failed = reported.prefix { $0.problem != nil }
    let well = reported.dropFirst(failed.count).first?.ended
    guard let newest = failed.first, let reason = newest.problem, let oldest = failed.last else {
      lastEndedWell = [well, pulledAt].compactMap(\.self).max()
      return
    }
    // A later completed pull belongs to a sync that failed for another reason.
    let pulledBefore = pulledAt.flatMap { $0 <= oldest.began ? $0 : nil }
    lastEndedWell = [well, pulledBefore].compactMap(\.self).max()
    failing = Failing(
      reason: reason, since: oldest.began, last: newest.ended, count: failed.reduce(0) { $0 + $1.count })
  }
}

extension SyncedStore {
  /// Returns when a sync last succeeded and how later ones ended, in any process. Reads the whole log.
  package func syncHealth() throws -> SyncHealth {
    try store.read { transaction in
      let pulls = try PullState.all(in: transaction).compactMap(engine.runner.heard.time)
      return SyncHealth(try SyncHistoryTable.runs(limit: .max, in: transaction), pulledAt: pulls.max())
    }
  }
}
