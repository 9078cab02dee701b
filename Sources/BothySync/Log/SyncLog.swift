import BothyStore
import GRDB

/// The table of past syncs, newest last. It has a few hundred rows, written inside other transactions.
enum SyncLog {
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
    let select = try PreparedStatement(
      """
      SELECT number, began, ended, process, pushed, pulled, uploaded, refused, requests, problem, code, message, times
      FROM bothy_sync_log ORDER BY number DESC LIMIT ?
      """, in: transaction.database)
    select.bind(Int64(max(0, limit)), at: 1)
    defer { select.reset() }
    var runs: [StoreMaintenance.SyncRun] = []
    while try select.step() { runs.append(run(select)) }
    return runs
  }

  static func last(in transaction: ReadTransaction) throws -> StoreMaintenance.SyncRun? {
    try runs(limit: 1, in: transaction).first
  }

  private static func run(_ row: PreparedStatement) -> StoreMaintenance.SyncRun {
    StoreMaintenance.SyncRun(
      id: row.int(at: 0), began: row.int(at: 1), ended: row.int(at: 2),
      process: Int32(truncatingIfNeeded: row.int(at: 3)), pushed: Int(row.int(at: 4)),
      pulled: Int(row.int(at: 5)), uploadedBlobs: Int(row.int(at: 6)), refused: Int(row.int(at: 7)),
      requests: Int(row.int(at: 8)),
      problem: row.text(at: 9).map {
        SyncStop(word: $0, code: row.text(at: 10), message: row.text(at: 11) ?? "")
      },
      count: Int(row.int(at: 12)))
  }

  /// Adds a row, and deletes the oldest of its kind beyond the limit. Returns the row's number.
  @discardableResult
  static func append(_ run: StoreMaintenance.SyncRun, in transaction: WriteTransaction) throws -> Int64 {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_sync_log (began, ended, process, pushed, pulled, uploaded, refused, requests, problem,
        code, message, times) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, in: transaction.database)
    let numbers = [
      run.began, run.ended, Int64(run.process), Int64(run.pushed), Int64(run.pulled),
      Int64(run.uploadedBlobs), Int64(run.refused), Int64(run.requests),
    ]
    for (index, number) in numbers.enumerated() { insert.bind(number, at: Int32(index + 1)) }
    insert.bind(run.problem?.logWord, at: 9)
    insert.bind(run.problem?.logCode, at: 10)
    insert.bind(run.problem?.logMessage, at: 11)
    insert.bind(Int64(run.count), at: 12)
    try insert.run()
    let number = transaction.database.lastInsertedRowID
    let trim = try PreparedStatement(
      """
      DELETE FROM bothy_sync_log WHERE number IN (
        SELECT number FROM bothy_sync_log WHERE (problem IS NULL) = ?1 ORDER BY number DESC LIMIT -1 OFFSET ?2)
      """, in: transaction.database)
    trim.bind(run.problem == nil ? 1 : 0, at: 1)
    trim.bind(Int64(limit), at: 2)
    try trim.run()
    return number
  }

  /// Updates a row to the present results of its sync.
  static func update(_ number: Int64, to run: StoreMaintenance.SyncRun, in transaction: WriteTransaction)
    throws
  {
    let update = try PreparedStatement(
      """
      UPDATE bothy_sync_log SET ended = ?2, pushed = ?3, pulled = ?4, uploaded = ?5, refused = ?6, requests = ?7,
        problem = ?8, code = ?9, message = ?10 WHERE number = ?1 AND began = ?11
      """, in: transaction.database)
    let numbers = [
      number, run.ended, Int64(run.pushed), Int64(run.pulled), Int64(run.uploadedBlobs), Int64(run.refused),
      Int64(run.requests),
    ]
    for (index, number) in numbers.enumerated() { update.bind(number, at: Int32(index + 1)) }
    update.bind(run.problem?.logWord, at: 8)
    update.bind(run.problem?.logCode, at: 9)
    update.bind(run.problem?.logMessage, at: 10)
    update.bind(run.began, at: 11)
    try update.run()
  }

  /// Counts more syncs in a row, up to one that ended like `run`. Does nothing if the row was deleted.
  static func count(
    _ more: Int, upTo run: StoreMaintenance.SyncRun, in row: StoreMaintenance.SyncRun,
    _ transaction: WriteTransaction
  ) throws {
    let update = try PreparedStatement(
      """
      UPDATE bothy_sync_log SET times = times + ?2, ended = ?3, process = ?4, requests = ?5, message = ?6
      WHERE number = ?1 AND began = ?7
      """, in: transaction.database)
    update.bind(row.id, at: 1)
    update.bind(Int64(more), at: 2)
    update.bind(run.ended, at: 3)
    update.bind(Int64(run.process), at: 4)
    update.bind(Int64(run.requests), at: 5)
    update.bind(run.problem?.logMessage, at: 6)
    update.bind(row.began, at: 7)
    try update.run()
  }

  static func clear(in transaction: WriteTransaction) throws {
    try PreparedStatement("DELETE FROM bothy_sync_log", in: transaction.database).run()
  }
}

/// The form of a reason in the log: a name, the server's code and a text.
extension SyncStop {
  init(word: String, code: String?, message: String) {
    self =
      switch word {
      case "unreachable": .unreachable(message)
      case "signInRequired", "authenticationRequired": .signInRequired(message)
      case "throttled": .throttled(message)
      case "serverError": .serverError(message)
      case "alreadyRunning": .alreadyRunning
      case "paused": .paused
      case "expensiveNetwork": .expensiveNetwork
      case "constrainedNetwork": .constrainedNetwork
      case "lowPower": .lowPower
      case "updateRequired": .updateRequired(message)
      case "otherServer": .otherServer(message)
      case "signedOut": .signedOut
      case "cancelled": .cancelled
      default: .refused(code: code ?? word, message)
      }
  }

  fileprivate var logWord: String { if case .refused = self { "refused" } else { name } }

  fileprivate var logCode: String? { if case .refused(let code, _) = self { code } else { nil } }

  fileprivate var logMessage: String? { detail.map(Self.withoutSecrets) }

  /// The text of the reason.
  private var detail: String? {
    switch self {
    case .unreachable(let text), .signInRequired(let text), .throttled(let text),
      .serverError(let text), .refused(_, let text), .updateRequired(let text),
      .otherServer(let text):
      text
    case .alreadyRunning, .paused, .expensiveNetwork, .constrainedNetwork, .lowPower, .signedOut, .cancelled:
      nil
    }
  }

  /// Returns one line of at most 300 characters, without tokens, and without the user, password and query of an
  /// address.
  static func withoutSecrets(_ text: String) -> String {
    let line = text.replacing(/\s+/, with: " ")
      .replacing(/:\/\/[^\/\s@]*@/, with: "://")
      .replacing(/(https?:\/\/[^\s?]*)\?[^\s]*/) { $0.1 }
      .replacing(/(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+\/=\-]+/) { "\($0.1) …" }
    return line.count <= 300 ? line : line.prefix(299) + "…"
  }
}
