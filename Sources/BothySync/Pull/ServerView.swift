import BothyStore

/// The records of a scope as the server last reported them, without pending changes, but with the versions noted beside
/// these. Equal to the server's records if nothing changed there since.
enum ServerView {
  struct Entry {
    var id: RecordID
    var version: String
    var fields: [UInt8]
  }

  /// Reads every row. Memory grows with the pending changes only.
  static func forEach(
    in scope: SyncScope, _ transaction: ReadTransaction, _ body: (Entry) throws -> Void
  ) throws {
    let pending = try OutboxQueue.entries(in: transaction)
    let unreadable = try UnreadableTable.records(in: transaction)
    let dirty = Set(pending.map(\.record)).union(unreadable.keys)
    for table in transaction.catalog.tables where table.schema.isSynced {
      try transaction.forEach(table.selectSQL) { select in
        let id = RecordID(type: table.schema.name, id: select.text(at: 0) ?? "")
        if !dirty.isEmpty && dirty.contains(id) { return }
        let row = try StoredRow(from: select, table)
        guard let version = row.version, scope.contains(row.container ?? id.type) else { return }
        try body(Entry(id: id, version: version, fields: table.document(row).bytes))
      }
    }
    for record in unreadable.values where scope.contains(record.container) {
      try body(Entry(id: record.id, version: record.version, fields: record.fields.bytes))
    }
    for entry in pending where !entry.isLeaving && unreadable[entry.record] == nil {
      guard let told = entry.told, !told.isDeleted && scope.contains(told.container) else { continue }
      try body(Entry(id: entry.record, version: told.version, fields: told.fields.bytes))
    }
    try UnrecognizedRecords.forEach(in: transaction) { record in
      guard scope.contains(record.container) else { return }
      try body(Entry(id: record.id, version: record.version, fields: record.fields.bytes))
    }
  }

  static func digest(_ scope: SyncScope, parts: Int, in transaction: ReadTransaction) throws -> ScopeDigest {
    var sum = DigestSum(parts: parts)
    let names = transaction.catalog.wireNames
    try forEach(in: scope, transaction) { entry in
      sum.add(names.wire(entry.id), fields: names.wire(entry.fields, of: entry.id.type))
    }
    return sum.digest(of: scope)
  }

  static func stamps(
    _ scope: SyncScope, parts: Int, in chosen: Set<Int>, _ transaction: ReadTransaction
  ) throws -> [RecordID: RecordStamp] {
    var stamps: [RecordID: RecordStamp] = [:]
    let names = transaction.catalog.wireNames
    try forEach(in: scope, transaction) { entry in
      let id = names.wire(entry.id)
      guard chosen.contains(id.part(of: parts)) else { return }
      let hash = DigestSum.hash(id, fields: names.wire(entry.fields, of: entry.id.type))
      stamps[entry.id] = RecordStamp(id: entry.id, version: entry.version, hash: hash)
    }
    return stamps
  }
}
