public import BothyStore
import Foundation
import GRDB

/// What was got out of a damaged file that had been set aside.
public struct SalvageReport: Sendable, Hashable {
  /// Changes that are pending again, as they were: the next sync sends them.
  public var pending = 0
  /// Records that are on no server and are here again.
  public var records = 0
  /// Records whose old change was left out, because they have a pending change in the new file.
  public var skipped: [RecordID] = []
  /// Records whose change or fields can't be read any more. The set-aside file is kept.
  public var lost: [RecordID] = []
  /// Whether every row that could hold such work was read.
  public var isComplete = true
}

extension SyncedStore {
  /// Gets out of a damaged file that was set aside (`Store.damagedFiles`) what can still be read of it: what was pending,
  /// and the records that are on no server. It is put into the file at `path`, which is made if there is none and must not
  /// be open. What the server has comes back with the next sync.
  ///
  /// Afterwards the old file is called `….salvaged-…`, and is told of no longer. Call it again if it fails: nothing is
  /// taken over twice. Throws `SyncError` `.pendingChanges` where operations of both files are in doubt (sync first),
  /// `.wrongAccount` for a file of somebody else, `.otherServer` where the files were synced with different servers or
  /// spaces, `.signedOut` for a file whose work was given up, and `StoreError` where nothing can be read at all.
  @discardableResult
  public static func salvage(
    _ file: String, into path: String, schema: StoreSchema, migrations: [Migration] = [],
    owner: AccountID? = nil,
    options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws -> SalvageReport {
    var wreck = try Wreck(file, otherwise: schema)
    try wreck.leaveOut(pendingIn: path, schema)
    try wreck.pending.check(owner, schema)
    try wreck.pending.restore(
      into: path, of: owner, schema: schema, migrations: migrations, options: options, clock: clock)
    let store = try Store(
      at: path, schema: schema, migrations: migrations, options: options, recorder: Outbox(clock: clock))
    defer { try? store.close() }  // what was written is durable
    try wreck.putRecords(into: store)
    wreck.report.pending += wreck.pending.entries.count
    try rename(file, to: "salvaged")
    return wreck.report
  }

  /// Says that nothing is wanted of a damaged file that was set aside. It is kept as `….dismissed-…`, and told of no
  /// longer.
  public static func dismiss(damagedFile file: String) throws { try rename(file, to: "dismissed") }

  private static func rename(_ file: String, to state: String) throws {
    guard let mark = file.range(of: ".damaged-", options: .backwards) else { return }
    let place = file.replacingCharacters(in: mark, with: ".\(state)-")
    for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: file + suffix) {
      try FileManager.default.moveItem(atPath: file + suffix, toPath: place + suffix)
    }
  }
}

/// What can be read of a damaged file. Tables are read from their beginning and, where that meets damage, from their end.
private struct Wreck {
  var pending: PendingDocument
  var report = SalvageReport()
  /// Records that are on no server, and whether their insert was pending in a part that can't be read.
  private var records: [(record: BothyStore.AnyRecord, wasPending: Bool)] = []
  private var seen: Set<RecordID> = []
  /// What is known of the server that the file was synced with.
  private var history: ServerHistory?

  init(_ file: String, otherwise schema: StoreSchema) throws {
    guard FileManager.default.fileExists(atPath: file) else {
      throw StoreError(
        .cannotOpen, "There is no file \(file). `Store.damagedFiles` names those that were set aside.")
    }
    do {
      self = try DamagedFile.readable(file) { readable in
        try Connections.inspecting(readable) { try Wreck(in: $0, otherwise: schema) }
      }
    } catch let error as SyncError { throw error } catch {
      let error = StoreError(error, path: file)
      guard error.code == .notADatabase else { throw error }
      throw StoreError(
        .corrupt,
        "Nothing can be read of \(file): its first page, which says where all else is, is gone. Restore a backup, or "
          + "dismiss the file.",
        underlying: error)
    }
  }

  private init(in database: Database, otherwise fallback: StoreSchema) throws {
    // What can't be read is made up for: the schema by the app's, the owner and the device by none.
    let schema = (try? Store.storedSchema(in: database)) ?? fallback
    let transaction = ReadTransaction(database, Catalog(schema))
    guard (try? ServerBinding.isSignedOut(in: transaction)) != true else {
      throw SyncError(
        .signedOut, "The work in this file was exported or given up by signing out. Dismiss the file.")
    }
    history = (try? ServerBinding.load(in: transaction))?.history
    pending = PendingDocument(
      owner: (try? FileOwner.stored(in: transaction)) ?? nil,
      device: (try? SyncValues.value("device", in: transaction)) ?? "", schema: schema)
    var entries: [RecordID: PendingDocument.Entry] = [:]
    var isWhole = true
    if try database.tableExists("bothy_outbox") {
      isWhole = Self.bothWays { direction in
        let sql = "SELECT * FROM bothy_outbox ORDER BY type \(direction), id \(direction)"
        let rows = try Row.fetchCursor(database, sql: sql)
        while let row = try rows.next() {
          guard let entry = try? PendingDocument.Entry(row) else { continue }
          entries[entry.record] = entry
        }
      }
    }
    for table in transaction.catalog.tables {
      let isRead = Self.bothWays { direction in
        let rows = try PreparedStatement(
          unkept: "\(table.selectSQL) ORDER BY rowid \(direction)", in: database)
        defer { rows.reset() }
        while try rows.step() { take(rows, table, isOutboxWhole: isWhole, &entries) }
      }
      report.isComplete = report.isComplete && isRead
    }
    report.isComplete = report.isComplete && isWhole
    for entry in entries.values.sorted(by: { $0.record.description < $1.record.description }) {
      if entry.fields == nil && !entry.isDeletion && entry.columns["awaited"] == nil {
        report.lost.append(entry.record)
      } else {
        pending.entries.append(entry)
      }
    }
    try takeLater(in: database)
    if pending.device.isEmpty { pending.entries = pending.entries.map(\.neverSent) }
  }

  /// Takes the changes that lie on top of others which could be read. Where some can't be read, the next, or the row,
  /// has what they made of the record: only the borders between transactions are lost.
  private mutating func takeLater(in database: Database) throws {
    guard try database.tableExists("bothy_later") else { return }
    var later: [RecordID: [Int64: PendingDocument.Entry]] = [:]
    let isWhole =
      Self.bothWays { direction in
        let sql =
          "SELECT * FROM bothy_later ORDER BY type \(direction), id \(direction), revision \(direction)"
        let rows = try Row.fetchCursor(database, sql: sql)
        while let row = try rows.next() {
          guard var entry = try? PendingDocument.Entry(row),
            let revision = entry.columns["revision"]?.intValue
          else { continue }
          entry.isLater = true
          later[entry.record, default: [:]][revision] = entry
        }
      }
    report.isComplete = report.isComplete && isWhole
    for first in pending.entries.indices {
      var changes = (later[pending.entries[first].record] ?? [:]).sorted { $0.key < $1.key }.map(\.value)
      if !isWhole { Self.close(&changes, on: pending.entries[first]) }
      pending.entries += changes
      let last = changes.isEmpty ? first : pending.entries.count - 1
      guard pending.entries[last].isBeneath else { continue }
      if pending.entries[first].fields == nil {
        pending.entries[first].fields = pending.entries[last].awaited
        pending.entries[first].container = pending.entries[last].columns["awaited_in"]?.stringValue
      }
      pending.entries[last].makeLast(hasRow: pending.entries[first].fields != nil)
    }
  }

  /// Has each change go on from the one beneath it: what one that can't be read made of the record is part of the next.
  private static func close(_ changes: inout [PendingDocument.Entry], on first: PendingDocument.Entry) {
    var beneath = first
    for index in changes.indices {
      if changes[index].columns["base"] != nil, let made = beneath.columns["awaited"] {
        changes[index].columns["base"] = made
        changes[index].columns["container"] = beneath.columns["awaited_in"]
      }
      beneath = changes[index]
    }
  }

  /// Reads from the beginning and, where that meets damage, from the end; false where something can't be read.
  private static func bothWays(_ read: (_ direction: String) throws -> Void) -> Bool {
    for direction in ["ASC", "DESC"] {
      do {
        try read(direction)
        return direction == "ASC"
      } catch { continue }
    }
    return false
  }

  /// A row that belongs to an entry, or that no server has.
  private mutating func take(
    _ row: PreparedStatement, _ table: TypeTable, isOutboxWhole: Bool,
    _ entries: inout [RecordID: PendingDocument.Entry]
  ) {
    guard let id = row.text(at: 0) else { return }
    let record = RecordID(type: table.schema.name, id: id)
    let isNowhere = !table.schema.isSynced || row.isNull(at: table.systemColumn + 1)
    guard entries[record] != nil || isNowhere, seen.insert(record).inserted else { return }
    guard let stored = try? StoredRow(from: row, table) else { return report.lost.append(record) }
    if entries[record] != nil {
      entries[record]?.fields = table.document(stored)
      entries[record]?.container = stored.container
      entries[record]?.version = stored.version
    } else {
      records.append((BothyStore.AnyRecord(id: id, stored, table), table.schema.isSynced && !isOutboxWhole))
    }
  }

  /// Leaves out the changes of records that have others in the file at `path`. Throws `SyncError` `.otherServer` for a
  /// file that was synced with another server or space.
  mutating func leaveOut(pendingIn path: String, _ schema: StoreSchema) throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    let (entries, history) = (pending.entries, history)
    let taken: Set<RecordID> = try Connections.reading(path) { database in
      guard try database.tableExists("bothy_outbox") else { return [] }
      let transaction = ReadTransaction(database, Catalog(schema))
      if let history, let here = try ServerBinding.load(in: transaction).history,
        (here.server, here.space) != (history.server, history.space)
      {
        throw SyncError(otherServer: history.refusal(here))
      }
      return try Set(entries.map(\.record).filter { try Outbox.mark($0, in: transaction) != nil })
    }
    report.skipped = entries.map(\.record).filter(taken.contains)
    pending.entries.removeAll { taken.contains($0.record) }
  }

  /// Writes the records that no server has, where there are none with their ids. One transaction.
  mutating func putRecords(into store: Store) throws {
    let (records, history) = (records, history)
    let (put, pending, lost) = try store.write { transaction in
      var (put, pending, lost) = (0, 0, [RecordID]())
      try ServerBinding.inherit(history, in: transaction)
      for (record, wasPending) in records {
        guard let table = transaction.catalog.tableIfKnown(record.type),
          let values = try? table.checkedValues(record)
        else {
          lost.append(record.recordID)
          continue
        }
        if try transaction.exists(record.recordID) { continue }
        if wasPending || !table.schema.isSynced {
          try transaction.insert(record)
        } else {
          try transaction.put(table, id: record.id, StoredRow(values: values, container: record.container))
        }
        if wasPending { pending += 1 } else { put += 1 }
      }
      return (put, pending, lost)
    }
    report.records = put
    report.pending = pending
    report.lost += lost
  }
}
