import BothyStore

/// Chooses if the conflict of a single change is decided at once, or in the step of a pull.
///
/// Another user may have made the server's version in a transaction with other records. So a conflict that shows that
/// version is decided in the step that shows the followed scopes up to it. Until then the change is pending as before it
/// was sent.
struct ConflictTiming: Sendable {
  /// The scopes that syncs pull.
  var pulls: [SyncScope] = []
  /// The scopes that the answer shows up to its position.
  var shown: Set<SyncScope> = []
  /// True if further pages follow the answer's.
  var hasMore = false
  /// True if the answer's pages are shown now. Otherwise no conflict with them is decided.
  var isShowing = true
  /// The records that are sent again by this run, or `nil` for all.
  var records: [RecordID]?
  /// The records whose conflict this run has put off before.
  var putOff: Set<RecordID> = []

  /// True if the answer shows all that syncs pull, so that every conflict is decided now.
  var showsAll: Bool { pulls.allSatisfy(shown.contains) }

  enum Choice: Sendable {
    /// The conflict is decided now, and nothing more is needed.
    case now
    /// The conflict is decided now, and the next request pulls.
    case nowAndPull
    case afterPull
  }

  /// Chooses when a conflict with the server's version is decided.
  ///
  /// - Parameter known: gives the decision, if it is known without a policy of the app's own. It is called only if the
  ///   choice depends on it.
  func choice(
    _ current: ServerRecord, over entry: Outbox.Entry, in transaction: ReadTransaction,
    _ known: () throws -> MergeDecision?
  ) throws -> Choice {
    let keeping = entry.awaited?.keeping
    guard keeping != .thereAlone, keeping != .uncached, current.isDeleted || !entry.isWhole,
      try isMissing(current, over: entry, in: transaction)
    else { return .now }
    let decision = try known()
    if showsNothing(of: current, over: entry, decision) { return .now }
    guard !entry.isBeneath, records?.contains(entry.id) ?? true, !putOff.contains(entry.id) || hasMore else {
      return .nowAndPull
    }
    guard entry.isHidden else { return .afterPull }
    // The row doesn't show a hidden change that is merged and sent again. The pull comes with that request.
    if case .server? = decision { return .afterPull }
    return .nowAndPull
  }

  /// True if the local version stays, in the container that the server has too.
  private func showsNothing(
    of current: ServerRecord, over entry: Outbox.Entry, _ decision: MergeDecision?
  ) -> Bool {
    guard case .client? = decision else { return false }
    return entry.isHidden || current.isDeleted || current.container == entry.container ?? entry.id.type
  }

  /// True if the record is in scopes that were pulled, and neither before nor by this answer up to the version.
  private func isMissing(
    _ current: ServerRecord, over entry: Outbox.Entry, in transaction: ReadTransaction
  ) throws -> Bool {
    let here = entry.container ?? entry.id.type
    let missing = pulls.filter { scope in
      !shown.contains(scope)
        && (scope.contains(here) || !current.isDeleted && scope.contains(current.container))
    }
    return try !missing.isEmpty && !Self.complete(missing, in: transaction).isEmpty
      && !PullState.knows(current, in: transaction)
  }

  /// Returns the scopes of which a pull has been completed.
  static func complete(_ scopes: [SyncScope], in transaction: ReadTransaction) throws -> [SyncScope] {
    try scopes.filter {
      let state = try PullState.load($0, in: transaction)
      return state.isComplete && !state.isOtherHistory
    }
  }
}
