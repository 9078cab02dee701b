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
    let told = runs.filter { $0.problem != .cancelled }
    let failed = told.prefix { $0.problem != nil }
    let well = told.dropFirst(failed.count).first?.ended
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
  package func syncStanding() throws -> SyncHealth {
    try store.read { transaction in
      let pulls = try PullState.all(in: transaction).compactMap(engine.pass.heard.time)
      return SyncHealth(try SyncLog.runs(limit: .max, in: transaction), pulledAt: pulls.max())
    }
  }
}

extension SyncStop {
  /// The event, as a sentence.
  package var sentence: String {
    if let words { return words.isEmpty ? "The sync ended with \(name)." : words }
    return switch self {
    case .paused: "Syncing is paused."
    case .expensiveNetwork: "The network may cost money, and the app's sync policy does not allow such."
    case .constrainedNetwork: "The app's sync policy spares a constrained network."
    case .lowPower: "The device saves power, as the app's sync policy respects."
    default: BothyError(self).message
    }
  }

  /// The remedy outside of the app.
  package var remedy: String {
    switch self {
    case .unreachable:
      "See that the server runs and that this device can reach it; an app that runs tries again by itself."
    case .signInRequired: "Sign in again in the app, or give it a token that the server takes."
    case .throttled: "Wait until the server has room; an app that runs tries again by itself."
    case .serverError: "Look at the server's log; an app that runs tries again by itself."
    case .refused(code: "local", _): "Run `bothy doctor` on the file, and see that the disk has room."
    case .refused: "Compare the server, the space and the account that the app syncs with."
    case .paused: "Resume syncing in the app, or force a sync."
    case .expensiveNetwork, .constrainedNetwork: "Take the device to another network, or force a sync."
    case .lowPower: "Charge the device, or force a sync."
    case .updateRequired: "Install a newer version of the app."
    case .otherServer:
      "Correct the address or the space. Or adopt this server with `bothy sync --adopt`, which deletes what came from "
        + "the first one and sends pending changes. Or give it what it lacks with `--upload-mine`. Or keep the file as "
        + "it is with `--keep-apart`, and use another one for this server."
    case .signedOut: "Sign in again in the app."
    case .alreadyRunning, .cancelled: "Sync again."
    }
  }
}
