/// An `INSERT` of rows as `VALUES`, with as many parameters as the rows need.
///
/// Citus sends such a statement unchanged to the shard of the space. The rows of an `INSERT … SELECT` are collected at
/// its coordinator instead, and committed in two phases.
package struct RowInsert: Sendable {
  /// The numbers of rows of one statement. Each number is a prepared statement of its own, so there are few.
  package static let sizes = [64, 32, 16, 8, 4, 2, 1]

  /// The SQL for each number of rows. The parameters are those of the common columns, then each row's.
  package let statements: [Int: String]

  /// Makes an insert. The columns of `common` have one value for all rows, like the space, which they follow.
  /// `conflict` is the end of the statement, for a row that exists.
  package init(
    into table: String, common: [String] = [], _ columns: [String], onConflict conflict: String
  ) {
    let common = ["space"] + common
    let names = (common + columns).joined(separator: ", ")
    let shared = common.indices.map { "$\($0 + 1)" }
    func values(_ row: Int) -> String {
      let own = columns.indices.map { "$\(common.count + row * columns.count + $0 + 1)" }
      return "(" + (shared + own).joined(separator: ", ") + ")"
    }
    let pairs = Self.sizes.map { size in
      let rows = (0..<size).map(values).joined(separator: ", ")
      return (size, "INSERT INTO \(table) (\(names)) VALUES \(rows)\nON CONFLICT \(conflict)")
    }
    statements = Dictionary(pairs, uniquingKeysWith: { $1 })
  }

  /// Returns the numbers of rows of the statements for this many rows, each from `sizes`, the larger ones first.
  package static func parts(of count: Int) -> [Int] {
    var left = count
    var parts: [Int] = []
    for size in sizes {
      while left >= size {
        parts.append(size)
        left -= size
      }
    }
    return parts
  }
}

extension PostgresTransaction {
  /// Writes rows with the next read. `common` binds the values that all rows have after the space, `bind` those of one
  /// row.
  func write<Row>(
    _ insert: RowInsert, _ rows: [Row], common: (inout PostgresStatement) -> Void = { _ in },
    bind: (inout PostgresStatement, Row) -> Void
  ) {
    var start = 0
    for part in RowInsert.parts(of: rows.count) {
      guard let sql = insert.statements[part] else { continue }
      var statement = statement(sql)
      common(&statement)
      for row in rows[start..<start + part] { bind(&statement, row) }
      write(statement)
      start += part
    }
  }
}

/// The tables that get rows by number.
extension StorageSQL {
  static let putRecords = RowInsert(
    into: "record",
    [
      "position", "type", "id", "container", "modified", "owner", "deleted", "plain", "fields", "sharing",
      "created",
    ],
    onConflict: """
      (space, type, id) DO UPDATE SET position = excluded.position, container = excluded.container,
        modified = excluded.modified, owner = excluded.owner, deleted = excluded.deleted, plain = excluded.plain,
        fields = excluded.fields, sharing = excluded.sharing, created = excluded.created
      """)
  static let putDepartures = RowInsert(
    into: "departure", ["position", "type", "id", "container", "former"],
    onConflict: "(space, position, type, id, container) DO NOTHING")
  static let putHistory = RowInsert(
    into: "history",
    ["position", "container", "type", "id", "kind", "moved_from", "principal", "time", "fields"],
    onConflict: "(space, position) DO NOTHING")
  static let remember = RowInsert(
    into: "operation", common: ["device", "at"], ["id", "outcome"],
    onConflict: "(space, device, id) DO UPDATE SET outcome = excluded.outcome, at = excluded.at")
  static let noteHolders = RowInsert(
    into: "unique_value", ["type", "field", "value", "id"],
    onConflict: "(space, type, field, value, id) DO NOTHING")
  static let addMembers = RowInsert(
    into: "member", common: ["list", "owner"], ["principal"],
    onConflict: "(space, principal, list) DO NOTHING")
  static let addLists = RowInsert(
    into: "shared", common: ["type", "id"], ["list"], onConflict: "(space, list, type, id) DO NOTHING")
  static let putNotices = RowInsert(
    into: "notice", ["principal", "position", "type", "id"],
    onConflict: "(space, principal, type, id) DO UPDATE SET position = excluded.position")

  static let inserts = [
    putRecords, putDepartures, putHistory, remember, noteHolders, addMembers, addLists, putNotices,
    putAudiences, raiseSeen, noteEntries,
  ]
}
