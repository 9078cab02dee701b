import BothyStore

/// A value of a unique field, by which a ledger finds the records that have it.
public struct UniqueFieldValue: Sendable, Hashable {
  /// The type of the records.
  public var type: String
  /// The unique field.
  public var field: String
  /// Stands for the value: its canonical JSON, or a checksum of that where it is long. No two values have the same.
  public var value: String

  /// What the server's rule makes, and ledgers of a stored row.
  public init(type: String, field: String, value: String) {
    self.type = type
    self.field = field
    self.value = value
  }
}

/// A record that has, or had, a value of a unique field.
public struct UniqueHolder: Sendable, Hashable {
  /// The value.
  public var value: UniqueFieldValue
  /// The record's id; its type is the value's.
  public var id: String

  /// What the server's rule makes, and ledgers of a stored row.
  public init(value: UniqueFieldValue, id: String) {
    self.value = value
    self.id = id
  }
}

/// What a ledger has noted of unique values.
public struct UniqueHolders: Sendable, Hashable {
  /// Up to which position of the space's changes they are noted; 0 where they never were.
  public var position: Int64
  /// The ids by value; a value that no record had is left out.
  public var ids: [UniqueFieldValue: Set<String>]

  /// What ledgers answer.
  public init(position: Int64, ids: [UniqueFieldValue: Set<String>] = [:]) {
    self.position = position
    self.ids = ids
  }
}

/// The unique fields of a schema, and the notes of who has which of their values.
///
/// A note says where to look, and the record says whether it holds. So notes that are old harm nothing, and those that are
/// missing are made up for by position: a ledger that an earlier version of the server wrote to, that was restored or had
/// other unique fields is read on from where the notes end, by the next change of such a field.
struct UniqueFields: Sendable {
  /// By type.
  private let fields: [String: [FieldSchema]]
  /// Names these fields; others begin their own notes.
  private let mark: String

  /// Nil where no synced type has a unique field.
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

  /// The values of a record that is there; none of a deleted one, and of one that can't be read.
  func values(of record: ServerRecord?) throws -> [UniqueFieldValue] {
    guard let record, !record.isDeleted, fields[record.id.type] != nil else { return [] }
    return values(in: try record.fields.members(), of: record.id.type)
  }

  private func values(in members: [String: JSONValue], of type: String) -> [UniqueFieldValue] {
    (fields[type] ?? []).compactMap { field in
      // A value of another kind is refused by the schema, not for being taken.
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

  /// Indexes have a limit on the length of their entries. No JSON begins as the name of a longer value does.
  private static let longest = 256

  // MARK: the ledger's notes

  /// Who may have the values that operations set. One look-up in the ledger; the notes are completed first where they end
  /// before the last change.
  func holders(
    of operations: [SyncOperation], _ rules: AuthorityRules, in ledger: any LedgerTransaction
  ) throws -> [UniqueFieldValue: Set<String>] {
    var values: Set<UniqueFieldValue> = []
    for operation in operations where operation.kind != .delete && fields[operation.record.type] != nil {
      let type = operation.record.type
      let isNew = operation.kind == .insert
      values.formUnion(
        self.values(in: isNew ? rules.withDefaults(operation.fields, of: type) : operation.fields, of: type))
    }
    guard !values.isEmpty else { return [:] }
    let asked = Array(values)
    let found = try ledger.holders(of: asked, marked: mark)
    guard found.position < ledger.head else { return found.ids }
    try complete(from: found.position, in: ledger)
    return try ledger.holders(of: asked, marked: mark).ids
  }

  /// Reads the changes after `start`, some hundred at a time.
  private func complete(from start: Int64, in ledger: any LedgerTransaction) throws {
    var position = start
    while case let page = try ledger.changes(after: position, in: .space, limit: 500), let last = page.last {
      let holders = page.flatMap { entry -> [UniqueHolder] in
        // A record that can't be read has no values that can be compared.
        let values = (try? values(of: entry.record)) ?? []
        return values.map { UniqueHolder(value: $0, id: entry.record.id.id) }
      }
      try ledger.note(holders, forgetting: [])
      position = last.position
    }
    try ledger.setNoted(upTo: ledger.head, from: start, marked: mark)
  }

  /// Call when the changes are put, all others of the transaction too.
  ///
  /// - Parameter start: the head before them.
  func follow(
    _ changes: [(before: ServerRecord?, after: ServerRecord)], from start: Int64,
    in ledger: any LedgerTransaction
  ) throws {
    guard ledger.head != start else { return }
    var new: [UniqueHolder] = []
    var gone: [UniqueHolder] = []
    for (before, after) in changes {
      let old = Set(try values(of: before))
      let now = Set(try values(of: after))
      new += now.subtracting(old).map { UniqueHolder(value: $0, id: after.id.id) }
      gone += old.subtracting(now).map { UniqueHolder(value: $0, id: after.id.id) }
    }
    if !new.isEmpty || !gone.isEmpty { try ledger.note(new, forgetting: gone) }
    try ledger.setNoted(upTo: ledger.head, from: start, marked: mark)
  }
}
