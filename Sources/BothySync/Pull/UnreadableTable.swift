import BothyStore

/// Records of the server that can't be read here, kept as far as they were received.
enum UnreadableTable {
  /// The SQL of the table. `record` has the record as received, if it could be parsed. It is read again when the file
  /// is opened.
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_unreadable (
      type TEXT NOT NULL, id TEXT NOT NULL, version TEXT NOT NULL, container TEXT NOT NULL, reason TEXT NOT NULL,
      record TEXT, PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID
    """

  /// Returns the row of a server's record. Keeps a record that can't be read in the table, and returns `nil`.
  static func row(
    _ record: ServerRecord, _ table: TypeTable, repaired: inout Bool, in transaction: WriteTransaction
  ) throws -> StoredRow? {
    switch read(record, table, repaired: &repaired) {
    case .success(let row):
      try remove(record.id, upTo: record.version, in: transaction)
      return row
    case .failure(let found):
      try keep(found, record, in: transaction)
      return nil
    }
  }

  /// Returns the row of a server's record, or the reason why it can't be read.
  static func read(
    _ record: ServerRecord, _ table: TypeTable, repaired: inout Bool
  ) -> Result<StoredRow, UnreadableRecord> {
    do {
      let row = try table.row(record, upTo: JSONReader.maximumValueDepth + 1, repaired: &repaired)
      try table.checkReadable(row.values)
      return .success(row)
    } catch { return .failure(UnreadableRecord(record, error)) }
  }

  /// Keeps a record aside, in place of an earlier version of it. Leaves a newer one, because answers may arrive out of
  /// order.
  static func keep(
    _ found: UnreadableRecord, _ record: ServerRecord? = nil, in transaction: WriteTransaction
  ) throws {
    if try has(found.record, after: found.version, in: transaction) { return }
    try transaction.run(
      "INSERT OR REPLACE INTO bothy_unreadable VALUES (?, ?, ?, ?, ?, ?)", found.record, found.version,
      found.container, found.reason, record?.json)
    transaction.touchBookkeeping()
  }

  static func remove(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_unreadable WHERE type = ? AND id = ?", id)
  }

  /// Forgets a record of which this version was received, unless a newer one is kept. Answers may arrive out of order.
  static func remove(_ id: RecordID, upTo version: String, in transaction: WriteTransaction) throws {
    if try !has(id, after: version, in: transaction) { try remove(id, in: transaction) }
  }

  /// True if a version is kept that is newer than this one.
  static func has(_ id: RecordID, after version: String, in transaction: ReadTransaction) throws -> Bool {
    try self.version(of: id, in: transaction)?.isHigher(than: version) ?? false
  }

  /// Forgets a record that left a scope, unless another scope has brought it since.
  static func remove(_ id: RecordID, from scope: SyncScope, in transaction: WriteTransaction) throws {
    let container = try transaction.first(
      "SELECT container FROM bothy_unreadable WHERE type = ? AND id = ?", id
    ) { $0.text(at: 0) }
    if let container, scope.contains(container) { try remove(id, in: transaction) }
  }

  /// Forgets the records of the containers for which `isGone` returns true.
  static func remove(where isGone: (String) -> Bool, in transaction: WriteTransaction) throws {
    for found in try kept(in: transaction) where isGone(found.container) {
      try remove(found.record, in: transaction)
    }
  }

  /// Returns the version of a record that is kept aside, or `nil`.
  static func version(of id: RecordID, in transaction: ReadTransaction) throws -> String? {
    try transaction.first("SELECT version FROM bothy_unreadable WHERE type = ? AND id = ?", id) {
      $0.text(at: 0)
    }
  }

  /// Like `version(of:in:)`, but returns `nil` for a record of which only a name could be read.
  static func wholeVersion(of id: RecordID, in transaction: ReadTransaction) throws -> String? {
    try transaction.first(
      "SELECT version FROM bothy_unreadable WHERE type = ? AND id = ? AND record IS NOT NULL", id
    ) { $0.text(at: 0) }
  }

  static func isEmpty(in transaction: ReadTransaction) throws -> Bool {
    try !transaction.has("SELECT 1 FROM bothy_unreadable LIMIT 1")
  }

  /// Returns the records that are kept aside, and those of rows that the app's types can't read. An earlier version of the
  /// app may have left such rows.
  static func all(in transaction: ReadTransaction) throws -> [UnreadableRecord] {
    let kept = try kept(in: transaction)
    let known = Set(kept.map(\.record))
    let stored = try transaction.unreadRecords().map { found in
      UnreadableRecord(
        record: found.record.recordID, version: found.record.version ?? "", container: found.record.container,
        reason: found.reason.message)
    }
    return (kept + stored.filter { !known.contains($0.record) }).sorted {
      ($0.record.type, $0.record.id) < ($1.record.type, $1.record.id)
    }
  }

  private static func kept(in transaction: ReadTransaction) throws -> [UnreadableRecord] {
    try transaction.rows(
      "SELECT type, id, version, container, reason FROM bothy_unreadable ORDER BY type, id"
    ) { row in
      UnreadableRecord(
        record: row.record(at: 0), version: row.text(at: 2) ?? "", container: row.text(at: 3) ?? "",
        reason: row.text(at: 4) ?? "")
    }
  }

  /// Returns the records as received, except for those of which only a name could be read.
  static func records(in transaction: ReadTransaction) throws -> [RecordID: ServerRecord] {
    let records = try transaction.rows("SELECT record FROM bothy_unreadable WHERE record IS NOT NULL") {
      try ServerRecord(json: $0.bytes(at: 0))
    }
    return Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
  }

  /// Tries again to read the records, for an app that can read more than its earlier version.
  static func retry(in transaction: WriteTransaction) throws {
    for (id, record) in try records(in: transaction) {
      guard let table = transaction.catalog.tableIfKnown(id.type) else { continue }
      var repaired = false
      guard case .success(let row) = read(record, table, repaired: &repaired) else { continue }
      try remove(id, in: transaction)
      try show(record, row, table, in: transaction)
    }
  }

  /// Shows a record that was kept aside, or notes it beside the pending work of its record.
  fileprivate static func show(
    _ record: ServerRecord, _ row: StoredRow, _ table: TypeTable, in transaction: WriteTransaction
  ) throws {
    guard let entry = try OutboxQueue.entry(record.id, in: transaction) else {
      if try transaction.put(table, id: record.id.id, row) {
        try AudienceTable.set(record.sharing, of: record.id, in: transaction)
      }
      return
    }
    if record.version.isNewer(than: entry.reported?.version ?? "") {
      try OutboxQueue.hear(record, in: transaction)
    }
  }
}

extension UnreadableRecord: Error {}

/// Records of types that this schema doesn't declare as synced. They are kept as they arrived, and moved to their table
/// when a later version of the app does.
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

  /// Like `keep(_:in:)`, but leaves a newer version, which pages of another scope may have brought.
  static func keepNewest(_ record: ServerRecord, in transaction: WriteTransaction) throws {
    let kept = try found(record.id, in: transaction)
    if kept?.version.isHigher(than: record.version) ?? false { return }
    try keep(record, in: transaction)
  }

  private static func found(_ id: RecordID, in transaction: ReadTransaction) throws -> ServerRecord? {
    try transaction.first("SELECT record FROM bothy_unknown WHERE type = ? AND id = ?", id) {
      try ServerRecord(json: $0.bytes(at: 0))
    }
  }

  /// Replaces all kept records of a type by `records`.
  static func replace(_ type: String, by records: [ServerRecord], in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_unknown WHERE type = ?", type)
    for record in records { try keep(record, in: transaction) }
  }

  /// Like `replace(_:by:in:)` with all records of a type in an answer. Leaves records alone that changed here since
  /// `former` was read, before the question.
  static func replace(
    _ type: String, by found: [ServerRecord], since former: [ServerRecord], in transaction: WriteTransaction
  ) throws {
    func versions(_ records: [ServerRecord]) -> [RecordID: String] {
      Dictionary(records.map { ($0.id, $0.version) }, uniquingKeysWith: { $1 })
    }
    let (before, now) = (versions(former), versions(try records(of: type, in: transaction)))
    for id in now.keys where before[id] == now[id] { try remove(id, in: transaction) }
    for record in found where before[record.id] == now[record.id] { try keep(record, in: transaction) }
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
    if let found = try found(id, in: transaction), scope.contains(found.container) {
      try remove(id, in: transaction)
    }
  }

  /// Moves the records whose type is declared now. Costs one look-up if none is kept.
  static func adopt(in transaction: WriteTransaction) throws {
    for name in try transaction.rows("SELECT DISTINCT type FROM bothy_unknown", read: { $0.text(at: 0) }) {
      // The name is one of the wire. A colon shows that this schema had another use for it.
      let wire = name.hasPrefix(":") ? String(name.dropFirst()) : name
      let local = transaction.catalog.wireNames.local(type: wire)
      if let table = transaction.catalog.syncedTable(local) {
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
    try forEach(of: name, in: transaction) { kept in
      var record = names.local(named(kept, wire))
      // Another container than the type's own has its local name already.
      if kept.container != kept.id.type { record.container = names.present(container: kept.container) }
      var repaired = false
      guard let row = try UnreadableTable.row(record, table, repaired: &repaired, in: transaction) else {
        return
      }
      // A document of pending changes may have been opened before.
      try UnreadableTable.show(record, row, table, in: transaction)
    }
    try replace(name, by: [], in: transaction)
  }
}

/// The results of saves that were sent to the server and aren't shown here, beside rows that are out of date or missing.
/// A later change made here continues from such a result, also after a relaunch. A mark counts while the row still has the
/// version that it had then, so any newer version ends it.
enum StaleRows {
  /// The most marks of records without a row, which no pull may ever bring.
  private static let rowlessLimit = 100

  /// - Parameters:
  ///   - version: the version of the row, or `nil` without a row.
  ///   - answer: the record as the save left it on the server.
  static func mark(
    _ id: RecordID, over version: String?, _ answer: ServerRecord, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      "INSERT OR REPLACE INTO bothy_stale VALUES (?, ?, ?, ?)", id, version ?? "", answer.json)
    guard version == nil else { return }
    try transaction.run(
      """
      DELETE FROM bothy_stale WHERE (type, id) IN (SELECT type, id FROM bothy_stale WHERE version = ''
        ORDER BY CAST(json_extract(told, '$.version') AS INTEGER) DESC LIMIT -1 OFFSET \(rowlessLimit))
      """)
  }

  /// Returns the record as a save left it on the server, or `nil` if the row shows that or a newer version.
  static func answer(
    _ id: RecordID, over row: StoredRow?, in transaction: ReadTransaction
  ) throws -> ServerRecord? {
    try transaction.first(
      "SELECT told FROM bothy_stale WHERE type = ? AND id = ? AND version = ? AND told IS NOT NULL", id,
      row?.version ?? ""
    ) { try ServerRecord(json: $0.bytes(at: 0)) }
  }

  static func forget(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run("DELETE FROM bothy_stale WHERE type = ? AND id = ?", id)
  }

  static func ids(of type: String, in transaction: ReadTransaction) throws -> Set<String> {
    guard let table = transaction.catalog.tableIfKnown(type) else { return [] }
    return Set(
      try transaction.rows("SELECT id, version FROM bothy_stale WHERE type = ?", type) { row in
        try row.text(at: 0).flatMap {
          try transaction.row(table, id: $0)?.version == row.text(at: 1) ? $0 : nil
        }
      })
  }

  /// Ends the marks whose versions a pull of a scope has brought. Those of records that are requested once more stay.
  ///
  /// - Parameter position: the position of the pull, or `nil` if it can't be compared with versions.
  static func end(in scope: SyncScope, upTo position: Int64?, in transaction: WriteTransaction) throws {
    let brought = try transaction.rows(
      """
      SELECT type, id, json_extract(told, '$.container') FROM bothy_stale
      WHERE (?1 IS NULL OR told IS NULL OR CAST(json_extract(told, '$.version') AS INTEGER) <= ?1)
        AND (type, id) NOT IN (SELECT type, id FROM bothy_refetch)
      """, position
    ) { (id: $0.record(at: 0), container: $0.text(at: 2)) }
    for mark in brought where mark.container.map(scope.contains) ?? true {
      try forget(mark.id, in: transaction)
    }
  }
}
