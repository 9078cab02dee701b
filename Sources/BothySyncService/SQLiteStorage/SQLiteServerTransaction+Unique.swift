import BothyStore

/// The records that have values of unique fields.
extension SQLiteServerStorage {
  static let uniqueTables = """
    CREATE TABLE IF NOT EXISTS unique_value (
      space TEXT NOT NULL, type TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
      PRIMARY KEY (space, type, field, value, id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS unique_mark (
      space TEXT NOT NULL, mark TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (space, mark)
    ) STRICT, WITHOUT ROWID;
    """
}

extension SQLiteServerTransaction {
  func holders(of values: [UniqueFieldValue], marked mark: String) throws -> UniqueHolders {
    let noted = try PreparedStatement(
      "SELECT position FROM unique_mark WHERE space = ? AND mark = ?", in: database)
    noted.bind(space, at: 1)
    noted.bind(mark, at: 2)
    var found = UniqueHolders(position: try noted.step() ? noted.int(at: 0) : 0)
    noted.reset()
    let select = try PreparedStatement(
      "SELECT id FROM unique_value WHERE space = ? AND type = ? AND field = ? AND value = ?", in: database)
    select.bind(space, at: 1)
    for value in values {
      select.bind(value.type, at: 2)
      select.bind(value.field, at: 3)
      select.bind(value.value, at: 4)
      while try select.step() {
        guard let id = select.text(at: 0) else { continue }
        found.records[value, default: []].insert(RecordID(type: value.type, id: id))
      }
      select.reset()
    }
    return found
  }

  func note(_ holders: [UniqueHolder], forgetting gone: [UniqueHolder]) throws {
    let delete = try PreparedStatement(
      "DELETE FROM unique_value WHERE space = ? AND type = ? AND field = ? AND value = ? AND id = ?",
      in: database)
    for holder in gone { try run(delete, holder) }
    let insert = try PreparedStatement(
      "INSERT OR IGNORE INTO unique_value VALUES (?, ?, ?, ?, ?)", in: database)
    for holder in holders { try run(insert, holder) }
  }

  private func run(_ statement: PreparedStatement, _ holder: UniqueHolder) throws {
    statement.bind(space, at: 1)
    statement.bind(holder.value.type, at: 2)
    statement.bind(holder.value.field, at: 3)
    statement.bind(holder.value.value, at: 4)
    statement.bind(holder.id, at: 5)
    try statement.run()
  }

  func setNoted(upTo position: Int64, from start: Int64, marked mark: String) throws {
    let set = try PreparedStatement(
      start == 0
        ? """
        INSERT INTO unique_mark VALUES (?1, ?2, ?4) ON CONFLICT (space, mark) DO UPDATE SET position = ?4
        WHERE position = ?3
        """
        : "UPDATE unique_mark SET position = ?4 WHERE space = ?1 AND mark = ?2 AND position = ?3",
      in: database)
    set.bind(space, at: 1)
    set.bind(mark, at: 2)
    set.bind(start, at: 3)
    set.bind(position, at: 4)
    try set.run()
  }
}
