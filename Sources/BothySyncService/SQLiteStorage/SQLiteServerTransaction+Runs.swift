import BothyStore
import GRDB

/// Detection of a database that was restored from a backup with an unchanged epoch.
///
/// Each start of a server leaves a gap of positions after earlier changes. A device with changes that the backup lacks
/// is then at a position that the history never had, after any number of later writes. Each start continues at
/// positions of its own, see `ServerRun`. So this also holds for a backup that was made before the start that is lost.
extension SQLiteServerTransaction {
  /// Leaves the gap with the first write after a start, but for a space that begins with it. Each further write costs
  /// one look-up.
  func begin(_ run: ServerRun, inNewSpace isNew: Bool) throws {
    let last = try PreparedStatement(
      "SELECT mark FROM run WHERE space = ? ORDER BY first DESC, mark DESC LIMIT 1", in: database)
    last.bind(space, at: 1)
    defer { last.reset() }
    let isBegun = try last.step() && last.text(at: 0) == run.mark
    guard !isBegun else { return }
    let after = head
    if !isNew { try moveHead(to: run.start(after: after)) }
    let insert = try PreparedStatement("INSERT INTO run VALUES (?, ?, ?, ?)", in: database)
    insert.bind(space, at: 1)
    insert.bind(head, at: 2)
    insert.bind(after, at: 3)
    insert.bind(run.mark, at: 4)
    try insert.run()
  }

  func has(_ position: Int64) throws -> Bool {
    guard position <= head else { return false }
    let gaps = try PreparedStatement(
      "SELECT 1 FROM run WHERE space = ?1 AND first > ?2 AND after < ?2 LIMIT 1", in: database)
    gaps.bind(space, at: 1)
    gaps.bind(position, at: 2)
    defer { gaps.reset() }
    return try !gaps.step()
  }
}

extension SQLiteServerStorage {
  /// The position of the history when a start first wrote (`after`), and the first position after the gap (`first`).
  static let runTables = """
    CREATE TABLE IF NOT EXISTS run (
      space TEXT NOT NULL, first INTEGER NOT NULL, after INTEGER NOT NULL, mark TEXT NOT NULL,
      PRIMARY KEY (space, first, mark)
    ) STRICT, WITHOUT ROWID;
    """
}
