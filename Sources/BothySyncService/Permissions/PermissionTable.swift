import BothyStore
import Crypto

/// The conditions of a schema's permissions, by type and action.
///
/// A condition that doesn't fit the schema allows nothing. A schema from a document can't have one, because reading it
/// throws.
struct PermissionTable: Sendable {
  private var types: [String: [AccessAction: PermissionCondition]] = [:]
  /// The conditions on reading, as checksums.
  private var marks: [String: String] = [:]
  /// The different searches for memberships of all conditions.
  private(set) var memberships: [PermissionCondition.Membership] = []
  /// True if a condition depends on the audience of records, and so on the lists of users.
  private(set) var usesAudience = false

  init(_ schema: StoreSchema?) {
    guard let schema else { return }
    for type in schema.types {
      for (action, text) in type.permissions?.conditions ?? [:] {
        // The check of the schema has the mistake.
        let found = try? PermissionCondition(text, of: type, in: schema)
        let condition = found ?? PermissionCondition.refusal(of: type)
        types[type.name, default: [:]][action] = condition
        if action == .read { marks[type.name] = Self.checksum([condition.description]) }
        usesAudience = usesAudience || condition.usesAudience
        for membership in condition.memberships where !memberships.contains(where: { $0.id == membership.id })
        {
          memberships.append(membership)
        }
      }
    }
    memberships.sort { $0.id < $1.id }
  }

  /// True if a condition decides on the reading of any type.
  var decideVisibility: Bool { !marks.isEmpty }

  subscript(action: AccessAction, type: String) -> PermissionCondition? { types[type]?[action] }

  /// Returns the condition on the result of a change.
  func ofResult(_ type: String) -> PermissionCondition? { self[.become, type] ?? self[.update, type] }

  /// Returns the mark of the condition on reading a type, which changes with the condition alone.
  func mark(of type: String) -> String? { marks[type] }

  /// Returns the mark of the records of a type that a user may see. It changes with all that the condition depends on,
  /// except the records themselves. Returns `nil` if no condition decides.
  func mark(of type: String, for viewer: Viewer) -> String? {
    guard let condition = self[.read, type], let mark = marks[type] else { return nil }
    var parts = [mark]
    if condition.usesGroups { parts += viewer.user.names.dropFirst() }
    if condition.usesAudience { parts += ["lists"] + viewer.lists.sorted() }
    for membership in condition.memberships {
      parts += [membership.id] + viewer.memberships.texts(of: membership)
    }
    return Self.checksum(parts)
  }

  /// Returns the mark of all records that a user may see.
  func mark(for viewer: Viewer) -> String {
    Self.checksum(marks.keys.sorted().compactMap { mark(of: $0, for: viewer) })
  }

  /// Returns 64 bits of SHA-256 over the texts, each with its length.
  private static func checksum(_ texts: [String]) -> String {
    let text = texts.map { "\($0.utf8.count):\($0)" }.joined()
    return SHA256.hash(data: Array(text.utf8)).prefix(8).hexadecimal
  }
}

extension AccessRules {
  /// Returns the decision of a condition on a record, or `nil` if none decides the action.
  func decision(_ action: AccessAction, on record: ServerRecord, _ viewer: Viewer) -> Bool? {
    conditions[action, record.id.type]?.allows(record, viewer, self)
  }

  /// Returns the fields that a tombstone keeps, without which the condition on reading can't be decided. They are never
  /// sent, and end with the tombstone. One that can't be read keeps none, and is hidden.
  func fieldsOfTombstone(_ record: ServerRecord) -> FieldsDocument {
    guard let mark = conditions.mark(of: record.id.type), var kept = readableFields(record) else {
      return .empty
    }
    kept[Self.markField] = .string(mark)
    return FieldsDocument(kept)
  }

  /// Returns a live record with those fields alone that decide who sees it.
  func reducedToVisible(_ record: ServerRecord) -> ServerRecord {
    guard !record.isDeleted, let kept = readableFields(record) else { return record }
    var record = record
    record.fields = FieldsDocument(kept)
    return record
  }

  /// Returns the fields that the condition on reading depends on, none without one, or `nil` if they can't be read.
  private func readableFields(_ record: ServerRecord) -> [String: JSONValue]? {
    guard let condition = conditions[.read, record.id.type] else { return [:] }
    // A record without readable fields is hidden.
    guard let members = try? record.fields.members() else { return nil }
    return canonical(members, of: record.id.type).filter { name, _ in
      condition.names.contains(name) && condition.type[name] != nil
    }
  }

  /// The field of a tombstone with the mark of the condition that it keeps fields for. No field of a schema has this
  /// name.
  private static let markField = "_sight"

  /// Returns true for a live record, and for a tombstone that has what the present condition on reading needs.
  func isDecidable(_ record: ServerRecord) -> Bool {
    guard record.isDeleted else { return true }
    // A tombstone without readable fields is hidden.
    let mark = try? record.fields.members()[Self.markField]?.stringValue
    return mark != nil && mark == conditions.mark(of: record.id.type)
  }

  /// Returns the note of a record whose readers may have changed. Returns `nil` if they haven't, or if no condition
  /// decides on reading.
  func formerVisibility(_ before: ServerRecord, _ after: ServerRecord) -> RecordRemoval? {
    let type = before.id.type
    guard let condition = conditions[.read, type], let mark = conditions.mark(of: type),
      let position = Int64(after.version), isDecidable(before)
    else { return nil }
    let former = sight(of: before, condition, mark)
    guard former != sight(of: after, condition, mark) else { return nil }
    return removal(at: position, seenAs: former)
  }

  /// Returns the note of a new record that a condition hides from the user who made it. Its devices keep it until they
  /// are told. Returns `nil` for one that its maker sees, and for a user without a name.
  func formerVisibility(ofNew record: ServerRecord, madeBy maker: Viewer) -> RecordRemoval? {
    guard let name = maker.user.name, conditions[.read, record.id.type] != nil,
      let position = Int64(record.version), !record.isDeleted, !shows(record, to: maker)
    else { return nil }
    return removal(
      at: position,
      seenAs: ServerRecord(
        id: record.id, version: Self.makerMark, modified: 0, owner: name, fields: .empty))
  }

  private func removal(at position: Int64, seenAs former: ServerRecord) -> RecordRemoval {
    var writer = JSONWriter()
    former.write(to: &writer)
    return RecordRemoval(
      position: position, id: former.id, container: RecordRemoval.noContainer, former: writer.string)
  }

  /// The version in a note that concerns the maker of a record alone, its owner there. No condition has this mark.
  private static let makerMark = "maker"

  /// Returns true if the user could see a record as it was, by a note of `formerVisibility`. A note by another condition
  /// isn't decided: the mark of its readers has changed since, so devices fetch the type again.
  func showed(_ former: String, of type: String, to viewer: Viewer) -> Bool {
    // This server wrote the note.
    guard let record = try? JSONReader.read(former, { try ServerRecord(from: &$0) }) else { return false }
    if record.version == Self.makerMark { return record.owner.isSameName(as: viewer.user.name) }
    guard record.version == conditions.mark(of: type) else { return false }
    return decision(.read, on: record, viewer) ?? false
  }

  /// Returns the parts of a record that a condition depends on, with the condition's mark as the version.
  private func sight(
    of record: ServerRecord, _ condition: PermissionCondition, _ mark: String
  ) -> ServerRecord {
    func depends(on name: String) -> Bool {
      condition.names.contains("_" + name) || condition.names.contains(name) && condition.type[name] == nil
    }
    return ServerRecord(
      id: record.id, container: depends(on: "container") ? record.container : nil, version: mark,
      modified: depends(on: "modified") ? record.modified : 0,
      created: depends(on: "created") ? record.created : nil,
      owner: depends(on: "owner") ? record.owner : nil,
      fields: fieldsOfTombstone(record), sharing: depends(on: "audience") ? record.sharing : .nobody)
  }
}

extension ServerRecord {
  /// The record as answers have it: a tombstone without fields.
  var sent: ServerRecord {
    guard isDeleted, fields != .empty else { return self }
    var record = self
    record.fields = .empty
    return record
  }
}
