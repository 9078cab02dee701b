internal import GRDB

/// The values that changes from the server replaced. With them a value that was read earlier is distinguished from an
/// edit.
///
/// Each row of `bothy_replaced` has the old fields of one record that others changed, each with a hash of its new
/// value. Fields that this device changed on the server, before its own row showed that, have a row of their own. For a
/// deletion by others a row has the whole record. The newest rows are kept, and the row with the number 0 has the
/// latest version and time of the deleted rows. For a record that this device no longer keeps, the old values are hashes
/// too.
package enum ReplacedFields {
  /// The numbers below the newest row's that have a row. Most rows have about a hundred bytes and take one number.
  package static let limit: Int64 = 20_000
  /// The bytes of fields for which a row takes one number more. So all rows have about 20 MB at most.
  package static let unit = 1024

  static let table = "bothy_replaced"

  package static let tables = [
    """
    CREATE TABLE IF NOT EXISTS bothy_replaced (
      number INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, was TEXT,
      noted INTEGER NOT NULL, gone INTEGER NOT NULL, container TEXT, fields TEXT NOT NULL) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS bothy_replaced_record ON bothy_replaced (type, id) WHERE number > 0",
  ]

  /// The cause of a row, as stored in the column `gone`.
  enum Kind: Int64 {
    /// Others changed the record.
    case news = 0
    /// Others deleted the record.
    case deletion = 1
    /// This device changed the record, and its row showed that only after the server's answer.
    case own = 2
    /// Processes of this device changed the record. In the file, the row has the `FormerValues` of an ended entry.
    case former = 3
  }

  /// The replaced values of a record at one time.
  struct Entry {
    /// The version of the record before, and that of the change.
    var was: String?
    var version: Int64
    /// True if others deleted the record. The container is that of the record; nil is the type's own.
    var isGone: Bool { kind == .deletion }
    /// True if this device changed it.
    var isOwn: Bool { kind == .own || kind == .former }
    var kind: Kind
    var container: String?
    /// The old values by the fields' positions.
    var fields: [Int: FieldValue]
    /// The hashes of the new values.
    var news: [Int: Int64] = [:]
    /// The hashes of the old values, if the values themselves are no longer kept.
    var hashes: [Int: Int64] = [:]
    var number: Int64 = 0
    /// The time at which it was noted, by the file's `DeviceTime`.
    var noted: Int64 = 0

    /// True if a field had this value before.
    func had(_ value: FieldValue, at position: Int) -> Bool {
      fields[position] == value || hashes[position].map { $0 == ReplacedFields.hash(of: value) } ?? false
    }
  }

  /// Records the values that a row from the server replaces. Records nothing and returns false if no field differs, or if
  /// the version isn't newer, because a change of this device was then undone.
  ///
  /// - Parameter own: The fields that this device sent, by position, if the row does not show them yet.
  package static func note(
    _ before: StoredRow, _ after: StoredRow, own: [Int: FieldValue] = [:], _ table: TypeTable, id: String,
    in transaction: WriteTransaction
  ) throws -> Bool {
    let version = ReadMark.number(of: after.version)
    guard before.values != after.values, version > ReadMark.number(of: before.version) else { return false }
    // First the row became what this device sent, and then others' changes came to it.
    var between = before
    for (position, value) in own { between.values[position] = value }
    for (kind, from, to) in [(Kind.own, before, between), (.news, between, after)]
    where from.values != to.values {
      let changed = from.values.indices.filter { from.values[$0] != to.values[$0] }
      try note(kind, changed, of: from, to: to, by: version, table, id, in: transaction)
    }
    return true
  }

  /// Records the content of a record that others deleted. `version` is that of the deletion, if it is known.
  static func note(
    gone before: StoredRow, version: String?, _ table: TypeTable, id: String, in transaction: WriteTransaction
  ) throws {
    let last = ReadMark.number(of: before.version)
    let filled = before.values.indices.filter { !before.values[$0].isNull }
    try note(
      .deletion, filled, of: before, to: nil, by: max(ReadMark.number(of: version), last &+ 1), table, id,
      in: transaction)
  }

  private static func note(
    _ kind: Kind, _ positions: [Int], of before: StoredRow, to after: StoredRow?, by version: Int64,
    _ table: TypeTable,
    _ id: String, in transaction: WriteTransaction
  ) throws {
    // A store that isn't synced has no such table.
    guard transaction.keepsNews else { return }
    var writer = JSONWriter(reserving: 64)
    writer.beginObject()
    for position in positions {
      writer.key(table.schema.fields[position].name)
      writer.beginArray()
      before.values[position].write(to: &writer)
      if let after { writer.value(hash(of: after.values[position])) }
      writer.endArray()
    }
    writer.endObject()
    try insert(writer.bytes, before, version, kind, table, id, in: transaction)
  }

  private static func insert(
    _ fields: [UInt8], _ before: StoredRow, _ version: Int64, _ kind: Kind, _ table: TypeTable, _ id: String,
    in transaction: WriteTransaction
  ) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_replaced (number, type, id, version, was, noted, gone, fields, container)
      VALUES ((SELECT coalesce(max(number), 0) FROM bothy_replaced) + ?9, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      """, in: transaction.database)
    insert.bind(table.schema.name, at: 1)
    insert.bind(id, at: 2)
    insert.bind(version, at: 3)
    // Without the prefix that a snapshot adds while it is applied.
    insert.bind(before.version?.split(separator: ":").last.map(String.init), at: 4)
    insert.bind(transaction.fileTime, at: 5)
    insert.bind(kind.rawValue, at: 6)
    insert.bind(utf8: fields, at: 7)
    insert.bind(before.container, at: 8)
    let step = Int64(1 + fields.count / unit)
    insert.bind(step, at: 9)
    try insert.run()
    let number = transaction.database.lastInsertedRowID
    if number / 1000 > (number - step) / 1000 { try trim(upTo: number - limit, in: transaction) }
  }

  private static func trim(upTo number: Int64, in transaction: WriteTransaction) throws {
    guard number > 0 else { return }
    let bound = try PreparedStatement(
      """
      INSERT OR REPLACE INTO bothy_replaced
      SELECT 0, '', '', max(version), NULL, max(noted), 0, NULL, '' FROM bothy_replaced WHERE number <= ? GROUP BY 1
      """, in: transaction.database)
    bound.bind(number, at: 1)
    try bound.run()
    let delete = try PreparedStatement(
      "DELETE FROM bothy_replaced WHERE number BETWEEN 1 AND ?", in: transaction.database)
    delete.bind(number, at: 1)
    try delete.run()
  }

  /// Deletes the content of a record that this device no longer keeps, and stores a hash of each value instead. A value
  /// that was read before can then still be distinguished from an edit when the record returns.
  static func hide(
    _ row: StoredRow, _ table: TypeTable, id: String, in transaction: WriteTransaction
  ) throws {
    for entry in try entries(since: ReadMark.first, table, id: id, in: transaction) {
      let update = try PreparedStatement(
        "UPDATE bothy_replaced SET fields = ?2 WHERE number = ?1", in: transaction.database)
      update.bind(entry.number, at: 1)
      update.bind(utf8: entry.hidden(table), at: 2)
      try update.run()
    }
    let delete = try PreparedStatement(
      "DELETE FROM bothy_replaced WHERE type = ?1 AND id = ?2 AND number > 0 AND gone = 3",
      in: transaction.database)
    delete.bind(table.schema.name, at: 1)
    delete.bind(id, at: 2)
    try delete.run()
    guard row.version != nil else { return }
    var gone = Entry(version: ReadMark.number(of: row.version) &+ 1, kind: .news, fields: [:])
    for (position, value) in row.values.enumerated() { gone.hashes[position] = hash(of: value) }
    try insert(gone.hidden(table), row, gone.version, .news, table, id, in: transaction)
  }

  /// Keeps the values that the changes of an ended entry replaced. They are compared by their times.
  package static func keep(
    former: [UInt8], _ table: TypeTable, id: String, in transaction: WriteTransaction
  ) throws {
    try insert(former, StoredRow(values: []), 0, .former, table, id, in: transaction)
  }

  /// Returns the values that ended entries of a record have kept since a time of the file.
  static func former(
    since time: Int64, _ table: TypeTable, id: String, in transaction: ReadTransaction
  ) throws -> [FormerValues] {
    let select = try PreparedStatement(
      "SELECT fields FROM bothy_replaced WHERE type = ?1 AND id = ?2 AND number > 0 AND gone = 3 AND noted > ?3",
      in: transaction.database)
    select.bind(table.schema.name, at: 1)
    select.bind(id, at: 2)
    select.bind(time, at: 3)
    defer { select.reset() }
    var found: [FormerValues] = []
    while try select.step() { found.append(try FormerValues(select.bytes(at: 0))) }
    return found
  }

  /// Deletes everything, because the versions of another history can't be compared with those of this one.
  package static func forgetAll(in transaction: WriteTransaction) throws {
    try PreparedStatement("DELETE FROM bothy_replaced", in: transaction.database).run()
  }

  // MARK: what came since

  /// Returns the replaced values of a record since a mark with a time of the file, the oldest first.
  static func entries(
    since mark: ReadMark, _ table: TypeTable, id: String, in transaction: ReadTransaction
  ) throws -> [Entry] {
    let select = try PreparedStatement(
      """
      SELECT version, was, gone, fields, container, number, noted FROM bothy_replaced
      WHERE type = ?1 AND id = ?2 AND number > 0 AND gone <> 3
        AND CASE WHEN ?3 < 0 THEN noted > -?3 ELSE version > ?3 END
      ORDER BY number
      """, in: transaction.database)
    select.bind(table.schema.name, at: 1)
    select.bind(id, at: 2)
    select.bind(mark.number, at: 3)
    defer { select.reset() }
    var entries: [Entry] = []
    while try select.step() {
      var entry = Entry(
        was: select.text(at: 1), version: select.int(at: 0), kind: Kind(rawValue: select.int(at: 2)) ?? .news,
        container: select.text(at: 4), fields: [:], number: select.int(at: 5), noted: select.int(at: 6))
      if entry.isGone { for position in table.schema.fields.indices { entry.fields[position] = .null } }
      try entry.read(select.bytes(at: 3), table)
      entries.append(entry)
    }
    return entries
  }

  /// True if values replaced since such a mark may be deleted from the table, for a record that has `version` now.
  static func isPast(_ mark: ReadMark, version: String?, in transaction: ReadTransaction) throws -> Bool {
    let now = ReadMark.number(of: version)
    if mark.number >= 0 && now <= mark.number { return now < mark.number }
    let select = try PreparedStatement(
      "SELECT CASE WHEN ?1 < 0 THEN noted > -?1 ELSE version > ?1 END FROM bothy_replaced WHERE number = 0",
      in: transaction.database)
    select.bind(mark.number, at: 1)
    defer { select.reset() }
    return try select.step() && select.int(at: 0) != 0
  }
}

extension ReplacedFields {
  /// Returns FNV-1a of the value's JSON text, equal in every process.
  static func hash(of value: FieldValue) -> Int64 {
    var writer = JSONWriter()
    value.write(to: &writer)
    return Int64(bitPattern: writer.bytes.fnv1a())
  }
}

extension ReplacedFields.Entry {
  /// Reads an entry. Skips a field that the schema lacks or has as another kind.
  fileprivate mutating func read(_ json: [UInt8], _ table: TypeTable) throws {
    try JSONReader.read(json) { reader in
      try reader.object { name, reader in
        let start = reader
        do {
          guard let position = table.positions[name] else { return try reader.skip() }
          // Either the old value and the hash of the new one, or null, the new value's hash or null, and the old
          // value's hash.
          var (value, numbers): (FieldValue?, [Int64?]) = (nil, [])
          try reader.array { reader in
            if value == nil {
              value = try FieldValue(from: &reader, kind: table.schema.fields[position].kind)
            } else {
              numbers.append(try reader.nextIsNull() ? nil : reader.int())
            }
          }
          if let became = numbers.first { news[position] = became }
          if numbers.count > 1 { hashes[position] = numbers[1] } else { fields[position] = value }
        } catch is FieldValueError {
          reader = start
          try reader.skip()
        }
      }
    }
  }

  /// Returns the JSON of the entry without its values.
  fileprivate func hidden(_ table: TypeTable) -> [UInt8] {
    var hashes = hashes
    for (position, value) in fields where !isGone || !value.isNull {
      hashes[position] = ReplacedFields.hash(of: value)
    }
    var writer = JSONWriter(reserving: 64)
    writer.beginObject()
    for (position, hash) in hashes.sorted(by: { $0.key < $1.key }) {
      writer.key(table.schema.fields[position].name)
      writer.beginArray()
      writer.null()
      if let became = news[position] { writer.value(became) } else { writer.null() }
      writer.value(hash)
      writer.endArray()
    }
    writer.endObject()
    return writer.bytes
  }
}
