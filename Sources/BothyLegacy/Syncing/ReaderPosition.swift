import BothyStore
package import BothySync

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
      return (kept, try toNow ? DecisionJournal.lastNumber(in: transaction) : opened)
    }
    guard let (kept, end) = found else { return nil }
    self.kept = kept
    let begin = kept ?? opened
    reached = begin
    // If the journal can't be read now, such as by a cancelled task, the next report has these decisions.
    guard begin < end, let report = await reported(after: begin, upTo: end) else { return nil }
    reached = end
    return report.hasDecisions ? report : nil
  }

  /// Returns a report with the other decisions up to it, and without those that were reported before.
  mutating func completed(_ reported: QueuedReport) async -> SyncReport {
    var report = reported.report
    guard let end = reported.decided, let reached else { return report }
    guard end > reached else {
      report.synced = []
      report.rejected = []
      report.overwritten = []
      return report
    }
    // The next report has the other decisions, and those of this one again.
    guard let known = await self.reported(after: reached, upTo: end) else { return report }
    let (synced, rejected) = (Set(report.synced), Set(report.rejected.map(Refusal.init)))
    let overwritten = Set(report.overwritten)
    report.synced = known.synced.filter { !synced.contains($0) } + report.synced
    report.rejected = known.rejected.filter { !rejected.contains(Refusal($0)) } + report.rejected
    report.overwritten = known.overwritten.filter { !overwritten.contains($0) } + report.overwritten
    self.reached = end
    return report
  }

  /// A key that is equal for two reports of one rejection.
  private struct Refusal: Hashable {
    var record: RecordID
    var revision: Int64
    var code: String

    init(_ change: SyncReport.RejectedChange) {
      record = change.record
      revision = change.revision
      code = change.code
    }
  }

  /// Returns `nil` if the journal can't be read.
  private func reported(after: Int64, upTo end: Int64) async -> SyncReport? {
    try? await store.read { try SyncReport.decided(after: after, upTo: end, in: $0) }
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

extension SyncedStore {
  /// Passes every sync that ends to `deliver`, in order, until the task is cancelled.
  ///
  /// The file stores the position of the reader under its name. The first report has what was decided since, as far as
  /// the journal has it.
  package func tellReports(as name: String, to deliver: (SyncReport) async -> Void) async {
    let (reader, hasWaited) = reportFeed.takeWaiting(name)
    defer { reportFeed.giveBack(reader, name) }
    var position = ReaderPosition(name: name, store: store, opened: reportFeed.decided)
    if let since = await position.catchUp(toNow: !hasWaited) { await deliver(since) }
    await position.keep()
    while let reported = await reader.next() {
      await deliver(await position.completed(reported))
      await position.keep()
    }
  }
}
