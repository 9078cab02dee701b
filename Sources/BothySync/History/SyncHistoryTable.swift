import BothyStore
import GRDB
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
          try await store.write(origin: .remote) { try SyncHistoryTable.update(row.number, to: run, in: $0) }
        } catch { logger.notice("How a sync ended was not noted.", metadata: ["error": "\(error)"]) }
      }.value
    }
    guard SyncHistoryRule.mayMatter(run) else { return }
    // It has a task of its own, so that a sync whose task was cancelled is noted too.
    await Task {
      do {
        let last = try await store.read { try SyncHistoryTable.last(in: $0) }
        switch SyncHistoryRule.verdict(on: run, after: last) {
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
      let last = try SyncHistoryTable.last(in: transaction)
      if let open { try SyncHistoryTable.count(open.times, upTo: open.last, in: open.row, transaction) }
      switch SyncHistoryRule.verdict(on: run, after: last) {
      case .nothing: return
      case .countLater, .count:
        if let last { try SyncHistoryTable.count(1, upTo: run, in: last, transaction) }
      case .row: try SyncHistoryTable.append(run, in: transaction)
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
    private let history: SyncHistoryWriter
    let began: Int64
    private let process: Int32
    private let state = Mutex<(row: Row?, before: SyncReport)>((nil, SyncReport()))

    init(_ history: SyncHistoryWriter, began: Int64, process: Int32) {
      (self.history, self.began, self.process) = (history, began, process)
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
        run.rejected += report.rejected.count
        run.requests += report.requests
      }
      return run
    }

    private func write(_ run: StoreMaintenance.SyncRun, in transaction: WriteTransaction) throws -> Row {
      if var row {
        try SyncHistoryTable.update(row.number, to: run, in: transaction)
        row.run = run
        return row
      }
      let open = history.uncounted.withLock { $0 }
      if let open { try SyncHistoryTable.count(open.times, upTo: open.last, in: open.row, transaction) }
      return Row(number: try SyncHistoryTable.append(run, in: transaction), run: run, counted: open)
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
      history.uncounted.withLock { open in
        if open?.row.id == counted.row.id, open?.times == counted.times { open = nil }
      }
    }
  }
}

/// Decides how the log of syncs keeps a sync that has ended, given the last noted one. Pure: it reads and writes
/// nothing.
///
/// | the sync                                                    | kept                                          |
/// |-------------------------------------------------------------|-----------------------------------------------|
/// | was left out, or stopped by signing out                     | nothing                                       |
/// | was cancelled within ten seconds, nothing done              | nothing                                       |
/// | moved something                                             | a row                                         |
/// | moved and rejected nothing, and the last ended well         | nothing                                       |
/// | ended as the last did, neither having moved anything        | a count: at once, or later within the minute  |
/// | ended in another way                                        | a row                                         |
package enum SyncHistoryRule {
  package enum Verdict: Sendable, Equatable {
    /// Nothing is written, now or later.
    case nothing
    /// The last row counts this sync too. It was written a moment ago, so the count waits in memory until the next
    /// write.
    case countLater
    /// The last row counts this sync too.
    case count
    case row
  }

  /// The shortest time between two counts of equal failures in their row, in milliseconds.
  package static let interval: Int64 = 60_000
  /// The time within which the app cancelled the sync by choice, if it did nothing before, in milliseconds.
  package static let patience: Int64 = 10_000

  package static func verdict(on run: StoreMaintenance.SyncRun, after last: StoreMaintenance.SyncRun?)
    -> Verdict
  {
    if !mayMatter(run) { return .nothing }
    guard !run.movedSomething, let last else { return .row }
    if run.problem == nil && run.rejected == 0 && last.problem == nil { return .nothing }
    guard run.repeats(last) else { return .row }
    // A clock that was set back makes the difference negative. Then the row is due too.
    return (0..<interval).contains(run.ended - last.ended) ? .countLater : .count
  }

  /// Returns true if the sync may be noted, whatever was noted last.
  package static func mayMatter(_ run: StoreMaintenance.SyncRun) -> Bool {
    switch run.problem {
    case .alreadyRunning, .signedOut: false
    case .cancelled:
      run.movedSomething || run.rejected > 0 || run.requests > 0 || run.ended - run.began >= patience
    default: true
    }
  }
}

/// The table of past syncs, newest last. It has a few hundred rows, written inside other transactions.
enum SyncHistoryTable {
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_sync_log (
      number INTEGER PRIMARY KEY, began INTEGER NOT NULL, ended INTEGER NOT NULL, process INTEGER NOT NULL,
      pushed INTEGER NOT NULL, pulled INTEGER NOT NULL, uploaded INTEGER NOT NULL, refused INTEGER NOT NULL,
      requests INTEGER NOT NULL, problem TEXT, code TEXT, message TEXT, times INTEGER NOT NULL) STRICT
    """
  /// The number of kept syncs that ended well, and of those that did not. Neither kind displaces the other.
  static let limit = 150

  /// Returns the last `limit` syncs, newest first.
  static func runs(limit: Int, in transaction: ReadTransaction) throws -> [StoreMaintenance.SyncRun] {
    try transaction.rows(
      """
      SELECT number, began, ended, process, pushed, pulled, uploaded, refused, requests, problem, code, message, times
      FROM bothy_sync_log ORDER BY number DESC LIMIT ?
      """, max(0, limit), read: run)
  }

  static func last(in transaction: ReadTransaction) throws -> StoreMaintenance.SyncRun? {
    try runs(limit: 1, in: transaction).first
  }

  private static func run(_ row: PreparedStatement) -> StoreMaintenance.SyncRun {
    StoreMaintenance.SyncRun(
      id: row.int(at: 0), began: row.int(at: 1), ended: row.int(at: 2),
      process: Int32(truncatingIfNeeded: row.int(at: 3)), pushed: Int(row.int(at: 4)),
      pulled: Int(row.int(at: 5)), uploadedBlobs: Int(row.int(at: 6)), rejected: Int(row.int(at: 7)),
      requests: Int(row.int(at: 8)),
      problem: row.text(at: 9).map {
        SyncStop(word: $0, code: row.text(at: 10), message: row.text(at: 11) ?? "")
      },
      count: Int(row.int(at: 12)))
  }

  /// Adds a row, and deletes the oldest of its kind beyond the limit. Returns the row's number.
  @discardableResult
  static func append(_ run: StoreMaintenance.SyncRun, in transaction: WriteTransaction) throws -> Int64 {
    try transaction.run(
      """
      INSERT INTO bothy_sync_log (began, ended, process, pushed, pulled, uploaded, refused, requests, problem,
        code, message, times) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, run.began, run.ended, Int(run.process), run.pushed, run.pulled, run.uploadedBlobs, run.rejected,
      run.requests, run.problem?.logWord, run.problem?.logCode, run.problem?.logMessage, run.count)
    let number = transaction.database.lastInsertedRowID
    try transaction.run(
      """
      DELETE FROM bothy_sync_log WHERE number IN (
        SELECT number FROM bothy_sync_log WHERE (problem IS NULL) = ?1 ORDER BY number DESC LIMIT -1 OFFSET ?2)
      """, run.problem == nil, limit)
    return number
  }

  /// Updates a row to the present results of its sync.
  static func update(_ number: Int64, to run: StoreMaintenance.SyncRun, in transaction: WriteTransaction)
    throws
  {
    try transaction.run(
      """
      UPDATE bothy_sync_log SET ended = ?2, pushed = ?3, pulled = ?4, uploaded = ?5, refused = ?6, requests = ?7,
        problem = ?8, code = ?9, message = ?10 WHERE number = ?1 AND began = ?11
      """, number, run.ended, run.pushed, run.pulled, run.uploadedBlobs, run.rejected, run.requests,
      run.problem?.logWord, run.problem?.logCode, run.problem?.logMessage, run.began)
  }

  /// Counts more syncs in a row, up to one that ended like `run`. Does nothing if the row was deleted.
  static func count(
    _ more: Int, upTo run: StoreMaintenance.SyncRun, in row: StoreMaintenance.SyncRun,
    _ transaction: WriteTransaction
  ) throws {
    try transaction.run(
      """
      UPDATE bothy_sync_log SET times = times + ?2, ended = ?3, process = ?4, requests = ?5, message = ?6
      WHERE number = ?1 AND began = ?7
      """, row.id, more, run.ended, Int(run.process), run.requests, run.problem?.logMessage, row.began)
  }

  static func clear(in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_sync_log")
  }
}

extension StoreMaintenance {
  /// One past sync in the file, or several in a row that changed nothing and ended alike.
  package struct SyncRun: Sendable, Hashable {
    /// The sync's place in the order in which syncs of this file were noted. It rises.
    package var id: Int64
    /// The begin of the sync, or of the first of several, in milliseconds since 1970 by the device's clock.
    package var began: Int64
    /// The end of the sync, or of the last of several.
    package var ended: Int64
    /// The process that ran the sync, or the last of several.
    package var process: Int32
    /// The number of operations that the server acknowledged.
    package var pushed: Int
    /// The number of changes of others that were applied here.
    package var pulled: Int
    /// The number of blobs that the server has since.
    package var uploadedBlobs: Int
    /// The number of changes that the server rejected or that could not be merged. `outbox.rejected()` has those that are
    /// still pending, with the reasons.
    package var rejected: Int
    /// The number of round trips, those for blobs included; of the last sync if there are several.
    package var requests: Int
    /// The reason why the sync did not run, or not to its end; `nil` if it did. Its text is shortened and has no
    /// credentials.
    package var problem: SyncStop?
    /// The number of syncs in a row that this one counts. Those within a minute of a counted one are added with the next
    /// note of their process, and not at all if the process ends before.
    package var count: Int

    /// The reason why the sync did not run, or not to its end; `nil` if it did.
    package var obstacle: SyncObstacle? { problem?.obstacle }
    /// The obstacle as a sentence for people, without credentials; `nil` if the sync ran to its end.
    package var message: String? { problem?.sentence }

    /// Makes a past sync, for the log, tests and previews.
    package init(
      id: Int64 = 0, began: Int64, ended: Int64, process: Int32 = 0, pushed: Int = 0, pulled: Int = 0,
      uploadedBlobs: Int = 0, rejected: Int = 0, requests: Int = 0, problem: SyncStop? = nil, count: Int = 1
    ) {
      self.id = id
      self.began = began
      self.ended = ended
      self.process = process
      self.pushed = pushed
      self.pulled = pulled
      self.uploadedBlobs = uploadedBlobs
      self.rejected = rejected
      self.requests = requests
      self.problem = problem
      self.count = count
    }

    init(_ report: SyncReport, began: Int64, ended: Int64, process: Int32) {
      self.init(
        began: began, ended: ended, process: process, pushed: report.pushed, pulled: report.pulled,
        uploadedBlobs: report.uploadedBlobs, rejected: report.rejected.count, requests: report.requests,
        problem: report.stop)
    }

    /// True if the sync sent or received anything.
    var movedSomething: Bool { pushed + pulled + uploadedBlobs > 0 }

    /// Returns true if it ended like another one and both changed nothing.
    func repeats(_ other: StoreMaintenance.SyncRun) -> Bool {
      !movedSomething && !other.movedSomething && rejected == other.rejected
        && problem?.name == other.problem?.name
    }
  }
}
