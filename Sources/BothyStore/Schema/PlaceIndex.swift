import GRDB

/// The R-tree of one indexed coordinate field: its name, its tables and triggers, and its comparison with the rows.
///
/// SQLite stores the numbers of an R-tree in 32 bits, rounded outward, so its results are checked against the row.
struct PlaceIndex {
  /// The name of the index. The parenthesis separates the names of SQLite's own tables behind one index from those of
  /// other indexes.
  let name: String
  private let table: String
  private let latitude: String
  private let longitude: String

  /// Creates the description. Nil for a field without such an index.
  init?(_ field: FieldSchema, of type: TypeSchema) {
    guard field.kind == .coordinate, field.isIndexed else { return nil }
    name = "bothy_geo(\(type.name).\(field.name))"
    table = type.name.quotedIdentifier
    latitude = field.columns[0].quotedIdentifier
    longitude = field.columns[1].quotedIdentifier
  }

  /// The quoted name.
  var identifier: String { name.quotedIdentifier }

  /// The names of everything that `create` creates.
  var names: [String] { [name] + Self.events.map(trigger) }

  private static let events = ["insert", "update", "delete"]

  private func trigger(_ event: String) -> String { "\(name)_\(event)" }

  /// Creates the index of the existing rows, and the triggers that maintain it. A write of a row includes that of its
  /// place.
  func create(in database: Database) throws {
    try database.execute(
      sql: "CREATE VIRTUAL TABLE \(identifier) USING rtree(place, south, north, west, east)")
    func position(_ row: String) -> (values: String, isKnown: String) {
      let (latitude, longitude) = ("\(row).\(latitude)", "\(row).\(longitude)")
      return (
        "\(row).rowid, \(latitude), \(latitude), \(longitude), \(longitude)",
        "\(latitude) IS NOT NULL AND \(longitude) IS NOT NULL"
      )
    }
    let (new, remove) = (position("new"), "DELETE FROM \(identifier) WHERE place = old.rowid;")
    let add = "INSERT INTO \(identifier) SELECT \(new.values) WHERE \(new.isKnown);"
    let hasMoved =
      "old.\(latitude) IS NOT new.\(latitude) OR old.\(longitude) IS NOT new.\(longitude)"
    let parts = [
      ("INSERT", new.isKnown, add), ("UPDATE OF \(latitude), \(longitude)", hasMoved, remove + " " + add),
      ("DELETE", position("old").isKnown, remove),
    ]
    for (event, (verb, condition, body)) in zip(Self.events, parts) {
      try database.execute(
        sql: """
          CREATE TRIGGER \(trigger(event).quotedIdentifier) AFTER \(verb) ON \(table) WHEN \(condition) BEGIN \(body) END
          """)
    }
    let all = position(table)
    try database.execute(
      sql: "INSERT INTO \(identifier) SELECT \(all.values) FROM \(table) WHERE \(all.isKnown)")
  }

  /// Drops every such index that the file has for a type, whatever the schema declares.
  static func dropAll(of type: String, in database: Database) throws {
    let found = try Row.fetchAll(
      database,
      sql: """
        SELECT type, name FROM sqlite_master WHERE substr(name, 1, length(?1)) = ?1
        AND (type = 'trigger' OR type = 'table' AND name LIKE '%)') ORDER BY type DESC
        """, arguments: ["bothy_geo(\(type)."])
    for row in found {
      let (kind, name): (String, String) = (row["type"], row["name"])
      try database.execute(sql: "DROP \(kind) \(name.quotedIdentifier)")
    }
  }

  /// Compares the index with the rows. Returns the numbers of missing and of stray places, and SQLite's report on a
  /// faulty structure. Reads the table and the index.
  func differences(in database: Database) throws -> (missing: Int, stray: Int, fault: String?) {
    let report = try String.fetchOne(database, sql: "SELECT rtreecheck('main', ?)", arguments: [name])
    // A field may be called `south`, and a type `Entry`. No type is called `bothy_entry`.
    let agrees = """
      \(table).rowid = bothy_entry.place
      AND \(table).\(latitude) BETWEEN bothy_entry.south AND bothy_entry.north
      AND \(table).\(longitude) BETWEEN bothy_entry.west AND bothy_entry.east
      """
    let missing = """
      SELECT count(*) FROM \(table) WHERE \(latitude) IS NOT NULL AND \(longitude) IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM \(identifier) AS bothy_entry WHERE \(agrees))
      """
    let stray = """
      SELECT count(*) FROM \(identifier) AS bothy_entry WHERE NOT EXISTS (SELECT 1 FROM \(table) WHERE \(agrees))
      """
    return (
      try Int.fetchOne(database, sql: missing) ?? 0, try Int.fetchOne(database, sql: stray) ?? 0,
      report == "ok" ? nil : report
    )
  }

  /// Returns the rows whose places may be in the box, as a condition on the type's table.
  func rows(in box: GeoBox) -> SQLFragment {
    var condition = SQLFragment("rowid IN (")
    for (index, part) in box.intervals.enumerated() {
      if index > 0 { condition += " UNION ALL " }
      condition += SQLFragment(
        "SELECT place FROM \(identifier) WHERE north >= ? AND south <= ? AND east >= ? AND west <= ?",
        [.double(part.south), .double(part.north), .double(part.west), .double(part.east)])
    }
    condition += ")"
    return condition
  }
}

extension TypeSchema {
  /// The R-trees of its coordinates.
  var placeIndexes: [PlaceIndex] { fields.compactMap { PlaceIndex($0, of: self) } }
}
