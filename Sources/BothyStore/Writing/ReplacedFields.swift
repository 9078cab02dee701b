internal import GRDB

/// What the server's news replaced here, so that a value which was read before them can be told from an edit.
///
/// Each row of `bothy_replaced` has the fields of one record that others changed, as they were before, each with a hash of
/// what it became; or the whole record where others deleted it. The newest `limit` rows are kept; the row with the
/// number 0 says up to where earlier ones are gone. Of a record that is no longer kept here, the values are hashes too.
package enum ReplacedFields {
  /// About a hundred bytes each.
  package static let limit: Int64 = 20_000

  static let table = "bothy_replaced"

  package static let tables = [
    """
    CREATE TABLE IF NOT EXISTS bothy_replaced (
      number INTEGER PRIMARY KEY, type TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, was TEXT,
      noted INTEGER NOT NULL, gone INTEGER NOT NULL, container TEXT, fields TEXT NOT NULL) STRICT
    """,
    "CREATE INDEX IF NOT EXISTS bothy_replaced_record ON bothy_replaced (type, id) WHERE number > 0",
  ]

  /// What of a record was replaced at one time.
  struct Entry {
    /// The version that the record had before, and that of the news.
    var was: String?
    var version: Int64
    /// Whether others deleted the record, and where it was then; nil is the type's own container.
    var isGone: Bool
    var container: String?
    /// By the fields' positions.
    var fields: [Int: FieldValue]
    /// The hashes of what the fields became.
    var news: [Int: Int64] = [:]
    /// The hashes of what they were, where their values are kept no more.
    var hashes: [Int: Int64] = [:]
    var number: Int64 = 0

    /// Whether a field had this value before.
    func had(_ value: FieldValue, at position: Int) -> Bool {
      fields[position] == value || hashes[position].map { $0 == ReplacedFields.hash(of: value) } ?? false
    }
  }

  /// Notes what a row as the server has it replaces. Nothing where no field differs, nor where the server has told nothing
  /// new: a change of this device's own is undone then.
  package static func note(
    _ before: StoredRow, _ after: StoredRow, _ table: TypeTable, id: String, in transaction: WriteTransaction
  ) throws {
    let version = ReadMark.number(of: after.version)
    guard before.values != after.values, version > ReadMark.number(of: before.version) else { return }
    let changed = before.values.indices.filter { before.values[$0] != after.values[$0] }
    try note(changed, of: before, to: after, by: version, table, id, in: transaction)
  }

  /// Notes the content of a record that others deleted. `version` is that of the deletion, where it is known.
  static func note(
    gone before: StoredRow, version: String?, _ table: TypeTable, id: String, in transaction: WriteTransaction
  ) throws {
    let last = ReadMark.number(of: before.version)
    let filled = before.values.indices.filter { !before.values[$0].isNull }
    try note(
      filled, of: before, to: nil, by: max(ReadMark.number(of: version), last &+ 1), table, id,
      in: transaction)
  }

  private static func note(
    _ positions: [Int], of before: StoredRow, to after: StoredRow?, by version: Int64, _ table: TypeTable,
    _ id: String, in transaction: WriteTransaction
  ) throws {
    // A store that is not synced has no such table.
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
    try insert(writer.bytes, before, version, isGone: after == nil, table, id, in: transaction)
  }

  private static func insert(
    _ fields: [UInt8], _ before: StoredRow, _ version: Int64, isGone: Bool, _ table: TypeTable, _ id: String,
    in transaction: WriteTransaction
  ) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_replaced (type, id, version, was, noted, gone, fields, container)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """, in: transaction.database)
    insert.bind(table.schema.name, at: 1)
    insert.bind(id, at: 2)
    insert.bind(version, at: 3)
    // Without what a snapshot that is being applied has put before it.
    insert.bind(before.version?.split(separator: ":").last.map(String.init), at: 4)
    insert.bind(ReadMark.now(), at: 5)
    insert.bind(isGone ? 1 : 0, at: 6)
    insert.bind(utf8: fields, at: 7)
    insert.bind(before.container, at: 8)
    try insert.run()
    let number = transaction.database.lastInsertedRowID
    if number % 1000 == 0 { try trim(upTo: number - limit, in: transaction) }
  }

  private static func trim(upTo number: Int64, in transaction: WriteTransaction) throws {
    guard number > 0 else { return }
    let bound = try PreparedStatement(
      """
      INSERT OR REPLACE INTO bothy_replaced
      SELECT 0, '', '', max(version), NULL, max(noted), 0, NULL, '' FROM bothy_replaced WHERE number <= ?
      """, in: transaction.database)
    bound.bind(number, at: 1)
    try bound.run()
    let delete = try PreparedStatement(
      "DELETE FROM bothy_replaced WHERE number BETWEEN 1 AND ?", in: transaction.database)
    delete.bind(number, at: 1)
    try delete.run()
  }

  /// Keeps no content of a record that is no longer kept here, and of each of its values a hash: so a value that was read
  /// before it went can still be told from an edit when the record is back.
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
    guard row.version != nil else { return }
    var gone = Entry(version: ReadMark.number(of: row.version) &+ 1, isGone: false, fields: [:])
    for (position, value) in row.values.enumerated() { gone.hashes[position] = hash(of: value) }
    try insert(gone.hidden(table), row, gone.version, isGone: false, table, id, in: transaction)
  }

  /// Forgets all: the versions of another history can't be compared with those of this one.
  package static func forgetAll(in transaction: WriteTransaction) throws {
    try PreparedStatement("DELETE FROM bothy_replaced", in: transaction.database).run()
  }

  // MARK: what came since

  /// What of a record was replaced since a mark, the oldest first.
  static func entries(
    since mark: ReadMark, _ table: TypeTable, id: String, in transaction: ReadTransaction
  ) throws -> [Entry] {
    let select = try PreparedStatement(
      """
      SELECT version, was, gone, fields, container, number FROM bothy_replaced
      WHERE type = ?1 AND id = ?2 AND number > 0 AND CASE WHEN ?3 < 0 THEN noted > -?3 ELSE version > ?3 END
      ORDER BY number
      """, in: transaction.database)
    select.bind(table.schema.name, at: 1)
    select.bind(id, at: 2)
    select.bind(mark.number, at: 3)
    defer { select.reset() }
    var entries: [Entry] = []
    while try select.step() {
      let isGone = select.int(at: 2) != 0
      var entry = Entry(
        was: select.text(at: 1), version: select.int(at: 0), isGone: isGone, container: select.text(at: 4),
        fields: [:], number: select.int(at: 5))
      if isGone { for position in table.schema.fields.indices { entry.fields[position] = .null } }
      try entry.read(select.bytes(at: 3), table)
      entries.append(entry)
    }
    return entries
  }

  /// Whether what was replaced since a mark may be gone from the table, for a record that has `version` now.
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
  /// FNV-1a of the value's JSON text, the same in every process.
  static func hash(of value: FieldValue) -> Int64 {
    var writer = JSONWriter()
    value.write(to: &writer)
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in writer.bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int64(bitPattern: hash)
  }
}

extension ReplacedFields.Entry {
  /// A field that the schema does not have, or has as another kind, is nothing that a value has.
  fileprivate mutating func read(_ json: [UInt8], _ table: TypeTable) throws {
    try JSONReader.read(json) { reader in
      try reader.object { name, reader in
        let start = reader
        do {
          guard let position = table.positions[name] else { return try reader.skip() }
          // A value and the hash of what it became; or, hidden, nothing, that hash or nothing, and the value's own.
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

  /// The JSON of the entry without its values.
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
