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
    try transaction.run(
      """
      INSERT INTO bothy_sync_log (began, ended, process, pushed, pulled, uploaded, refused, requests, problem,
        code, message, times) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, run.began, run.ended, Int(run.process), run.pushed, run.pulled, run.uploadedBlobs, run.refused,
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
      """, number, run.ended, run.pushed, run.pulled, run.uploadedBlobs, run.refused, run.requests,
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

  fileprivate var logMessage: String? { words.map(Self.withoutSecrets) }

  /// The server's words, or `nil` for a reason without any.
  var words: String? {
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
