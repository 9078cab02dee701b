import GRDB
internal import GRDBSQLite
import Synchronization

/// The number of the commit that is ending, taken when readers begin to see it.
///
/// From time to time SQLite then copies the log to the file, and the commit ends after that. A value that is read
/// meanwhile shows the commit, and must not count as older.
final class CommitMoment: Sendable {
  /// The pages of the log from which on SQLite copies it, as by default.
  private static let limit: Int32 = 1000

  private let number = Atomic<Int64>(0)

  /// Follows the commits of a connection, which must not outlive this object.
  func follow(_ database: Database) {
    sqlite3_wal_hook(
      database.sqliteConnection,
      { context, connection, name, pages in
        guard let context else { return SQLITE_OK }
        Unmanaged<CommitMoment>.fromOpaque(context).takeUnretainedValue().note()
        // SQLite's own hook does this, and one connection has one hook.
        if pages >= CommitMoment.limit {
          sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func note() { number.store(Reading.next(), ordering: .relaxed) }

  /// Forgets the number of an earlier commit.
  func begin() { number.store(0, ordering: .relaxed) }

  /// Returns the number of the commit that has just ended on this connection. Without a log its readers wait for its end,
  /// so that the present number is as good.
  func end() -> Int64 {
    let noted = number.load(ordering: .relaxed)
    return noted > 0 ? noted : Reading.next()
  }
}
