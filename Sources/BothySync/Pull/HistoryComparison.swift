import BothyStore

/// What a complete snapshot of another history lacks of what is here. Where it lacks anything that a server had
/// acknowledged it is not shown before somebody has decided; what is pending stays in any case.
struct HistoryComparison {
  private let transaction: WriteTransaction
  private var isOn = false
  private var isShown = false
  private var isCompared = false
  /// Acknowledged records that would go, or go back.
  private var missing: [RecordID] = []
  /// Records with pending work that are sent as new.
  private var resent: [RecordID] = []
  /// Records with pending work that the snapshot tells of.
  private var mentioned: Set<RecordID> = []

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  /// What the server had acknowledged and does not have any more.
  var lost: [RecordID] { missing + resent }

  /// Whether a snapshot is of another history than the one that the file has followed.
  func isOther(_ page: SyncResponse.Page, _ history: ServerHistory?) throws -> Bool {
    let binding = try ServerBinding.load(in: transaction)
    guard !page.isOtherHistory, !binding.isAdopting else { return true }
    guard let known = binding.history else { return false }
    return history.map { !known.isContinued(by: $0) } ?? true
  }

  mutating func begin(isOtherHistory: Bool) {
    isOn = isOtherHistory
    isShown = true
    isCompared = isCompared || isOn
    mentioned = []
  }

  /// Looks at a change of the snapshot before it takes the place of what is here.
  mutating func note(_ change: ServerRecord, _ table: TypeTable) throws {
    guard isOn, try SnapshotReplacement.loses(change, table, in: transaction) else { return }
    missing.append(change.id)
  }

  /// The same for a record with pending work: what was acknowledged of it is its base.
  mutating func note(_ change: ServerRecord, _ entry: OutboxEntry) {
    guard isOn else { return }
    mentioned.insert(change.id)
    guard let base = entry.base, base.version.isNewer(than: change.version),
      change.isDeleted || base.fields != change.fields
    else { return }
    missing.append(change.id)
  }

  /// Ends the snapshot of a scope: what it lacks nobody has deleted, so pending changes of it become inserts, whatever
  /// the merge policy.
  mutating func finish(_ scope: PullScope, gone: [RecordID]) throws {
    guard isOn else { return }
    missing += gone
    for entry in try Outbox.entries(where: "base_version IS NOT NULL AND leaving = 0", in: transaction) {
      guard scope.contains(entry.container ?? entry.record.type), !mentioned.contains(entry.record) else {
        continue
      }
      if entry.kind == .delete {
        try Outbox.remove(entry.record, in: transaction)
      } else {
        try Outbox.reopen(entry.record, base: nil, kind: .insert, in: transaction)
        resent.append(entry.record)
      }
    }
  }

  /// Ends what an answer brought: the file follows its history from now on. Throws `HistoryLoss`, to undo all of it, when
  /// something would be lost that nobody has given up.
  func end(_ history: ServerHistory?) throws {
    guard isShown else { return }
    let isAdopting = try ServerBinding.isAdopting(in: transaction)
    guard missing.isEmpty || isAdopting else { throw HistoryLoss(count: missing.count) }
    if isAdopting || isCompared { try ServerBinding.take(history, in: transaction) }
  }
}

/// A snapshot of another history lacks so many records, or has them as they were before.
struct HistoryLoss: Error { var count: Int }
