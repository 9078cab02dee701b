import BothyStore
import Foundation
import GRDB

/// Everything that is pending in a file, as one JSON document: the entries of the outbox as they are stored, each
/// with its record, the schema they fit, and whose they are. What is restored from it goes to the server as if it had
/// never left the file: operations that were sent keep their ids.
struct PendingDocument {
  struct Entry {
    var record: RecordID
    /// The columns of the outbox by name, nulls left out.
    var columns: [String: JSONValue]
    /// The record's fields; nil for a deletion.
    var fields: FieldsDocument?
    var container: String?
    var version: String?
    /// Whether it lies on top of another of its record.
    var isLater = false
  }

  private static let format = "bothy-pending"
  private static let formatVersion: Int64 = 1

  var owner: AccountID?
  var device: String
  var schema: StoreSchema
  var entries: [Entry] = []

  /// Whether the outcome of any operation is unknown.
  private var isInDoubt: Bool { entries.contains { $0.columns["operation"] != nil } }

  /// What is pending in an open store. One read transaction.
  init(of store: Store) throws {
    self = try store.read { try PendingDocument(in: $0) }
  }

  init(in transaction: ReadTransaction) throws {
    owner = try FileOwner.stored(in: transaction)
    device = try SyncValues.value("device", in: transaction) ?? ""
    schema = transaction.catalog.schema
    let rows = try Row.fetchCursor(transaction.database, sql: "SELECT * FROM bothy_outbox")
    while let row = try rows.next() {
      var entry = try Entry(row)
      if let table = transaction.catalog.tableIfKnown(entry.record.type),
        let stored = try transaction.row(table, id: entry.record.id)
      {
        entry.fields = table.document(stored)
        entry.container = stored.container
        entry.version = stored.version
      }
      entries.append(entry)
    }
    entries += try Entry.later(in: transaction.database)
  }

  /// Whether another document holds the same.
  func isSame(as other: PendingDocument) -> Bool { json.canonicalText == other.json.canonicalText }

  // MARK: the document

  /// Writes the document so that a crash leaves it whole or not there, readable by this user of the machine alone.
  /// Throws `SyncError` `.badDocument` when there is a file already.
  func write(to path: String) throws {
    let manager = FileManager.default
    guard !manager.fileExists(atPath: path) else {
      throw SyncError(.badDocument, "\(path) is there already. Give the path of a new file.")
    }
    let part = path + ".part"
    guard manager.createFile(atPath: part, contents: nil, attributes: [.posixPermissions: 0o600]),
      let handle = FileHandle(forWritingAtPath: part)
    else { throw SyncError(.badDocument, "\(part) can't be written.") }
    try handle.write(contentsOf: Data(json.canonicalText.utf8))
    try handle.synchronize()
    try handle.close()
    try manager.moveItem(atPath: part, toPath: path)
  }

  private var json: JSONValue {
    var members: [String: JSONValue] = [
      "format": .string(Self.format), "version": .int(Self.formatVersion), "device": .string(device),
      "schema": schema.json, "entries": .array(entries.map(\.json)),
    ]
    if let owner {
      members["space"] = .string(owner.space)
      members["principal"] = .string(owner.principal)
    }
    return .object(members)
  }

  /// Reads a document. Throws `SyncError` `.badDocument`.
  init(contentsOf path: String) throws {
    let document: JSONValue
    do { document = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path)))) } catch {
      throw SyncError(.badDocument, "\(path) is no document of pending work: \(error)")
    }
    guard document["format"]?.stringValue == Self.format, document["version"]?.intValue == Self.formatVersion,
      let device = document["device"]?.stringValue, let schema = document["schema"],
      let entries = document["entries"]?.arrayValue
    else {
      throw SyncError(.badDocument, "\(path) is no document of pending work that this version can read.")
    }
    self.device = device
    self.schema = try StoreSchema(json: schema.canonicalText)
    if let space = document["space"]?.stringValue, let principal = document["principal"]?.stringValue {
      owner = AccountID(space: space, principal: principal)
    }
    for entry in entries {
      guard let read = Entry(json: entry) else {
        throw SyncError(.badDocument, "\(path) has an entry that can't be read.")
      }
      self.entries.append(read)
    }
  }

  // MARK: restoring

  /// Throws when the document is somebody else's, or of a newer version of the app.
  func check(_ owner: AccountID?, _ target: StoreSchema) throws {
    if let mine = self.owner, let owner, mine != owner {
      throw SyncError(.wrongAccount, "The document holds the work of \(mine), not of \(owner).")
    }
    guard schema.version <= target.version else {
      throw SyncError(
        .badDocument,
        "The document was written by a newer version of the app (schema \(schema.version)). Update the app.")
    }
  }

  /// Makes pending again what the document holds, in the file at `path`, which is made if there is none. The entries
  /// are first brought to the app's schema by its migrations, in a file of their own. One transaction on the target.
  func restore(
    into path: String, of owner: AccountID?, schema target: StoreSchema, migrations: [Migration],
    options: StoreOptions,
    clock: SyncClock
  ) throws {
    var migrated = try migrated(beside: path, to: target, migrations, options, clock)
    migrated.device = device
    let document = migrated
    let store = try Store(
      at: path, schema: target, migrations: migrations, options: options, recorder: Outbox(clock: clock))
    do {
      try store.write(origin: .remote) { transaction in
        _ = try FileOwner.bind(owner ?? self.owner, in: transaction)
        try document.check(in: transaction)
        if document.isInDoubt { try SyncValues.set("device", device, in: transaction) }
        try document.insert(in: transaction)
        // What the server has told of these records since is brought again, beside what is pending.
        try PullState.resetAll(in: transaction)
      }
    } catch {
      try? store.close()  // the first error is the one to tell
      throw error
    }
    try store.close()
  }

  private func migrated(
    beside path: String, to target: StoreSchema, _ migrations: [Migration], _ options: StoreOptions,
    _ clock: SyncClock
  ) throws -> PendingDocument {
    let temporary = "\(path)-import-\(UUIDv7.make())"
    defer { try? DatabaseFiles.remove(temporary) }  // what is left of it goes with the database
    func open(_ schema: StoreSchema, _ migrations: [Migration]) throws -> Store {
      try Store(
        at: temporary, schema: schema, migrations: migrations, options: options,
        recorder: Outbox(clock: clock))
    }
    let old = try open(schema, [])
    try old.write(origin: .remote) { try insert(in: $0) }
    try old.close()
    let new = try open(target, migrations)
    let document = try PendingDocument(of: new)
    try new.close()
    return document
  }

  private func check(in transaction: ReadTransaction) throws {
    if let twice = try entries.first(where: { try Outbox.mark($0.record, in: transaction) != nil }) {
      throw SyncError(
        .pendingChanges,
        "\(twice.record) has pending changes here too. Sync first, then open the document again.",
        record: twice.record)
    }
    let here = try SyncValues.value("device", in: transaction)
    if isInDoubt, let here, here != device, try Outbox.oldestOperation(in: transaction) != nil {
      throw SyncError(
        .pendingChanges,
        "The file has operations whose outcome is unknown. Sync first, then open the document again.")
    }
  }

  private func insert(in transaction: WriteTransaction) throws {
    let known = try Set(transaction.database.columns(in: "bothy_outbox").map(\.name))
    for entry in entries {
      let columns = entry.columns.sorted { $0.key < $1.key }
      if let stray = columns.first(where: { !known.contains($0.key) }) {
        throw SyncError(
          .badDocument,
          "The document has '\(stray.key)', which this version of Bothy does not know. Update it.")
      }
      // The names are those of the table itself.
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      try transaction.database.execute(
        sql:
          "INSERT INTO \(entry.isLater ? "bothy_later" : "bothy_outbox") (\(columns.map(\.key).joined(separator: ", "))) VALUES (\(marks))",
        arguments: StatementArguments(columns.map { $0.value.databaseValue }))
      guard let fields = entry.fields else { continue }
      let table = try transaction.catalog.table(entry.record.type)
      var repaired = false
      var row = try table.row(
        fields, container: entry.container ?? entry.record.type, version: entry.version, repaired: &repaired)
      let edited = entry.columns["edited"]?.intValue
      row.metadata = RecordMetadata(
        created: entry.columns["base_created"]?.intValue ?? edited, modified: edited,
        owner: entry.columns["base_owner"]?.stringValue)
      try transaction.replace(table, id: entry.record.id, row)
    }
  }

  // MARK: making a file anew

  /// Writes what is pending in a file, under the schema it carries, to a document beside it, and removes the file.
  /// Returns the document's path; nil when nothing was pending.
  static func setAside(_ path: String, _ options: StoreOptions) throws -> String? {
    let store = try Store(existing: path, options: options)
    var place: String?
    let isSynced = try store.read { try $0.database.tableExists("bothy_outbox") }
    if isSynced {
      let document = try PendingDocument(of: store)
      if !document.entries.isEmpty {
        var number = 1
        while FileManager.default.fileExists(atPath: "\(path).pending-\(number).json") { number += 1 }
        let free = "\(path).pending-\(number).json"
        try document.write(to: free)
        place = free
      }
    }
    try store.close()
    if let place { try DatabaseFiles.copyBlobs(of: path, beside: place) }
    try DatabaseFiles.remove(path)
    return place
  }
}

extension PendingDocument {
  /// A document without entries.
  init(owner: AccountID?, device: String, schema: StoreSchema) {
    self.owner = owner
    self.device = device
    self.schema = schema
  }
}

extension PendingDocument.Entry {
  /// A row of the outbox, without the fields of its record.
  init(_ row: Row) throws {
    var columns: [String: JSONValue] = [:]
    for (name, value) in row {
      switch value.storage {
      case .int64(let number): columns[name] = .int(number)
      case .string(let text): columns[name] = .string(text)
      case .null: break
      case .double, .blob:
        throw SyncError(.badDocument, "The outbox column \(name) holds what no document of pending work can.")
      }
    }
    guard let type = columns["type"]?.stringValue, let id = columns["id"]?.stringValue else {
      throw SyncError(.badDocument, "An entry of the outbox has no name.")
    }
    self.init(record: RecordID(type: type, id: id), columns: columns)
  }

  /// The changes on top of others.
  static func later(in database: Database) throws -> [PendingDocument.Entry] {
    try Row.fetchAll(database, sql: "SELECT * FROM bothy_later").map { row in
      var entry = try PendingDocument.Entry(row)
      entry.isLater = true
      return entry
    }
  }

  /// Whether later changes of its record lie on top of it.
  var isBeneath: Bool { columns["awaiting"]?.intValue == OutboxEntry.Awaited.Keeping.beneath.rawValue }

  /// Has the row say what the change makes of the record: what lay on top of it is lost.
  mutating func makeLast(hasRow: Bool) {
    for name in ["awaiting", "awaited", "awaited_in"] { columns[name] = nil }
    guard isDeletion && hasRow else { return }
    columns["kind"] = .int((columns["base_version"] == nil ? SyncOperation.Kind.insert : .update).number)
  }

  /// What the change makes of the record, where that lies in it.
  var awaited: FieldsDocument? {
    columns["awaited"]?.stringValue.map { FieldsDocument(canonical: Array($0.utf8)) }
  }

  var isDeletion: Bool { columns["kind"]?.intValue == SyncOperation.Kind.delete.number }

  /// The same without what was sent of it: who does not know the old device's id can't ask for the outcome.
  var neverSent: PendingDocument.Entry {
    var entry = self
    entry.columns["together"] = columns["together"] ?? columns["sent_together"]
    for name in ["operation", "sent_revision", "sent", "sent_together"] { entry.columns[name] = nil }
    return entry
  }

  fileprivate var json: JSONValue {
    var members: [String: JSONValue] = ["entry": .object(columns)]
    if let fields, let value = try? JSONValue(parsing: fields.bytes) {  // canonical JSON always parses
      members["fields"] = value
    }
    if let container { members["container"] = .string(container) }
    if let version { members["version"] = .string(version) }
    if isLater { members["later"] = .bool(true) }
    return .object(members)
  }

  fileprivate init?(json: JSONValue) {
    guard let columns = json["entry"]?.objectValue, let type = columns["type"]?.stringValue,
      let id = columns["id"]?.stringValue
    else { return nil }
    self.init(
      record: RecordID(type: type, id: id), columns: columns,
      fields: json["fields"]?.objectValue.map { FieldsDocument($0) },
      container: json["container"]?.stringValue,
      version: json["version"]?.stringValue, isLater: json["later"]?.boolValue ?? false)
  }
}

extension JSONValue {
  fileprivate var databaseValue: DatabaseValue {
    switch self {
    case .int(let number): number.databaseValue
    case .string(let text): text.databaseValue
    case .null, .bool, .double, .object, .array: .null
    }
  }
}
