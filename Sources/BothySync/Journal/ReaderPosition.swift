import BothyStore

/// The position of a named reader of reports. It is kept in the file, so that the reader continues there after a
/// relaunch.
struct ReaderPosition {
  let name: String
  let store: LocalStore
  /// The number of the journal's newest entry when the store was opened. A new reader begins there.
  let opened: Int64
  private var kept: Int64?
  private var reached: Int64?

  init(name: String, store: LocalStore, opened: Int64) {
    self.name = name
    self.store = store
    self.opened = opened
  }

  private var key: String { "reader:" + name }

  /// Returns a report of the decisions between the reader's position and the opening of the store, or this moment.
  /// Returns `nil` if it has nothing to report.
  mutating func catchUp(toNow: Bool) async -> SyncReport? {
    let (key, opened) = (key, opened)
    // If the position can't be read, the first report reads it.
    let found = try? await store.read { transaction in
      let kept = try SyncValues.value(key, in: transaction).flatMap { Int64($0) }
      return (kept, try toNow ? Journal.end(in: transaction) : opened)
    }
    guard let (kept, end) = found else { return nil }
    self.kept = kept
    let begin = kept ?? opened
    reached = max(begin, end)
    guard begin < end else { return nil }
    let report = await told(after: begin, upTo: end)
    return report.synced.isEmpty && report.failures.isEmpty ? nil : report
  }

  /// Returns a report with the other decisions up to it, and without those that were reported before.
  mutating func completed(_ told: ToldReport) async -> SyncReport {
    var report = told.report
    guard let end = told.decided, let reached else { return report }
    guard end > reached else {
      report.synced = []
      report.failures = []
      report.overwritten = []
      return report
    }
    let known = await self.told(after: reached, upTo: end)
    let (synced, failures) = (Set(report.synced), Set(report.failures.map(Refusal.init)))
    report.synced = known.synced.filter { !synced.contains($0) } + report.synced
    report.failures = known.failures.filter { !failures.contains(Refusal($0)) } + report.failures
    self.reached = end
    return report
  }

  /// A key that is equal for two reports of one rejection.
  private struct Refusal: Hashable {
    var record: RecordID
    var revision: Int64
    var code: String

    init(_ failure: SyncReport.Failure) {
      record = failure.record
      revision = failure.revision
      code = failure.code
    }
  }

  private func told(after: Int64, upTo end: Int64) async -> SyncReport {
    // If the journal can't be read, the report has only its own content.
    let report = try? await store.read { transaction in
      var report = SyncReport()
      var last = after
      while true {
        let entries = try Journal.entries(
          where: "number > ? AND number <= ? ORDER BY number", [last, end], limit: 500,
          in: transaction)
        for entry in entries { try report.add(entry, in: transaction) }
        guard let next = entries.last?.number else { return report }
        last = next
      }
    }
    return report ?? SyncReport()
  }

  /// Stores the reader's position in the file. Makes no commit if it hasn't changed.
  mutating func keep() async {
    guard let reached, reached != kept else { return }
    let (key, store) = (key, store)
    // A task of its own, so that the position is stored even if the reader was cancelled meanwhile.
    let keeping = Task {
      try await store.write(origin: .remote) { try SyncValues.set(key, String(reached), in: $0) }
    }
    // If that fails, the decisions are reported again after a relaunch.
    if case .success = await keeping.result { kept = reached }
  }
}

extension SyncReport {
  /// Adds the journal's content about one decision, as far as callbacks receive it.
  fileprivate mutating func add(_ entry: JournalEntry, in transaction: ReadTransaction) throws {
    if let action = entry.action { note(entry.record, action) }
    guard case .rejected(let reason) = entry.outcome, [.refused, .rejectionPolicy].contains(entry.cause)
    else {
      return
    }
    let pending = try OutboxQueue.entry(entry.record, in: transaction)
    let isOpen = !entry.isFinal && pending?.revision == entry.revision
    failures.append(
      SyncReport.Failure(
        record: entry.record, operation: entry.change, rejection: reason, attempts: max(1, entry.attempts),
        nextRetry: isOpen ? entry.retryAt : nil, revision: entry.revision ?? 0,
        local: try isOpen ? OutboxQueue.localContent(of: entry.record, in: transaction) : entry.lost))
  }
}

extension JournalEntry {
  /// The action of a sync on the record, or `nil` if the decision was made outside a sync or isn't final.
  fileprivate var action: SyncReport.Record.Action? {
    guard isFinal, outcome != .withdrawn else { return nil }
    switch (cause, outcome) {
    case (.online, .rejected): return nil
    case (.online, .overwritten): return isGone ? .removedFromCache : .updatedCache
    case (.acknowledged, _), (.online, _):
      switch change {
      case .insert: return .insertedOnServer
      case .update: return .updatedOnServer
      case .delete: return .deletedFromServer
      }
    case (.agreed, _): return change == .delete ? .alreadyDeleted : .updatedCache
    case (.merge, _), (.atomic, _): return isGone ? .removedFromCache : .updatedCache
    default: return nil
    }
  }
}
