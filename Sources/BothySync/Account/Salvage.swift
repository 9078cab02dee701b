public import BothyStore
import Foundation
import GRDB

extension StoreMaintenance {
  /// The content that was salvaged from a quarantined file.
  package struct Salvage: Sendable, Hashable {
    /// The number of changes that are pending again. The next sync sends them.
    package var pending = 0
    /// The number of restored records that no server has.
    package var records = 0
    /// The records whose old change was left out, because they have a pending change in the new file. Those whose change
    /// was written together with such a change, or with a lost one, are included.
    package var skipped: [RecordID] = []
    /// The records whose change or fields can no longer be read, or whose unique value another record has. The
    /// quarantined file is kept.
    package var lost: [RecordID] = []
    /// True if every row that may hold such changes was read.
    package var isComplete = true
  }
}

extension StoreMaintenance {
  /// Salvages the readable content of a quarantined file (`LocalStore.damagedFiles`): its pending changes, and the records
  /// that no server has. It is written to the file at `path`, which is created if it doesn't exist and must not be
  /// open. The next sync downloads the server's records again.
  ///
  /// Returns the number of changes that are pending again. Afterwards the old file is called `….salvaged-…` and is no
  /// longer reported. Call it again if it fails. It doesn't salvage anything twice. Throws `BothyError`
  /// `.pendingChanges` if operations of both files are in doubt (sync first), and `wrongAccount` for a file of another
  /// user. Throws `.otherServer` if the files were synced with different servers or spaces, and `.signedOut` for a file
  /// that was exported or discarded by signing out. Throws `BothyError` if no part of the file can be read.
  @discardableResult
  public static func salvage(
    _ file: String, into path: String, schema: StoreSchema, migrations: [Migration] = [],
    owner: AccountID? = nil, options: StoreOptions = StoreOptions()
  ) throws -> Int {
    try salvaged(
      file, into: path, schema: schema, migrations: migrations, owner: owner, options: options
    ).pending
  }

  /// Like `salvage`, with all that was salvaged and lost.
  package static func salvaged(
    _ file: String, into path: String, schema: StoreSchema, migrations: [Migration] = [],
    owner: AccountID? = nil,
    options: StoreOptions = StoreOptions(), clock: SyncClock = SyncClock()
  ) throws -> Salvage {
    var wreck = try Wreck(file, otherwise: schema)
    let (memory, recordsMemory) = (wreck.pending.memory, wreck.recordsMemory)
    try wreck.leaveOut(pendingIn: path, schema, migrations)
    try wreck.pending.check(owner, schema)
    // A file that was salvaged before has its changes already.
    _ = try wreck.pending.restore(
      into: path, of: owner, schema: schema, migrations: migrations, options: options, clock: clock,
      memory: memory)
    try wreck.migrateRecords(beside: path, to: schema, migrations, options, clock)
    let store = try LocalStore.recording(
      at: path, schema: schema, migrations: migrations, options: options, clock: clock)
    defer { try? store.close() }  // the writes are durable
    try wreck.putRecords(into: store, memory: recordsMemory)
    wreck.report.pending += wreck.pending.entries.count
    try rename(file, to: "salvaged")
    return wreck.report
  }

  /// Dismisses a quarantined file without salvaging it. The file stays as `….dismissed-…`, and no call reports it
  /// again.
  ///
  /// Its pending changes are never sent then. A path that isn't that of a quarantined file changes nothing.
  /// Throws if the file can't be renamed.
  public static func dismiss(damagedFile file: String) throws { try rename(file, to: "dismissed") }

  private static func rename(_ file: String, to state: String) throws {
    guard let mark = file.range(of: ".damaged-", options: .backwards) else { return }
    let place = file.replacingCharacters(in: mark, with: ".\(state)-")
    for suffix in ["-wal", "-shm", ""] where FileManager.default.fileExists(atPath: file + suffix) {
      if !suffix.isEmpty, FileManager.default.fileExists(atPath: place + suffix) {
        // An earlier call ended halfway. This log was made when the file was read again.
        try FileManager.default.removeItem(atPath: file + suffix)
      } else {
        try FileManager.default.moveItem(atPath: file + suffix, toPath: place + suffix)
      }
    }
  }
}

/// The readable content of a damaged file. Tables are read from their beginning and, after damage, from their end.
private struct Wreck {
  var pending: PendingDocument
  var report = StoreMaintenance.Salvage()
  /// The records that no server has.
  private var records: [BothyStore.AnyRecord] = []
  /// Their sensitive values that the app's migrations have moved or renamed.
  private var secrets: [SecretKey: String] = [:]
  /// False if the inserts of such records may be in an unreadable part of the outbox.
  private var isOutboxWhole = true
  private var seen: Set<RecordID> = []
  /// The changes whose rows can't be read.
  private var lost: [PendingDocument.Entry] = []
  /// The known history of the server that the file was synced with.
  private var history: ServerHistory?

  init(_ file: String, otherwise schema: StoreSchema) throws {
    guard FileManager.default.fileExists(atPath: file) else {
      throw BothyError(
        .cannotOpen, "The file \(file) doesn't exist. `bothy doctor` names the quarantined files.")
    }
    do {
      self = try DamagedFile.readable(file) { readable in
        try Connections.inspecting(readable) { try Wreck(in: $0, otherwise: schema) }
      }
    } catch {
      let error = BothyError(error, path: file)
      guard error.code == .notADatabase else { throw error }
      throw BothyError(
        .corrupt,
        "Nothing can be read of \(file): its first page, which says where all else is, is gone. Restore a backup, or "
          + "dismiss the file.",
        underlying: error)
    }
  }

  private init(in database: Database, otherwise fallback: StoreSchema) throws {
    // The app's schema replaces an unreadable one. The owner and the device have no replacement.
    let schema = (try? LocalStore.storedSchema(in: database)) ?? fallback
    let transaction = ReadTransaction(database, Catalog(schema))
    guard (try? ServerBinding.isSignedOut(in: transaction)) != true else {
      throw BothyError(
        .signedOut, "The work in this file was exported or given up by signing out. Dismiss the file.")
    }
    history = (try? ServerBinding.load(in: transaction))?.history
    pending = PendingDocument(
      owner: (try? FileOwner.stored(in: transaction)) ?? nil,
      device: (try? SyncValues.value("device", in: transaction)) ?? "", schema: schema)
    var entries: [RecordID: PendingDocument.Entry] = [:]
    isOutboxWhole = try Self.bothWays("bothy_outbox", by: ["type", "id"], in: database) {
      entries[$0.record] = $0
    }
    for table in transaction.catalog.tables {
      let isRead = Self.bothWays { direction in
        let rows = try PreparedStatement(
          unkept: "\(table.selectSQL) ORDER BY rowid \(direction)", in: database)
        defer { rows.reset() }
        while try rows.step() { take(rows, table, &entries) }
      }
      report.isComplete = report.isComplete && isRead
    }
    report.isComplete = report.isComplete && isOutboxWhole
    for var entry in entries.values.sorted(by: { $0.record.description < $1.record.description }) {
      // A row that can't be read is missing, and the content counts as an edit.
      entry.given = (try? GivenBack.row(of: entry.record, in: database)).flatMap { $0 }
        .flatMap { try? PendingDocument.Entry.columns($0) }
      if entry.fields == nil && !entry.isDeletion && entry.columns["awaited"] == nil {
        report.lost.append(entry.record)
        lost.append(entry)
      } else {
        pending.entries.append(entry)
      }
    }
    try takeLater(in: database)
    if pending.device.isEmpty { pending.entries = pending.entries.map(\.neverSent) }
  }

  /// Reads the changes that follow other readable changes. The next change, or the row, contains the effect of an
  /// unreadable one, so only the borders between transactions are lost.
  private mutating func takeLater(in database: Database) throws {
    guard try database.tableExists("bothy_later") else { return }
    var later: [RecordID: [Int64: PendingDocument.Entry]] = [:]
    let isWhole = try Self.bothWays("bothy_later", by: ["type", "id", "revision"], in: database) { entry in
      guard let revision = entry.columns["revision"]?.intValue else { return }
      var entry = entry
      entry.isLater = true
      later[entry.record, default: [:]][revision] = entry
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

  /// Bases each change on the one before it. The effect of an unreadable change becomes part of the next.
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

  /// Reads the changes of a table that can be read, of none if the file lacks it. Returns false if a part can't be read.
  private static func bothWays(
    _ table: String, by columns: [String], in database: Database, _ body: (PendingDocument.Entry) -> Void
  ) throws -> Bool {
    guard try database.tableExists(table) else { return true }
    return bothWays { direction in
      let order = columns.map { "\($0) \(direction)" }.joined(separator: ", ")
      let rows = try Row.fetchCursor(database, sql: "SELECT * FROM \(table) ORDER BY \(order)")
      while let row = try rows.next() {
        guard let entry = try? PendingDocument.Entry(row) else { continue }
        body(entry)
      }
    }
  }

  /// Reads from the beginning and, after damage, from the end. Returns false if a part can't be read.
  private static func bothWays(_ read: (_ direction: String) throws -> Void) -> Bool {
    for direction in ["ASC", "DESC"] {
      do {
        try read(direction)
        return direction == "ASC"
      } catch { continue }
    }
    return false
  }

  /// Reads a row that belongs to an entry, or that no server has.
  private mutating func take(
    _ row: PreparedStatement, _ table: TypeTable, _ entries: inout [RecordID: PendingDocument.Entry]
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
      records.append(BothyStore.AnyRecord(id: id, stored, table))
    }
  }

  /// Leaves out the changes of records that have pending changes in the file at `path`, and those that were written
  /// together with them or with changes that can't be read. Throws `BothyError` `.otherServer` for a file that was synced
  /// with another server or space.
  mutating func leaveOut(
    pendingIn path: String, _ schema: StoreSchema, _ migrations: [Migration]
  ) throws {
    let left = try tied(to: taken(in: path, schema, migrations).union(lost.map(\.record)))
    report.skipped = pending.entries.map(\.record).filter(left.contains)
    pending.entries.removeAll { left.contains($0.record) }
  }

  /// Returns records with all others that transactions have changed together with them, directly or by others.
  private func tied(to taken: Set<RecordID>) -> Set<RecordID> {
    var records: [String: [RecordID]] = [:]
    var groups: [RecordID: [String]] = [:]
    for change in pending.entries + lost {
      for group in change.groups {
        records[group, default: []].append(change.record)
        groups[change.record, default: []].append(group)
      }
    }
    var (found, open) = (taken, Array(taken))
    while let record = open.popLast() {
      for group in groups.removeValue(forKey: record) ?? [] {
        open += (records.removeValue(forKey: group) ?? []).filter { found.insert($0).inserted }
      }
    }
    return found
  }

  /// Returns the records that have pending changes in the file at `path` too, where an update of the app may have renamed
  /// their types.
  private func taken(
    in path: String, _ schema: StoreSchema, _ migrations: [Migration]
  ) throws -> Set<RecordID> {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let (entries, history, version) = (pending.entries, history, pending.schema.version)
    let steps = migrations.filter { $0.version > version }.sorted { $0.version < $1.version }.map(\.step)
    let found = try SyncValues.reading(path, schema) { transaction -> Set<RecordID> in
      if let history, let here = try ServerBinding.load(in: transaction).history,
        (here.server, here.space) != (history.server, history.space)
      {
        throw BothyError(SyncStop.otherServer(history.refusal(here)))
      }
      return try Set(
        entries.map(\.record).filter { record in
          let present = SecretKey(record, field: "").renamed(by: steps)?.record ?? record
          return try [record, present].contains { try OutboxQueue.mark($0, in: transaction) != nil }
        })
    }
    return found ?? []
  }

  /// Brings the records that no server has to the app's schema, by its steps.
  mutating func migrateRecords(
    beside path: String, to target: StoreSchema, _ migrations: [Migration], _ options: StoreOptions,
    _ clock: SyncClock
  ) throws {
    guard !records.isEmpty else { return }
    let (old, schema) = (records, pending.schema)
    let secrets = try PendingSecrets(of: old.map(\.recordID), schema, to: target, beside: path, options)
    var lost: [RecordID] = []
    records = try secrets.migrating(schema, to: target, beside: path, migrations, options, clock) {
      transaction in
      for record in old where try !Self.write(record, asChange: false, in: transaction) {
        lost.append(record.recordID)
      }
    } read: { transaction in
      try transaction.catalog.tables.flatMap { table in
        try transaction.rows(table.selectSQL) { row in
          try row.text(at: 0).map { try BothyStore.AnyRecord(id: $0, StoredRow(from: row, table), table) }
        }
      }
    }
    self.secrets = try secrets.found(for: records.map(\.recordID))
    report.lost += lost
  }

  /// The key under which a file remembers that it has taken these records in.
  var recordsMemory: String {
    let content = records.map { record in
      JSONValue.array([
        .string(record.type), .string(record.id), .object(record.fields.mapValues(\.json)),
      ])
    }
    return "salvaged." + PendingDocument.hash(of: .array(content))
  }

  /// Writes the records that no server has, unless the store has records with their ids or unique values. Uses one
  /// transaction. Does nothing if an earlier call has written all of them, because some may be deleted since.
  mutating func putRecords(into store: LocalStore, memory: String) throws {
    let (records, history, isOutboxWhole) = (records, history, isOutboxWhole)
    let secrets = Dictionary(grouping: secrets, by: \.key.record)
    let (put, pending, lost) = try store.write { transaction in
      var (put, pending, lost) = (0, 0, [RecordID]())
      try ServerBinding.inherit(history, in: transaction)
      if try SyncValues.value(memory, in: transaction) != nil { return (put, pending, lost) }
      for record in records {
        if try transaction.exists(record.recordID) { continue }
        let isChange = try transaction.catalog.table(record.type).schema.isSynced && !isOutboxWhole
        guard try Self.write(record, asChange: isChange, in: transaction) else {
          lost.append(record.recordID)
          continue
        }
        // A record that is here already keeps its own.
        for (key, secret) in secrets[record.recordID] ?? [] { transaction.secrets[key] = secret }
        if isChange { pending += 1 } else { put += 1 }
      }
      if lost.isEmpty { try SyncValues.set(memory, "1", in: transaction) }
      return (put, pending, lost)
    }
    report.records = put
    report.pending = pending
    report.lost += lost
  }

  /// Writes a record that no server has. Returns false if it doesn't fit its type, or if another one has its unique value.
  private static func write(
    _ record: BothyStore.AnyRecord, asChange isChange: Bool, in transaction: WriteTransaction
  ) throws -> Bool {
    let table = try transaction.catalog.table(record.type)
    guard let values = try? table.checkedValues(record) else { return false }
    do {
      if isChange || !table.schema.isSynced {
        try transaction.insert(record)
      } else {
        let row = StoredRow(
          values: values, container: record.container, unknownFields: record.unknownFields)
        try transaction.put(table, id: record.id, row)
      }
      return true
    } catch let error as BothyError where error.code == .uniqueViolation { return false }
  }
}

extension PendingDocument.Entry {
  /// The transactions that the change belongs to: that of changes to send, and that of sent ones.
  fileprivate var groups: [String] {
    ["together", "sent_together"].compactMap { columns[$0]?.stringValue }
  }
}
