import BothyStore

/// Records of types that this schema doesn't declare. They are kept as they arrived, and moved to their table when a
/// later version of the app declares the type.
package enum UnrecognizedRecords {
  /// Visits the records of a type, or all of them, one in memory at a time.
  static func forEach(
    of type: String? = nil, in transaction: ReadTransaction, _ body: (ServerRecord) throws -> Void
  ) throws {
    try transaction.forEach(
      "SELECT record FROM bothy_unknown" + (type == nil ? "" : " WHERE type = ? ORDER BY id"),
      type.map { [$0] } ?? []
    ) { try body(ServerRecord(json: $0.bytes(at: 0))) }
  }

  package static func records(of type: String, in transaction: ReadTransaction) throws -> [ServerRecord] {
    var records: [ServerRecord] = []
    try forEach(of: type, in: transaction) { records.append($0) }
    return records
  }

  package static func keep(_ record: ServerRecord, in transaction: WriteTransaction) throws {
    if record.isDeleted { return try remove(record.id, in: transaction) }
    try transaction.run("INSERT OR REPLACE INTO bothy_unknown VALUES (?, ?, ?)", record.id, record.json)
  }

  /// Replaces all kept records of a type by `records`.
  static func replace(_ type: String, by records: [ServerRecord], in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_unknown WHERE type = ?", type)
    for record in records { try keep(record, in: transaction) }
  }

  /// Forgets the records of a scope, because a complete snapshot brings those that exist.
  static func clear(_ scope: SyncScope, in transaction: WriteTransaction) throws {
    var gone: [RecordID] = []
    try forEach(in: transaction) { if scope.contains($0.container) { gone.append($0.id) } }
    for id in gone { try remove(id, in: transaction) }
  }

  package static func remove(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_unknown WHERE type = ? AND id = ?", id)
  }

  /// Forgets a record that left a scope, unless another scope has brought it since.
  static func remove(_ id: RecordID, from scope: SyncScope, in transaction: WriteTransaction) throws {
    let found = try transaction.first("SELECT record FROM bothy_unknown WHERE type = ? AND id = ?", id) {
      try ServerRecord(json: $0.bytes(at: 0))
    }
    if let found, scope.contains(found.container) { try remove(id, in: transaction) }
  }

  /// Moves the records whose type is declared now. Costs one look-up if none is kept.
  static func adopt(in transaction: WriteTransaction) throws {
    for name in try transaction.rows("SELECT DISTINCT type FROM bothy_unknown", read: { $0.text(at: 0) }) {
      // The name is one of the wire. A colon shows that this schema had another use for it.
      let wire = name.hasPrefix(":") ? String(name.dropFirst()) : name
      let local = transaction.catalog.wireNames.local(type: wire)
      if let table = transaction.catalog.tableIfKnown(local) {
        try adopt(name, as: wire, table, in: transaction)
      } else if local != name {
        let found = try records(of: name, in: transaction)
        try replace(name, by: [], in: transaction)
        for record in found { try keep(named(record, local), in: transaction) }
      }
    }
  }

  private static func named(_ record: ServerRecord, _ type: String) -> ServerRecord {
    var record = record
    if record.container == record.id.type { record.container = type }
    record.id.type = type
    return record
  }

  private static func adopt(
    _ name: String, as wire: String, _ table: TypeTable, in transaction: WriteTransaction
  ) throws {
    let names = transaction.catalog.wireNames
    try forEach(of: name, in: transaction) { record in
      let record = names.local(named(record, wire))
      var repaired = false
      guard let row = try UnreadableTable.row(record, table, repaired: &repaired, in: transaction) else {
        return
      }
      try transaction.put(table, id: record.id.id, row)
    }
    try replace(name, by: [], in: transaction)
  }
}
