import BothyStore
import BothySync

/// The note of an old app as a Swift type, which counts priorities, requires a due date and has no colour.
struct OldNote: Entity {
  static let schema = TypeSchema(
    "Note",
    fields: [
      .field("title", String.self, merge: .keepBoth), .field("count", Int.self, default: 0, merge: .counter),
      .field("prio", Int.self, default: 0), .field("due", Int.self), .field("place", String?.self),
    ])
  static let typeName = schema.name

  var id = UUIDv7.make()
  var title: String
  var count = 0
  var prio = 0
  var due = 0
  var place: String?

  init(id: String, _ title: String) {
    self.id = id
    self.title = title
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    count.encodeField(to: &fields)
    prio.encodeField(to: &fields)
    due.encodeField(to: &fields)
    place.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    count = try Int(fromField: &fields)
    prio = try Int(fromField: &fields)
    due = try Int(fromField: &fields)
    place = try String?(fromField: &fields)
  }
}

extension MergePolicy {
  /// Returns a typed policy of the old app.
  static func ofOldNotes(
    _ rule: @escaping @Sendable (Conflict<OldNote>) async throws -> Resolution<OldNote>
  ) -> MergePolicy {
    var policies = MergePolicies()
    policies.set(for: OldNote.self, rule)
    return policies.policy(for: .update, type: OldNote.typeName)
  }
}
