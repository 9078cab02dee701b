import BothyStore
import Synchronization

/// Delivers the reports of syncs to all readers, in order, also to a reader that lags behind.
final class ReportFeed: Sendable {
  private struct Weak: Sendable { weak var reader: ReportReader? }

  private struct State {
    var readers: [Weak] = []
    /// The reader for the first callbacks. It reads from the opening of the store, before any callback is set.
    var unclaimed: ReportReader? = ReportReader()
    /// The readers for callbacks that were set and removed, by their names.
    var waiting: [String: ReportReader] = [:]
  }

  private let state = Mutex(State())
  /// The number of the journal's newest entry when the store was opened.
  let decided: Int64

  init(decided: Int64) { self.decided = decided }

  /// Returns a reader of the reports from now on. The feed holds it weakly.
  func reader() -> ReportReader {
    let reader = ReportReader()
    state.withLock { $0.readers.append(Weak(reader: reader)) }
    return reader
  }

  /// - Parameter decided: the number of the journal's newest entry after the report's own, or `nil` if the report has
  ///   none.
  func send(_ report: SyncReport, decided: Int64?) {
    let readers = state.withLock { state in
      state.readers.removeAll { $0.reader == nil }
      return state.readers.compactMap(\.reader) + state.waiting.values + [state.unclaimed].compactMap { $0 }
    }
    for reader in readers { reader.send(QueuedReport(report: report, decided: decided)) }
  }

  /// Returns the reader that has waited for the callbacks of a name, or for the first callbacks. Otherwise returns a
  /// new one.
  func takeWaiting(_ name: String) -> (reader: ReportReader, hasWaited: Bool) {
    let waiting = state.withLock { state -> ReportReader? in
      guard let waiting = state.waiting.removeValue(forKey: name) ?? state.unclaimed else { return nil }
      if waiting === state.unclaimed { state.unclaimed = nil }
      state.readers.append(Weak(reader: waiting))
      return waiting
    }
    return (waiting ?? reader(), waiting != nil)
  }

  /// Has a reader wait for the next callbacks of its name, unless another does.
  func giveBack(_ reader: ReportReader, _ name: String) {
    state.withLock { state in
      guard state.waiting[name] == nil else { return }
      state.waiting[name] = reader
      state.readers.removeAll { $0.reader === reader }
    }
  }
}

/// A report, and the number of the journal's newest entry after the report's own.
struct QueuedReport: Sendable {
  var report: SyncReport
  var decided: Int64?
}

/// The reports that one reader has not taken yet: at most `limit` reports about `weightLimit` records, and always the
/// newest. The next report has the number of older ones that were dropped.
final class ReportReader: Sendable {
  static let limit = 100
  static let weightLimit = 10_000

  private struct State {
    var reports: [QueuedReport] = []
    var weight = 0
    var missed = 0
  }

  private let state = Mutex(State())
  private let bell = Signal()

  func send(_ reported: QueuedReport) {
    state.withLock { state in
      state.reports.append(reported)
      state.weight += reported.report.weight
      while state.reports.count > 1,
        state.reports.count > Self.limit || state.weight > Self.weightLimit
      {
        state.weight -= state.reports.removeFirst().report.weight
        state.missed += 1
      }
    }
    bell.ring()
  }

  /// Returns the oldest report that was not taken. Returns `nil`, and takes nothing, if the task is cancelled.
  func next() async -> QueuedReport? {
    while !Task.isCancelled {
      if let reported = take() { return reported }
      guard await bell.wait() else { return nil }
    }
    return nil
  }

  private func take() -> QueuedReport? {
    state.withLock { state in
      guard !state.reports.isEmpty else { return nil }
      var reported = state.reports.removeFirst()
      state.weight -= reported.report.weight
      reported.report.missed = state.missed
      state.missed = 0
      return reported
    }
  }
}

extension SyncReport {
  /// True if the journal may have entries for the report.
  var hasDecisions: Bool { pushed > 0 || !(synced.isEmpty && rejected.isEmpty && overwritten.isEmpty) }

  /// The number of records in the report.
  fileprivate var weight: Int {
    synced.count + rejected.count + overwritten.count + blocked.count + leaving.count
  }
}

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
    let report = await reported(after: begin, upTo: end)
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
    let known = await self.reported(after: reached, upTo: end)
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

  private func reported(after: Int64, upTo end: Int64) async -> SyncReport {
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

extension SyncedStore {
  /// Passes every sync that ends to `deliver`, in order, until the task is cancelled.
  ///
  /// The file stores the position of the reader under its name. The first report has what was decided since, as far as
  /// the journal has it.
  package func tellReports(as name: String, to deliver: (SyncReport) async -> Void) async {
    let (reader, hasWaited) = engine.reports.takeWaiting(name)
    defer { engine.reports.giveBack(reader, name) }
    var position = ReaderPosition(name: name, store: store, opened: engine.reports.decided)
    if let since = await position.catchUp(toNow: !hasWaited) { await deliver(since) }
    await position.keep()
    while let reported = await reader.next() {
      await deliver(await position.completed(reported))
      await position.keep()
    }
  }
}
