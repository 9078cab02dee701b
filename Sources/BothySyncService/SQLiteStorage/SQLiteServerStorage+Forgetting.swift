import GRDB

/// The deletion of tombstones, departures and notices up to a floor, in steps.
extension SQLiteServerStorage {
  /// Adds the indexes by which a step finds its rows.
  static func addUpkeepIndexes(to database: Database) throws {
    try database.execute(
      sql: """
        CREATE INDEX IF NOT EXISTS record_tombstone ON record (space, position) WHERE deleted = 1;
        CREATE INDEX IF NOT EXISTS notice_position ON notice (space, position);
        """)
  }

  private static let range = "space = ?1 AND position > ?2 AND position <= ?3"
  private static let tombstones = "record INDEXED BY record_tombstone WHERE \(range) AND deleted = 1"

  /// Returns the position up to which a step forgets about `rows` of each kind, or `nil` if it forgets all up to `end`.
  /// Reads as many entries of indexes.
  static func stop(
    of space: String, after start: Int64, upTo end: Int64, rows: Int, in database: Database
  ) throws -> Int64? {
    let sources = [
      tombstones, "departure WHERE \(range)", "notice INDEXED BY notice_position WHERE \(range)",
    ]
    let stops = sources.map {
      "SELECT * FROM (SELECT position FROM \($0) ORDER BY position LIMIT 1 OFFSET ?4)"
    }
    return try Int64.fetchOne(
      database, sql: "SELECT min(position) FROM (\(stops.joined(separator: " UNION ALL ")))",
      arguments: [space, start, end, rows])
  }

  /// Deletes the tombstones at positions after `start` up to `end`, with their rows in the indexes of audiences, and
  /// all departures and notices up to `end`.
  static func forget(of space: String, after start: Int64, upTo end: Int64, in database: Database) throws {
    for table in ["audience", "shared"] {
      try database.execute(
        sql: "DELETE FROM \(table) WHERE space = ?1 AND (type, id) IN (SELECT type, id FROM \(tombstones))",
        arguments: [space, start, end])
    }
    try database.execute(sql: "DELETE FROM \(tombstones)", arguments: [space, start, end])
    for table in ["departure", "notice"] {
      try database.execute(
        sql: "DELETE FROM \(table) WHERE space = ? AND position <= ?", arguments: [space, end])
    }
  }
}
