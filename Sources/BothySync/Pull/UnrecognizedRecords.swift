import BothyStore

/// Records of types that this schema doesn't declare. They are kept as they arrived, and moved to their table when a
/// later version of the app declares the type.
package enum UnrecognizedRecords {
  static func forEach(in transaction: ReadTransaction, _ body: (ServerRecord) throws -> Void) throws {
    let select = try PreparedStatement("SELECT record FROM bothy_unknown", in: transaction.database)
    defer { select.reset() }
    while try select.step() { try body(try record(select.bytes(at: 0))) }
  }

  package static func records(of type: String, in transaction: ReadTransaction) throws -> [ServerRecord] {
    let select = try PreparedStatement(
      "SELECT record FROM bothy_unknown WHERE type = ? ORDER BY id", in: transaction.database)
    select.bind(type, at: 1)
    defer { select.reset() }
    var records: [ServerRecord] = []
    while try select.step() { records.append(try record(select.bytes(at: 0))) }
    return records
  }

  package static func keep(_ record: ServerRecord, in transaction: WriteTransaction) throws {
    if record.isDeleted { return try remove(record.id, in: transaction) }
    var writer = JSONWriter()
    record.write(to: &writer)
    let insert = try PreparedStatement(
      "INSERT OR REPLACE INTO bothy_unknown VALUES (?, ?, ?)", in: transaction.database)
    insert.bind(record.id.type, at: 1)
    insert.bind(record.id.id, at: 2)
    insert.bind(utf8: writer.bytes, at: 3)
    try insert.run()
  }

  /// Replaces all kept records of a type by `records`.
  static func replace(_ type: String, by records: [ServerRecord], in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement("DELETE FROM bothy_unknown WHERE type = ?", in: transaction.database)
    delete.bind(type, at: 1)
    try delete.run()
    for record in records { try keep(record, in: transaction) }
  }

  /// Forgets the records of a scope, because a complete snapshot brings those that exist.
  static func clear(_ scope: SyncScope, in transaction: WriteTransaction) throws {
    var gone: [RecordID] = []
    try forEach(in: transaction) { if scope.contains($0.container) { gone.append($0.id) } }
    for id in gone { try remove(id, in: transaction) }
  }

  package static func remove(_ id: RecordID, in transaction: WriteTransaction) throws {
    let delete = try PreparedStatement(
      "DELETE FROM bothy_unknown WHERE type = ? AND id = ?", in: transaction.database)
    delete.bind(id.type, at: 1)
    delete.bind(id.id, at: 2)
    try delete.run()
  }

  /// Forgets a record that left a scope, unless another scope has brought it since.
  static func remove(_ id: RecordID, from scope: SyncScope, in transaction: WriteTransaction) throws {
    let select = try PreparedStatement(
      "SELECT record FROM bothy_unknown WHERE type = ? AND id = ?", in: transaction.database)
    select.bind(id.type, at: 1)
    select.bind(id.id, at: 2)
    let found = try select.step() ? try record(select.bytes(at: 0)) : nil
    select.reset()
    if let found, scope.contains(found.container) { try remove(id, in: transaction) }
  }

  /// Moves the records whose type is declared now. Costs one look-up if none is kept.
  static func adopt(in transaction: WriteTransaction) throws {
    let types = try PreparedStatement("SELECT DISTINCT type FROM bothy_unknown", in: transaction.database)
    var kept: [String] = []
    while try types.step() { if let name = types.text(at: 0) { kept.append(name) } }
    types.reset()
    for name in kept {
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
    let select = try PreparedStatement(
      "SELECT record FROM bothy_unknown WHERE type = ?", in: transaction.database)
    select.bind(name, at: 1)
    let names = transaction.catalog.wireNames
    while try select.step() {
      let record = names.local(named(try record(select.bytes(at: 0)), wire))
      var repaired = false
      guard let row = try UnreadableTable.row(record, table, repaired: &repaired, in: transaction) else {
        continue
      }
      try transaction.put(table, id: record.id.id, row)
    }
    select.reset()
    let delete = try PreparedStatement("DELETE FROM bothy_unknown WHERE type = ?", in: transaction.database)
    delete.bind(name, at: 1)
    try delete.run()
  }

  private static func record(_ bytes: [UInt8]) throws -> ServerRecord {
    try JSONReader.read(bytes) { try ServerRecord(from: &$0) }
  }
}
