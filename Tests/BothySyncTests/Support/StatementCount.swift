import BothyStore
import GRDB
import GRDBSQLite
import Synchronization

/// Counts the statements that SQLite runs on the connections of a store, by SQLite's own trace.
final class StatementCount: Sendable {
  private let seen = Mutex<[String]>([])
  private let beginning: @Sendable (String) -> Void

  /// - Parameter beginning: Called with a statement's text before SQLite runs it.
  init(_ beginning: @escaping @Sendable (String) -> Void = { _ in }) { self.beginning = beginning }

  /// Counts from now on. The store has one reader, so both of its connections are traced.
  func count(in store: LocalStore) throws {
    try store.write(origin: .remote) { trace($0.database) }
    try store.read { trace($0.database) }
  }

  private func trace(_ database: Database) {
    database.trace(options: .statement) { [weak self] event in
      guard case .statement(let statement) = event else { return }
      let sql = statement.sql
      self?.seen.withLock { $0.append(sql) }
      self?.beginning(sql)
    }
  }

  func forget() { seen.withLock { $0 = [] } }

  /// The number of statements since then.
  var total: Int { seen.withLock { $0.count } }

  /// Returns the number of these statements whose text has `part`.
  func number(of part: String) -> Int { seen.withLock { $0.count { $0.contains(part) } } }

  /// The text of the statements, for a test that fails.
  var list: String { seen.withLock { $0.joined(separator: "\n") } }
}

extension StatementCount {
  /// Returns the steps of SQLite's virtual machine since the last call. Counts the statements that a store's writer keeps
  /// and whose text has `part`.
  static func takeSteps(on part: String, of store: LocalStore) throws -> Int {
    try store.write(origin: .remote) { transaction in
      let connection = transaction.database.sqliteConnection
      var (steps, next) = (0, sqlite3_next_stmt(connection, nil))
      while let statement = next {
        if let sql = sqlite3_sql(statement), String(cString: sql).contains(part) {
          steps += Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1))
        }
        next = sqlite3_next_stmt(connection, statement)
      }
      return steps
    }
  }
}
