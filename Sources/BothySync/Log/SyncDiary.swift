import BothyStore
import Logging
import Synchronization

/// Notes in the file how syncs ended. A sync that moves something is noted in the transactions that move it; one that
/// fails, in one small transaction of its own. Fails nobody.
final class SyncDiary: Sendable {
  /// Repetitions of a row that are not in the file yet.
  fileprivate struct Uncounted {
    var row: SyncRun
    var times: Int
    var last: SyncRun
  }

  private let store: Store
  private let logger: Logger
  fileprivate let uncounted = Mutex<Uncounted?>(nil)

  init(_ store: Store, logger: Logger) {
    self.store = store
    self.logger = logger
  }

  /// Returns when the sync is noted, if it is. A log that can't be written is told of to the logger alone.
  ///
  /// - Parameter row: what was noted of the sync while it ran.
  func note(_ run: SyncRun, after row: Row? = nil) async {
    if let row {
      guard !row.says(run) else { return }
      return await Task {
        do {
          try await store.write(origin: .remote) { try SyncLog.update(row.number, to: run, in: $0) }
        } catch { logger.notice("How a sync ended was not noted.", metadata: ["error": "\(error)"]) }
      }.value
    }
    guard SyncLogRule.mayMatter(run) else { return }
    // A task of its own: of a sync whose task was cancelled something is kept too.
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

  private func countLater(_ run: SyncRun, _ row: SyncRun) {
    uncounted.withLock { uncounted in
      let times = uncounted?.row.id == row.id ? uncounted?.times ?? 0 : 0
      uncounted = Uncounted(row: row, times: times + 1, last: run)
    }
  }

  /// What was not counted yet goes into the same transaction; when that fails it waits for the next.
  private func keep(_ run: SyncRun) async throws {
    let open = uncounted.withLock { uncounted in
      defer { uncounted = nil }
      return uncounted
    }
    do { try await write(run, open) } catch {
      uncounted.withLock { if $0 == nil { $0 = open } }
      throw error
    }
  }

  private func write(_ run: SyncRun, _ open: Uncounted?) async throws {
    try await store.write(origin: .remote) { transaction in
      // Another process may have noted one since.
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

extension SyncDiary {
  /// A row that stands for a sync that is running.
  struct Row: Sendable {
    var number: Int64
    var run: SyncRun
    /// The repetitions of an older row that were counted with it.
    fileprivate var counted: Uncounted?

    /// Whether it says all that there is to say of the sync; when it ended may differ by what makes no commit.
    fileprivate func says(_ other: SyncRun) -> Bool {
      var run = run
      run.ended = other.ended
      run.id = other.id
      return run == other
    }
  }

  /// A sync that is running: its row of the log, once there is one.
  final class Running: Sendable {
    private let diary: SyncDiary
    let began: Int64
    private let process: Int32
    private let state = Mutex<(row: Row?, before: SyncReport)>((nil, SyncReport()))

    init(_ diary: SyncDiary, began: Int64, process: Int32) {
      (self.diary, self.began, self.process) = (diary, began, process)
    }

    var row: Row? { state.withLock { $0.row } }

    /// What earlier passes of the same sync did.
    func goOn(after report: SyncReport) { state.withLock { $0.before = report } }

    fileprivate func run(_ counts: [SyncReport], at time: Int64) -> SyncRun {
      var run = SyncRun(began: began, ended: time, process: process)
      for report in counts + [state.withLock { $0.before }] {
        run.pushed += report.pushed
        run.pulled += report.pulled
        run.uploadedBlobs += report.uploadedBlobs
        run.refused += report.failures.count
        run.requests += report.requests
      }
      return run
    }

    fileprivate func write(_ run: SyncRun, in transaction: WriteTransaction) throws -> Row {
      if var row {
        try SyncLog.update(row.number, to: run, in: transaction)
        row.run = run
        return row
      }
      let open = diary.uncounted.withLock { $0 }
      if let open { try SyncLog.count(open.times, upTo: open.last, in: open.row, transaction) }
      return Row(number: try SyncLog.append(run, in: transaction), run: run, counted: open)
    }

    fileprivate func confirm(_ row: Row) {
      state.withLock { $0.row = row }
      guard let counted = row.counted else { return }
      diary.uncounted.withLock { open in
        if open?.row.id == counted.row.id, open?.times == counted.times { open = nil }
      }
    }
  }

  /// What a running sync has done before an exchange.
  struct Progress: Sendable {
    private let running: Running
    private let report: SyncReport

    init?(_ running: Running?, _ report: SyncReport) {
      guard let running else { return nil }
      (self.running, self.report) = (running, report)
    }

    /// Notes what the exchange added, if the sync has moved anything. Counts once `confirm` is told of the row.
    func note(_ step: SyncReport, at time: Int64, in transaction: WriteTransaction) throws -> Row? {
      let run = running.run([report, step], at: time)
      return run.movedSomething ? try running.write(run, in: transaction) : nil
    }

    /// The transaction is durable.
    func confirm(_ row: Row) { running.confirm(row) }
  }
}
