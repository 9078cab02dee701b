package import GRDB
internal import GRDBSQLite

/// A check, run at intervals, if a statement may continue.
private final class StepWatch {
  let isOver: () -> Bool

  init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }
}

extension Database {
  /// Limits every value and row of this connection to `bytes`. A longer one throws `SQLITE_TOOBIG` before its bytes
  /// exist. For files from other sources.
  package func limitLength(_ bytes: Int) {
    sqlite3_limit(sqliteConnection, SQLITE_LIMIT_LENGTH, Int32(clamping: bytes))
  }

  /// Runs `body`, and interrupts its statements when `isOver` returns true. They then throw `SQLITE_INTERRUPT`.
  /// `isOver` is called every few thousandths of a second while a statement runs, and not between statements.
  package func interrupted<Result>(
    when isOver: @escaping () -> Bool, _ body: () throws -> Result
  ) rethrows -> Result {
    let watch = Unmanaged.passRetained(StepWatch(isOver))
    sqlite3_progress_handler(
      sqliteConnection, 1000,
      { context in
        guard let context else { return 0 }
        return Unmanaged<StepWatch>.fromOpaque(context).takeUnretainedValue().isOver() ? 1 : 0
      }, watch.toOpaque())
    defer {
      sqlite3_progress_handler(sqliteConnection, 0, nil, nil)
      watch.release()
    }
    return try body()
  }
}
