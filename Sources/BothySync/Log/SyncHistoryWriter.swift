import BothyStore
import Logging
import Synchronization

/// Notes in the file how syncs ended. A sync with changes is noted in the transactions of these, and a failed one in a
/// small transaction of its own. Errors of the log don't affect callers.
final class SyncHistoryWriter: Sendable {
  /// The repetitions of a row that are not in the file yet.
  fileprivate struct Uncounted {
    var row: StoreMaintenance.SyncRun
    var times: Int
    var last: StoreMaintenance.SyncRun
  }

  private let store: LocalStore
  private let logger: Logger
  fileprivate let uncounted = Mutex<Uncounted?>(nil)

  init(_ store: LocalStore, logger: Logger) {
    self.store = store
    self.logger = logger
  }

  /// Returns when the sync is noted, if it is. If the log can't be written, only the logger reports it.
  ///
  /// - Parameter row: the row that the sync wrote while it ran.
  func note(_ run: StoreMaintenance.SyncRun, after row: Row? = nil) async {
    if let row {
      guard !row.says(run) else { return }
      return await Task {
        do {
          try await store.write(origin: .remote) { try SyncLog.update(row.number, to: run, in: $0) }
        } catch { logger.notice("How a sync ended was not noted.", metadata: ["error": "\(error)"]) }
      }.value
    }
    guard SyncLogRule.mayMatter(run) else { return }
    // It has a task of its own, so that a sync whose task was cancelled is noted too.
    await Task {
      do {
        let last = try await store.read { try SyncLog.last(in: $0) }
        switch SyncLogRule.verdict(on: run, after: last) {
        case .nothing: return
        case .countLater: if let last { countLater(run, last) }
        case .count, .row: try await keep(run)
        }
      } catch { logger.notice("How a sync ended was not noted.", metadata: ["error": "\(error)"]) }
    }.value
  }

  private func countLater(_ run: StoreMaintenance.SyncRun, _ row: StoreMaintenance.SyncRun) {
    uncounted.withLock { uncounted in
      let times = uncounted?.row.id == row.id ? uncounted?.times ?? 0 : 0
      uncounted = Uncounted(row: row, times: times + 1, last: run)
    }
  }

  /// Writes the sync, together with repetitions that were not counted yet. If that fails, those wait for the next sync.
  private func keep(_ run: StoreMaintenance.SyncRun) async throws {
    let open = uncounted.withLock { uncounted in
      defer { uncounted = nil }
      return uncounted
    }
    do { try await write(run, open) } catch {
      uncounted.withLock { if $0 == nil { $0 = open } }
      throw error
    }
  }

  private func write(_ run: StoreMaintenance.SyncRun, _ open: Uncounted?) async throws {
    try await store.write(origin: .remote) { transaction in
      // Another process may have noted a sync meanwhile.
      let last = try SyncLog.last(in: transaction)
      if let open { try SyncLog.count(open.times, upTo: open.last, in: open.row, transaction) }
      switch SyncLogRule.verdict(on: run, after: last) {
      case .nothing: return
      case .countLater, .count: if let last { try SyncLog.count(1, upTo: run, in: last, transaction) }
      case .row: try SyncLog.append(run, in: transaction)
      }
    }
  }
}

extension SyncHistoryWriter {
  /// A row of a sync that is running.
  struct Row: Sendable {
    var number: Int64
    var run: StoreMaintenance.SyncRun
    /// The repetitions of an older row that were counted with it.
    fileprivate var counted: Uncounted?

    /// Returns true if the row agrees with the sync. Its end may differ by exchanges without a commit.
    fileprivate func says(_ other: StoreMaintenance.SyncRun) -> Bool {
      var run = run
      run.ended = other.ended
      run.id = other.id
      return run == other
    }
  }

  /// A running sync and its row of the log, if it has one.
  final class Running: Sendable {
    private let diary: SyncHistoryWriter
    let began: Int64
    private let process: Int32
    private let state = Mutex<(row: Row?, before: SyncReport)>((nil, SyncReport()))

    init(_ diary: SyncHistoryWriter, began: Int64, process: Int32) {
      (self.diary, self.began, self.process) = (diary, began, process)
    }

    var row: Row? { state.withLock { $0.row } }

    /// Notes the report of earlier rounds of the sync.
    func goOn(after report: SyncReport) { state.withLock { $0.before = report } }

    private func run(_ counts: [SyncReport], at time: Int64) -> StoreMaintenance.SyncRun {
      var run = StoreMaintenance.SyncRun(began: began, ended: time, process: process)
      for report in counts + [state.withLock { $0.before }] {
        run.pushed += report.pushed
        run.pulled += report.pulled
        run.uploadedBlobs += report.uploadedBlobs
        run.refused += report.failures.count
        run.requests += report.requests
      }
      return run
    }

    private func write(_ run: StoreMaintenance.SyncRun, in transaction: WriteTransaction) throws -> Row {
      if var row {
        try SyncLog.update(row.number, to: run, in: transaction)
        row.run = run
        return row
      }
      let open = diary.uncounted.withLock { $0 }
      if let open { try SyncLog.count(open.times, upTo: open.last, in: open.row, transaction) }
      return Row(number: try SyncLog.append(run, in: transaction), run: run, counted: open)
    }

    /// Notes the results of an exchange and of those before it, if the sync has changed anything. It counts after
    /// `confirm` is called for the row, once the transaction is durable.
    func note(_ reports: [SyncReport], at time: Int64, in transaction: WriteTransaction) throws -> Row? {
      let run = run(reports, at: time)
      return run.movedSomething ? try write(run, in: transaction) : nil
    }

    func confirm(_ row: Row) {
      state.withLock { $0.row = row }
      guard let counted = row.counted else { return }
      diary.uncounted.withLock { open in
        if open?.row.id == counted.row.id, open?.times == counted.times { open = nil }
      }
    }
  }

}
