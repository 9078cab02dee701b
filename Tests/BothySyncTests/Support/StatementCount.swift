import BothyStore
import GRDB
import Synchronization

/// Counts the statements that SQLite runs on the connections of a store, by SQLite's own trace.
final class StatementCount: Sendable {
  private let seen = Mutex<[String]>([])

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
    }
  }

  func forget() { seen.withLock { $0 = [] } }

  /// The number of statements since then.
  var total: Int { seen.withLock { $0.count } }

  /// The text of the statements, for a test that fails.
  var list: String { seen.withLock { $0.joined(separator: "\n") } }
}
