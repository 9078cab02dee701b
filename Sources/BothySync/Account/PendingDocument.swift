import BothyStore
import Crypto
import Foundation
import GRDB

/// All pending changes of a file as one JSON document. It has the stored entries of the outbox, each with its record,
/// and their schema and owner. Restored changes are sent as if they had never left the file. Operations that were sent
/// keep their ids.
struct PendingDocument {
  struct Entry {
    var record: RecordID
    /// The columns of the outbox by name, without nulls.
    var columns: [String: JSONValue]
    /// The record's fields; `nil` for a deletion.
    var fields: FieldsDocument?
    var container: String?
    var version: String?
    /// True if another change of its record precedes it.
    var isLater = false
    /// The columns of `bothy_given` by name, without nulls, for a record that is being returned to the server.
    var given: [String: JSONValue]?
  }

  private static let format = "bothy-pending"
  private static let formatVersion: Int64 = 1

  var owner: AccountID?
  var device: String
  var schema: StoreSchema
  var entries: [Entry] = []

  /// True if the outcome of any operation is unknown.
  private var isInDoubt: Bool { entries.contains { $0.columns["operation"] != nil } }

  /// Reads the pending changes of a file.
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
      entry.given = try GivenBack.row(of: entry.record, in: transaction.database).map {
        try Entry.columns($0)
      }
      entries.append(entry)
    }
    entries += try Entry.later(in: transaction.database)
  }

  /// Makes drafts of the changes whose sensitive values are in a secret store, because no document has these. Returns
  /// the number of the changes.
  @discardableResult
  mutating func hold(_ secrets: [SecretKey]) -> Int {
    let waiting = Set(secrets.map(\.record))
    let indices = entries.indices.filter { waiting.contains(entries[$0].record) }
    for index in indices {
      entries[index].columns["state"] = .int(Int64(Outbox.Entry.Stage.held.rawValue))
    }
    return indices.count
  }

  /// Returns true if another document has equal content.
  func isSame(as other: PendingDocument) -> Bool { json.canonicalText == other.json.canonicalText }

  // MARK: the document

  /// Writes the document so that after a crash it is complete or doesn't exist. This user of the machine alone can read
  /// it. Throws `BothyError` `badDocument` if the file exists already.
  func write(to path: String) throws {
    let manager = FileManager.default
    guard !manager.fileExists(atPath: path) else {
      throw BothyError(.badDocument, "\(path) is there already. Give the path of a new file.")
    }
    let part = path + ".part"
    guard manager.createFile(atPath: part, contents: nil, attributes: [.posixPermissions: 0o600]),
      let handle = FileHandle(forWritingAtPath: part)
    else { throw BothyError(.badDocument, "\(part) can't be written.") }
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
      members["principal"] = .string(owner.user)
    }
    return .object(members)
  }

  /// Reads a document. Throws `BothyError` `badDocument`.
  init(contentsOf path: String) throws {
    let document: JSONValue
    do { document = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path)))) } catch {
      throw BothyError(.badDocument, "\(path) isn't a document of pending work: \(error)")
    }
    guard document["format"]?.stringValue == Self.format, document["version"]?.intValue == Self.formatVersion,
      let device = document["device"]?.stringValue, let schema = document["schema"],
      let entries = document["entries"]?.arrayValue
    else {
      throw BothyError(.badDocument, "\(path) isn't a document of pending work that this version can read.")
    }
    self.device = device
    self.schema = try StoreSchema(json: schema.canonicalText)
    if let space = document["space"]?.stringValue, let user = document["principal"]?.stringValue {
      owner = AccountID(space: space, user: user)
    }
    for entry in entries {
      guard let read = Entry(json: entry) else {
        throw BothyError(.badDocument, "\(path) has an entry that can't be read.")
      }
      self.entries.append(read)
    }
  }

  // MARK: restoring

  /// Throws if the document belongs to another user or to a newer version of the app.
  func check(_ owner: AccountID?, _ target: StoreSchema) throws {
    if let mine = self.owner, let owner, mine != owner {
      throw BothyError(.wrongAccount, "The document holds the work of \(mine), not of \(owner).")
    }
    guard schema.version <= target.version else {
      throw BothyError(
        .badDocument,
        "The document was written by a newer version of the app (schema \(schema.version)). Update the app.")
    }
  }

  /// Makes the document's changes pending again in the file at `path`, which is created if it doesn't exist. The app's
  /// migrations first bring the entries to its schema, in a file of their own. Uses one transaction on the target.
  ///
  /// The file remembers the document by `memory`, if changes were left out of it since. Returns false, with nothing done,
  /// if the file has taken it in before. The bytes of blobs are copied from beside `place`.
  func restore(
    into path: String, of owner: AccountID?, schema target: StoreSchema, migrations: [Migration],
    options: StoreOptions, clock: SyncClock, memory: String? = nil, blobsBeside place: String? = nil
  ) throws -> Bool {
    let memory = memory ?? self.memory
    let (document, secrets) = try migrated(beside: path, to: target, migrations, options, clock)
    let store = try LocalStore.recording(
      at: path, schema: target, migrations: migrations, owner: owner ?? self.owner, options: options,
      clock: clock)
    let isNew: Bool
    do {
      if let place { try DatabaseFiles.copyBlobs(from: place, to: path) }
      isNew = try store.write(origin: .remote) { transaction in
        _ = try FileOwner.bind(owner ?? self.owner, in: transaction)
        if !entries.isEmpty {
          guard try SyncValues.value(memory, in: transaction) == nil else { return false }
          try SyncValues.set(memory, "1", in: transaction)
        }
        try document.check(in: transaction)
        if document.isInDoubt { try SyncValues.set("device", device, in: transaction) }
        try document.insert(in: transaction)
        transaction.secrets.merge(secrets) { $1 }
        // The server's newer versions of these records are downloaded again, beside the pending changes.
        try PullState.resetAll(in: transaction)
        return true
      }
    } catch {
      try? store.close()  // the first error is thrown
      throw error
    }
    try store.close()
    return isNew
  }

  /// The key under which a file remembers that it has taken the document in. Equal documents have one key.
  var memory: String { "pending." + Self.hash(of: json) }

  static func hash(of content: JSONValue) -> String {
    SHA256.hash(data: Array(content.canonicalText.utf8)).hexadecimal
  }

  /// Returns the document by another schema, and the sensitive values that the steps have moved or renamed.
  private func migrated(
    beside path: String, to target: StoreSchema, _ migrations: [Migration], _ options: StoreOptions,
    _ clock: SyncClock
  ) throws -> (PendingDocument, [SecretKey: String]) {
    let secrets = try PendingSecrets(
      of: entries.map(\.record), schema, to: target, beside: path, options)
    var document = try secrets.migrating(schema, to: target, beside: path, migrations, options, clock) {
      try insert(in: $0)
    } read: {
      try PendingDocument(in: $0)
    }
    document.device = device
    return (document, try secrets.found(for: document.entries.map(\.record)))
  }

  private func check(in transaction: ReadTransaction) throws {
    if let twice = try entries.first(where: { try OutboxQueue.mark($0.record, in: transaction) != nil }) {
      throw BothyError(
        .pendingChanges,
        "\(twice.record) has pending changes here too. Release drafts and sync first, then open the document again.",
        record: twice.record)
    }
    let here = try SyncValues.value("device", in: transaction)
    if isInDoubt, let here, here != device, try OutboxQueue.oldestOperation(in: transaction) != nil {
      throw BothyError(
        .pendingChanges,
        "The file has operations whose outcome is unknown. Sync first, then open the document again.")
    }
  }

  private func insert(in transaction: WriteTransaction) throws {
    let known = try Set(transaction.database.columns(in: "bothy_outbox").map(\.name))
    for entry in entries {
      // The times of `former` are those of another file, and no value of this one was read before.
      let columns = entry.columns.filter { $0.key != "former" }
        .map { (key: OutboxTables.presentName($0.key), value: $0.value) }.sorted { $0.key < $1.key }
      if let stray = columns.first(where: { !known.contains($0.key) }) {
        throw BothyError(
          .badDocument,
          "The document has '\(stray.key)', which this version of Bothy does not know. Update it.")
      }
      try Self.insert(columns, into: entry.isLater ? "bothy_later" : "bothy_outbox", transaction)
      if let given = entry.given {
        let columns = given.filter { GivenBack.columns.contains($0.key) }
        // A row of content that was given back before may be left.
        try Self.insert(columns.sorted { $0.key < $1.key }, into: "bothy_given", replaces: true, transaction)
      }
      let table = try transaction.catalog.table(entry.record.type)
      guard let fields = entry.fields else {
        // Without a row the last change of the record is a deletion.
        if !entry.isLater && (entry.isDeletion || entry.isBeneath) {
          try transaction.evict(table, id: entry.record.id)
        }
        continue
      }
      var row = try table.row(fields, in: entry.container, version: entry.version)
      let edited = entry.columns["edited"]?.intValue
      row.metadata = RecordMetadata(
        created: entry.columns["base_created"]?.intValue ?? edited, modified: edited,
        owner: entry.columns["base_owner"]?.stringValue)
      try transaction.replace(table, id: entry.record.id, row)
    }
  }

  /// Inserts a row. The names of the columns are those of the table itself.
  private static func insert(
    _ columns: [(key: String, value: JSONValue)], into table: String, replaces: Bool = false,
    _ transaction: WriteTransaction
  ) throws {
    let verb = replaces ? "INSERT OR REPLACE" : "INSERT"
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    try transaction.database.execute(
      sql:
        "\(verb) INTO \(table) (\(columns.map(\.key).joined(separator: ", "))) VALUES (\(marks))",
      arguments: StatementArguments(columns.map { $0.value.databaseValue }))
  }
}

extension PendingDocument {
  /// Makes a document without entries.
  init(owner: AccountID?, device: String, schema: StoreSchema) {
    self.owner = owner
    self.device = device
    self.schema = schema
  }
}

extension PendingDocument.Entry {
  /// Returns the columns of a row by name, without nulls.
  static func columns(_ row: Row) throws -> [String: JSONValue] {
    var columns: [String: JSONValue] = [:]
    for (name, value) in row {
      switch value.storage {
      case .int64(let number): columns[name] = .int(number)
      case .string(let text): columns[name] = .string(text)
      case .null: break
      case .double, .blob:
        throw BothyError(
          .badDocument, "The outbox column \(name) holds what no document of pending work can.")
      }
    }
    return columns
  }

  /// Reads a row of the outbox, without the fields of its record.
  init(_ row: Row) throws {
    let columns = try Self.columns(row)
    guard let type = columns["type"]?.stringValue, let id = columns["id"]?.stringValue else {
      throw BothyError(.badDocument, "An entry of the outbox has no name.")
    }
    self.init(record: RecordID(type: type, id: id), columns: columns)
  }

  /// Returns the changes that follow others of their records.
  static func later(in database: Database) throws -> [PendingDocument.Entry] {
    try Row.fetchAll(database, sql: "SELECT * FROM bothy_later").map { row in
      var entry = try PendingDocument.Entry(row)
      entry.isLater = true
      return entry
    }
  }

  /// True if later changes of its record follow it.
  var isBeneath: Bool { columns["awaiting"]?.intValue == Outbox.Entry.Awaited.Keeping.beneath.rawValue }

  /// Makes the change its record's last one, because the changes after it are lost. The row has its result.
  mutating func makeLast(hasRow: Bool) {
    for name in ["awaiting", "awaited", "awaited_in"] { columns[name] = nil }
    guard isDeletion && hasRow else { return }
    columns["kind"] = .int((columns["base_version"] == nil ? ChangeKind.insert : .update).number)
  }

  /// The record after the change, if the entry has it.
  var awaited: FieldsDocument? {
    columns["awaited"]?.stringValue.map { FieldsDocument(canonical: Array($0.utf8)) }
  }

  var isDeletion: Bool { columns["kind"]?.intValue == ChangeKind.delete.number }

  /// The entry without its sent operation. Without the old device's id, its outcome can't be requested.
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
    if let given { members["given"] = .object(given) }
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
      version: json["version"]?.stringValue, isLater: json["later"]?.boolValue ?? false,
      given: json["given"]?.objectValue)
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
