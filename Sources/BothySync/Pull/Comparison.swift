import BothyStore

/// Compares one scope with the server and repairs what differs. Digests find the parts that differ, hashes find the
/// records in them, and only these records are fetched.
///
/// Runs while no sync does, just after a pull. The server's version counts for clean records. A record with pending
/// work keeps it, and the server's version is noted beside it.
struct Comparison: Sendable {
  let store: LocalStore
  let remote: any RemoteStorage
  let scope: SyncScope
  /// The server's position that was pulled to, if it is known. At another position nothing is compared.
  var position: Int64?

  private static let parts = 256
  /// The number of stamps to request at a time. Servers put at least as many into one answer, unless names are long.
  private static let stampLimit = 20_000
  static let fetchLimit = 500

  /// The difference: the ids to fetch, and those that the server doesn't have.
  struct Difference: Sendable {
    var wanted: [RecordID] = []
    var extra: [RecordID] = []
    /// The local versions.
    var versions: [RecordID: String] = [:]
  }

  /// Throws `RemoteError`, `BothyError`.
  func repair() async throws -> StoreMaintenance.Repair {
    let theirs = try await remote.digest(scope, parts: Self.parts)
    var report = StoreMaintenance.Repair(scope: scope, requests: 1)
    if let here = position, let there = theirs.position, here != there {
      report.isBehind = true
      return report
    }
    let ours = try await digest()
    report.isEqual = theirs.digest == ours.digest && theirs.count == ours.count
    if report.isEqual { return report }
    guard let difference = try await difference(theirs, ours, &report) else {
      try await store.write(origin: .remote) { [scope] in try PullState.reset(scope, in: $0) }
      report.needsPull = true
      return report
    }
    var fetched: [ServerRecord] = []
    for (type, ids) in Dictionary(grouping: difference.wanted, by: \.type).sorted(by: { $0.key < $1.key }) {
      for start in stride(from: 0, to: ids.count, by: Self.fetchLimit) {
        let chunk = ids[start..<min(start + Self.fetchLimit, ids.count)]
        fetched += try await remote.records(of: type, ids: chunk.map(\.id))
        report.requests += 1
      }
    }
    let records = fetched
    let done = try await store.write(origin: .remote) { try Self.bring(records, difference, in: $0) }
    report.repaired = done.repaired
    report.kept = done.kept
    let after = try await digest()
    report.isEqual = theirs.digest == after.digest && theirs.count == after.count
    return report
  }

  private func digest() async throws -> ScopeDigest {
    try await store.read { [scope] in try ServerView.digest(scope, parts: Self.parts, in: $0) }
  }

  /// Returns the difference, or `nil` if the remote can't report parts or if pulling everything is shorter.
  private func difference(
    _ theirs: ScopeDigest, _ ours: ScopeDigest, _ report: inout StoreMaintenance.Repair
  ) async throws -> Difference? {
    guard theirs.parts.count == ours.parts.count else { return nil }
    let chosen = ours.parts.indices.filter { ours.parts[$0] != theirs.parts[$0] }
    guard chosen.count * 2 <= Self.parts || theirs.count <= 1000 else { return nil }
    // Before the server's, so that a record which the server gets meanwhile isn't one that it lacks.
    let here = try await ownStamps(in: chosen)
    guard let there = try await stamps(in: chosen, of: theirs.count, &report) else { return nil }
    report.compared = there.count
    return Self.difference(here, there)
  }

  private static func difference(
    _ here: [RecordID: RecordStamp], _ there: [RecordStamp]
  ) -> Difference {
    var difference = Difference(versions: here.mapValues(\.version))
    difference.wanted = there.filter { here[$0.id]?.hash != $0.hash }.map(\.id)
    let known = Set(there.map(\.id))
    difference.extra = here.keys.filter { !known.contains($0) }
    return difference
  }

  private func ownStamps(in chosen: [Int]) async throws -> [RecordID: RecordStamp] {
    try await store.read { [scope] in
      try ServerView.stamps(scope, parts: Self.parts, in: Set(chosen), $0)
    }
  }

  /// Returns the remote's stamps of some parts of `count` records, or `nil` if it gives none or too many for an answer.
  private func stamps(
    in chosen: [Int], of count: Int, _ report: inout StoreMaintenance.Repair
  ) async throws -> [RecordStamp]? {
    let size = max(1, Self.parts * Self.stampLimit / max(1, count))
    var stamps: [RecordStamp] = []
    for start in stride(from: 0, to: chosen.count, by: size) {
      let some = Array(chosen[start..<min(start + size, chosen.count)])
      report.requests += 1
      do throws(RemoteError) {
        guard let found = try await remote.stamps(scope, parts: Self.parts, in: some) else { return nil }
        stamps += found
      } catch {
        guard error.code == "answerTooLarge" else { throw error }
        return nil
      }
    }
    return stamps
  }

  /// Makes the local records the server's versions, except for those that became newer since the versions were read.
  static func bring(
    _ records: [ServerRecord], _ difference: Difference, in transaction: WriteTransaction
  ) throws -> (repaired: [RecordID], kept: [RecordID]) {
    var repaired: [RecordID] = []
    var kept: [RecordID] = []
    for record in records {
      if let entry = try OutboxQueue.entry(record.id, in: transaction) {
        try keep(entry, record, in: transaction)
        kept.append(record.id)
      } else if try isAsCompared(record.id, difference, in: transaction) {
        if transaction.catalog.syncedTable(record.id.type) == nil {
          try UnrecognizedRecords.keep(record, in: transaction)
        } else {
          try OutboxQueue.apply(record, in: transaction)
        }
        repaired.append(record.id)
      }
    }
    for id in difference.extra {
      if try OutboxQueue.mark(id, in: transaction) != nil {
        kept.append(id)
      } else if try isAsCompared(id, difference, in: transaction) {
        if let table = transaction.catalog.syncedTable(id.type) {
          try transaction.evict(table, id: id.id)
          try UnreadableTable.remove(id, in: transaction)
        } else {
          try UnrecognizedRecords.remove(id, in: transaction)
        }
        repaired.append(id)
      }
    }
    return (repaired, kept)
  }

  /// Keeps a record with pending work. If the server has other content in the version that the work is based on, the
  /// work is rebased on that content. If the server has another version, the next sync settles both.
  private static func keep(_ entry: Outbox.Entry, _ record: ServerRecord, in transaction: WriteTransaction)
    throws
  {
    guard let table = transaction.catalog.tableIfKnown(record.id.type) else { return }
    // A save may have got a newer version while the answer was on its way.
    if let known = entry.reported, !known.isAbsence, known.version.isHigher(than: record.version) { return }
    var isRepaired = false
    guard try UnreadableTable.row(record, table, repaired: &isRepaired, in: transaction) != nil else {
      return
    }
    guard let base = entry.base, base.version == record.version, entry.operationID == nil else {
      return try OutboxQueue.hear(record, in: transaction)
    }
    if entry.change != .delete, let row = try OutboxQueue.local(entry, table, in: transaction) {
      var members = try record.fields.members()
      for (name, value) in try PushBatchBuilder.changedFields(table.document(row), since: base) {
        members[name] = value.isNull ? nil : value
      }
      let new = try table.row(FieldsDocument(members), in: row.container, version: record.version)
      try OutboxQueue.setLocal(entry, table, new, in: transaction)
    }
    try OutboxQueue.reopen(record.id, base: Outbox.Entry.Base(record), kind: entry.change, in: transaction)
  }

  /// True if the record still has the version that was compared.
  private static func isAsCompared(
    _ id: RecordID, _ difference: Difference, in transaction: ReadTransaction
  ) throws -> Bool {
    guard let table = transaction.catalog.syncedTable(id.type) else { return true }
    return try version(of: id, table, in: transaction) == difference.versions[id]
  }

  /// Returns the version of a record as it is here or, if it can't be read, kept aside.
  static func version(
    of id: RecordID, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> String? {
    try UnreadableTable.wholeVersion(of: id, in: transaction) ?? transaction.row(table, id: id.id)?.version
  }
}

extension StoreMaintenance {
  /// The result of a comparison with the server.
  package struct Repair: Sendable, Hashable {
    /// The scope that was compared.
    package var scope: SyncScope
    /// True if the local records, without pending changes, equal the server's.
    package var isEqual = false
    /// Records that were replaced by the server's versions, or removed because the server has none.
    package var repaired: [RecordID] = []
    /// Records that differ and have pending work. They stay, and the next sync settles them.
    package var kept: [RecordID] = []
    /// The number of records that were compared one by one.
    package var compared = 0
    /// The number of round trips, which is one if all is equal.
    package var requests = 0
    /// True if the server changed since the pull.
    var isBehind = false
    /// True if the next pull brings the scope as a whole.
    var needsPull = false
  }
}

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
    let dirty = Set(pending.map(\.id)).union(unreadable.keys)
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
    for entry in pending where !entry.isLeaving && unreadable[entry.id] == nil {
      guard let reported = entry.reported, !reported.isDeleted && scope.contains(reported.container) else {
        continue
      }
      try body(Entry(id: entry.id, version: reported.version, fields: reported.fields.bytes))
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
