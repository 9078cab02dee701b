import BothyStore

/// A value of a unique field, by which a storage finds the records that have it. Values are compared byte by byte.
public struct UniqueFieldValue: Sendable, Hashable {
  /// The type of the records.
  public var type: String
  /// The unique field.
  public var field: String
  /// The text of the value, unique among values: its canonical JSON, or a checksum of that if it is long.
  public var value: String

  /// Makes a value, for the server and its storage.
  public init(type: String, field: String, value: String) {
    self.type = type
    self.field = field
    self.value = value
  }

  /// Compares byte by byte, like SQLite. Swift's own `==` treats canonically equivalent texts as equal.
  public static func == (left: UniqueFieldValue, right: UniqueFieldValue) -> Bool {
    left.value.hasSameBytes(as: right.value) && left.field.hasSameBytes(as: right.field)
      && left.type.hasSameBytes(as: right.type)
  }

  /// Hashes the value alone, because few fields share one.
  public func hash(into hasher: inout Hasher) { ExactText.hash(value, into: &hasher) }
}

/// A record that has, or had, a value of a unique field.
public struct UniqueHolder: Sendable, Hashable {
  /// The value.
  public var value: UniqueFieldValue
  /// The record's id; its type is the value's.
  public var id: String

  /// Makes a holder, for the server and its storage.
  public init(value: UniqueFieldValue, id: String) {
    self.value = value
    self.id = id
  }
}

/// A storage's notes of unique values.
///
/// A note may be out of date, so the server looks at each record.
public struct UniqueHolders: Sendable, Hashable {
  /// The position of the space's changes up to which they are noted; 0 without notes.
  public var position: Int64
  /// The records by value. A value without a record is left out.
  public var records: [UniqueFieldValue: Set<RecordID>]

  /// Makes notes, for storages.
  public init(position: Int64, records: [UniqueFieldValue: Set<RecordID>] = [:]) {
    self.position = position
    self.records = records
  }
}

/// The unique fields of a schema, and the notes of records that have their values.
///
/// A note names a record to check, and the record decides. So old notes are harmless, and missing ones are completed by
/// position. After an older server wrote to the storage, after a restore or a change of the unique fields, the next
/// change of such a field reads the changes since the notes end.
struct UniqueFields: Sendable {
  /// The unique fields by type.
  private let fields: [String: [FieldSchema]]
  /// The name of these fields. Other fields begin their own notes.
  private let mark: String

  /// Returns `nil` if no synced type has a unique field.
  init?(_ schema: StoreSchema?) {
    var fields: [String: [FieldSchema]] = [:]
    for type in schema?.types ?? [] where type.isSynced {
      let unique = type.fields.filter(\.isUnique)
      if !unique.isEmpty { fields[type.name] = unique }
    }
    guard !fields.isEmpty else { return nil }
    self.fields = fields
    let names = fields.flatMap { type, fields in fields.map { "\(type).\($0.name) \($0.kind.name)" } }
    mark = String(ContentFile.sha256(of: Array(names.sorted().joined(separator: "\n").utf8)).prefix(32))
  }

  /// Returns the values of a live record. Returns none for a deleted or unreadable one.
  func values(of record: ServerRecord?) throws -> [UniqueFieldValue] {
    guard let record, !record.isDeleted, fields[record.id.type] != nil else { return [] }
    return values(in: try record.fields.members(), of: record.id.type)
  }

  private func values(in members: [String: JSONValue], of type: String) -> [UniqueFieldValue] {
    (fields[type] ?? []).compactMap { field in
      // The schema rejects a value of another kind, not this check.
      guard let json = members[field.name], !json.isNull,
        let value = try? FieldValue(json: json, kind: field.kind)
      else { return nil }
      var writer = JSONWriter()
      value.write(to: &writer)
      let text = writer.bytes
      let isShort = text.count <= Self.longest
      return UniqueFieldValue(
        type: type, field: field.name,
        value: isShort ? String(decoding: text, as: UTF8.self) : "#" + ContentFile.sha256(of: text))
    }
  }

  /// The longest text, because indexes limit the length of entries. JSON never begins like the checksum of a longer
  /// value.
  private static let longest = 256

  /// Returns the values that an operation sets.
  func values(setBy operation: SyncOperation, _ rules: AccessRules) -> [UniqueFieldValue] {
    let type = operation.record.type
    guard operation.kind != .delete, fields[type] != nil else { return [] }
    let isNew = operation.kind == .insert
    return values(in: isNew ? rules.withDefaults(operation.fields, of: type) : operation.fields, of: type)
  }

  // MARK: the storage's notes

  /// Returns the records that may have the values that operations set. Costs one look-up, after completing the notes if
  /// they end before the last change.
  ///
  /// - Parameter transaction: completes the notes. With `nil`, records since their end are left out.
  func holders(
    of operations: [SyncOperation], _ rules: AccessRules, in storage: any ServerSnapshot,
    completing transaction: (any ServerTransaction)?
  ) throws -> [UniqueFieldValue: Set<RecordID>] {
    var values: Set<UniqueFieldValue> = []
    for operation in operations { values.formUnion(self.values(setBy: operation, rules)) }
    guard !values.isEmpty else { return [:] }
    let asked = Array(values)
    let found = try storage.holders(of: asked, marked: mark)
    guard found.position < storage.head, let transaction else { return found.records }
    try complete(from: found.position, in: transaction)
    return try storage.holders(of: asked, marked: mark).records
  }

  /// The bytes of changes that are read at a time.
  private static let pieceSize = 8 << 20

  /// Reads the changes after `start`, a few hundred at a time.
  private func complete(from start: Int64, in storage: any ServerTransaction) throws {
    var position = start
    while case let page = try storage.changes(
      after: position, in: .everything, limit: 500, bytes: Self.pieceSize), let last = page.last
    {
      let holders = page.flatMap { entry -> [UniqueHolder] in
        // A record that can't be read has no values that can be compared.
        let values = (try? values(of: entry.record)) ?? []
        return values.map { UniqueHolder(value: $0, id: entry.record.id.id) }
      }
      try storage.note(holders, forgetting: [])
      position = last.position
    }
    try storage.setNoted(upTo: storage.head, from: start, marked: mark)
  }

  /// Updates the notes. Call it after all changes of the transaction are stored.
  ///
  /// - Parameter start: the head before them.
  func follow(
    _ changes: [(before: ServerRecord?, after: ServerRecord)], from start: Int64,
    in storage: any ServerTransaction
  ) throws {
    guard storage.head != start else { return }
    var new: [UniqueHolder] = []
    var gone: [UniqueHolder] = []
    for (before, after) in changes {
      let old = Set(try values(of: before))
      let now = Set(try values(of: after))
      new += now.subtracting(old).map { UniqueHolder(value: $0, id: after.id.id) }
      gone += old.subtracting(now).map { UniqueHolder(value: $0, id: after.id.id) }
    }
    if !new.isEmpty || !gone.isEmpty { try storage.note(new, forgetting: gone) }
    try storage.setNoted(upTo: storage.head, from: start, marked: mark)
  }
}
