import BothyStore
import GRDB

/// The notes of records that left a container or the sight of users.
extension SQLiteServerStorage {
  /// Adds the column of the former part. Files from before have notes of containers alone.
  static func addFormerlyVisible(to database: Database) throws {
    let columns = try database.columns(in: "departure")
    if columns.contains(where: { $0.name == "former" }) { return }
    try database.execute(sql: "ALTER TABLE departure ADD COLUMN former TEXT")
  }
}

extension SQLiteServerTransaction {
  func put(_ removals: [RecordRemoval]) throws {
    guard !removals.isEmpty else { return }
    let insert = try PreparedStatement(
      """
      INSERT OR REPLACE INTO departure (space, position, type, id, container, former) VALUES (?, ?, ?, ?, ?, ?)
      """, in: database)
    insert.bind(space, at: 1)
    for removal in removals {
      insert.bind(removal.position, at: 2)
      insert.bind(removal.id.type, at: 3)
      insert.bind(removal.id.id, at: 4)
      insert.bind(removal.container, at: 5)
      insert.bind(removal.former, at: 6)
      try insert.run()
    }
  }

  func formerlyVisible(after position: Int64, upTo last: Int64, limit: Int) throws -> [RecordRemoval] {
    let select = try PreparedStatement(
      """
      SELECT position, type, id, container, former FROM departure
      WHERE space = ? AND position > ? AND position <= ? AND former IS NOT NULL ORDER BY position LIMIT ?
      """, in: database)
    select.bind(space, at: 1)
    select.bind(position, at: 2)
    select.bind(last, at: 3)
    select.bind(Int64(limit), at: 4)
    return try removals(select)
  }

  /// Returns the rows of a statement whose columns are those of `departure` after the space.
  func removals(_ select: PreparedStatement) throws -> [RecordRemoval] {
    defer { select.reset() }
    var found: [RecordRemoval] = []
    while try select.step() {
      found.append(
        RecordRemoval(
          position: select.int(at: 0),
          id: RecordID(type: select.text(at: 1) ?? "", id: select.text(at: 2) ?? ""),
          container: select.text(at: 3) ?? "", former: select.text(at: 4)))
    }
    return found
  }
}
