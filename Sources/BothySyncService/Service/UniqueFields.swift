import BothyStore

/// What is unique in a schema, fields alone or together, and the notes of records that have the values.
///
/// A note names a record to check, and the record decides. So old notes are harmless, and missing ones are completed by
/// position. After an older server wrote to the storage, after a restore or a change of the unique fields, the next
/// change of such a field reads the changes since the notes end. Many of them are noted before it, in transactions of
/// their own.
struct UniqueFields: Sendable {
  /// The fields that are unique, alone or together, by type.
  private let keys: [String: [[FieldSchema]]]
  /// The name of these fields. Other fields begin their own notes.
  private let mark: String
  /// The number of records whose values one transaction notes.
  private let step: Int

  /// Returns `nil` if no synced type has a unique field.
  ///
  /// - Parameter step: the number of records whose values one transaction notes.
  init?(_ schema: StoreSchema?, step: Int) {
    var keys: [String: [[FieldSchema]]] = [:]
    for type in schema?.types ?? [] where type.isSynced {
      if !type.uniqueKeys.isEmpty { keys[type.name] = type.uniqueKeys }
    }
    guard !keys.isEmpty else { return nil }
    self.keys = keys
    self.step = step
    let names = keys.flatMap { type, keys in
      keys.map { "\(type).\(Self.name($0)) \($0.map(\.kind.name).joined(separator: ","))" }
    }
    mark = String(ContentFile.sha256(of: Array(names.sorted().joined(separator: "\n").utf8)).prefix(32))
  }

  /// The name of a key in the notes: the field, or the fields with commas, which no field has.
  private static func name(_ key: [FieldSchema]) -> String { key.map(\.name).joined(separator: ",") }

  /// Returns the values of a live record. Returns none for a deleted or unreadable one.
  func values(of record: ServerRecord?) throws -> [UniqueFieldValue] {
    guard let record, !record.isDeleted, keys[record.id.type] != nil else { return [] }
    return values(in: try record.fields.members(), of: record.id.type)
  }

  private func values(in members: [String: JSONValue], of type: String) -> [UniqueFieldValue] {
    (keys[type] ?? []).compactMap { key in
      var parts: [[UInt8]] = []
      for field in key {
        // The schema rejects a value of another kind, not this check.
        guard let json = members[field.name], !json.isNull,
          let value = try? FieldValue(json: json, kind: field.kind)
        else { return nil }
        var writer = JSONWriter()
        value.write(to: &writer)
        parts.append(writer.bytes)
      }
      let text = parts.count == 1 ? parts[0] : Array(parts.joined(separator: [UInt8(ascii: ",")]))
      let isShort = text.count <= Self.longest
      return UniqueFieldValue(
        type: type, field: Self.name(key),
        value: isShort ? String(decoding: text, as: UTF8.self) : "#" + ContentFile.sha256(of: text))
    }
  }

  /// The longest text, because indexes limit the length of entries. JSON never begins like the checksum of a longer
  /// value.
  private static let longest = 256

  /// Returns the values that operations may give their records.
  ///
  /// Reads the record of an update that sets some but not all fields of a key, in one round trip for all. Records
  /// beyond `AccessRules.pushSize` are left for a later request, with their operations.
  func values(
    setBy operations: [SyncOperation], _ rules: AccessRules, in storage: any ServerSnapshot
  ) throws -> ProposedValues {
    let stored = try stored(operations, rules, in: storage)
    var fields = stored.fields
    var proposed = ProposedValues()
    for operation in operations where operation.kind != .delete && keys[operation.record.type] != nil {
      let (id, isNew) = (operation.record, operation.kind == .insert)
      let isJoint = isJoint(id.type)
      var states = fields[id] ?? [Self.exact([:]): [:]]
      let after = (isNew ? [[:]] : Array(states.values)).map { members in
        let members = members.merging(operation.fields) { $1 }.filter { !$0.value.isNull }
        return isNew || isJoint ? rules.withDefaults(members, of: id.type, isNew: isNew) : members
      }
      for members in after { proposed.add(values(in: members, of: id.type), by: operation.id) }
      guard isJoint else { continue }
      // Each of the operations before may have been rejected.
      for members in after.map({ part($0, of: id.type) }) { states[Self.exact(members)] = members }
      if states.count > ProposedValues.states || stored.unread.contains(id) {
        proposed.crowded.insert(operation.id)
      } else {
        fields[id] = states
      }
    }
    return proposed
  }

  /// Returns the stored members of the records of which operations set a part of a key, and the records that were not
  /// read.
  private func stored(
    _ operations: [SyncOperation], _ rules: AccessRules, in storage: any ServerSnapshot
  ) throws -> (fields: [RecordID: [[UInt8]: [String: JSONValue]]], unread: Set<RecordID>) {
    var ids: [RecordID] = []
    var unread: Set<RecordID> = []
    for operation in operations where setsPart(operation) && unread.insert(operation.record).inserted {
      ids.append(operation.record)
    }
    guard !ids.isEmpty else { return ([:], []) }
    var fields: [RecordID: [[UInt8]: [String: JSONValue]]] = [:]
    var size = 0
    for entry in try storage.records(ids, bytes: rules.pushSize) {
      let id = entry.record.id
      let members = part(rules.canonical(try entry.record.fields.members(), of: id.type), of: id.type)
      fields[id] = [Self.exact(members): members]
      unread.remove(id)
      size = size.addingClamped(entry.record.weight)
    }
    // The others are missing, if nothing ended the reading.
    return (fields, size < rules.pushSize ? [] : unread)
  }

  /// True if the type has fields that are unique together.
  private func isJoint(_ type: String) -> Bool { (keys[type] ?? []).contains { $0.count > 1 } }

  /// True if an update sets some fields of a key, and others keep their values.
  private func setsPart(_ operation: SyncOperation) -> Bool {
    operation.kind == .update
      && (keys[operation.record.type] ?? []).contains { key in
        let set = key.filter { operation.fields[$0.name] != nil }.count
        return set > 0 && set < key.count
      }
  }

  /// Returns the bytes of members, which distinguish texts that only look alike.
  private static func exact(_ members: [String: JSONValue]) -> [UInt8] {
    Array(JSONValue.object(members).canonicalText.utf8)
  }

  /// Returns the members that belong to keys of several fields.
  private func part(_ members: [String: JSONValue], of type: String) -> [String: JSONValue] {
    let names = Set((keys[type] ?? []).filter { $0.count > 1 }.flatMap { $0.map(\.name) })
    return members.filter { names.contains($0.key) }
  }

  // MARK: the storage's notes

  /// Returns the records that may have values. Costs one look-up, after completing the notes if they end before the last
  /// change.
  ///
  /// - Parameter transaction: completes the notes. With `nil`, records since their end are left out.
  /// - Throws: `UniqueNotesBehind` if it would note too many. The transaction has to be given up then.
  func holders(
    of values: Set<UniqueFieldValue>, in storage: any ServerSnapshot,
    completing transaction: (any ServerTransaction)?
  ) throws -> [UniqueFieldValue: Set<RecordID>] {
    guard !values.isEmpty else { return [:] }
    let asked = Array(values)
    let found = try storage.holders(of: asked, marked: mark)
    guard found.position < storage.head, let transaction else { return found.records }
    guard try complete(from: found.position, in: transaction) else { throw UniqueNotesBehind(fields: self) }
    return try storage.holders(of: asked, marked: mark).records
  }

  /// The bytes of changes that are read at a time.
  private static let pieceSize = 8 << 20
  /// The bytes of changes that one transaction reads.
  private static let stepSize = 64 << 20

  /// Completes a part of the notes. Returns false if others are missing.
  func completeStep(in storage: any ServerTransaction) throws -> Bool {
    let noted = try storage.holders(of: [], marked: mark).position
    return try noted >= storage.head || complete(from: noted, in: storage)
  }

  /// Reads the changes after `start`, a few hundred at a time, and as many as one transaction notes. Returns false if
  /// others follow.
  private func complete(from start: Int64, in storage: any ServerTransaction) throws -> Bool {
    var (position, rows, bytes) = (start, step, Self.stepSize)
    while case let page = try storage.changes(
      after: position, in: .everything, limit: min(500, max(rows, 1)), bytes: Self.pieceSize),
      let last = page.last
    {
      guard rows > 0, bytes > 0 else {
        try storage.setNoted(upTo: position, from: start, marked: mark)
        return false
      }
      let holders = page.flatMap { entry -> [UniqueHolder] in
        // A record that can't be read has no values that can be compared.
        let values = (try? values(of: entry.record)) ?? []
        return values.map { UniqueHolder(value: $0, id: entry.record.id.id) }
      }
      try storage.note(holders, forgetting: [])
      position = last.position
      rows -= page.count
      bytes = page.reduce(bytes) { $0.subtractingClamped($1.record.weight) }
    }
    try storage.setNoted(upTo: storage.head, from: start, marked: mark)
    return true
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

/// The error of a write that needs notes which are too far behind for its transaction.
struct UniqueNotesBehind: Error {
  let fields: UniqueFields
}

/// The unique values that the operations of a request may give their records, by the operations' ids.
struct ProposedValues: Sendable {
  private(set) var values: [String: Set<UniqueFieldValue>] = [:]
  /// The operations whose records have too many possible values, or were not read.
  fileprivate(set) var crowded: Set<String> = []
  /// The most combinations of values of one record. Most requests have one operation for a record.
  fileprivate static let states = 64

  fileprivate mutating func add(_ some: [UniqueFieldValue], by operation: String) {
    if !some.isEmpty { values[operation, default: []].formUnion(some) }
  }

  /// All of the values.
  var all: Set<UniqueFieldValue> { values.values.reduce(into: []) { $0.formUnion($1) } }
}
