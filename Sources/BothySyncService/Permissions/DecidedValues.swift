import BothyStore

/// The values of a record and of a user, by the names in conditions.
struct DecidedValues {
  private let record: ServerRecord
  private let type: TypeSchema
  private let user: Caller
  private let viewer: Viewer?
  private var fields: [String: JSONValue] = [:]

  /// Returns `nil` for a record that can't be read.
  ///
  /// - Parameters:
  ///   - needsFields: false if the condition has metadata alone, so that the fields aren't parsed.
  ///   - viewer: the user with its lists. Without one nothing has an audience.
  init?(
    _ record: ServerRecord, _ type: TypeSchema, _ user: Caller, _ rules: AccessRules,
    needsFields: Bool = true, _ viewer: Viewer? = nil
  ) {
    self.record = record
    self.type = type
    self.user = user
    self.viewer = viewer
    guard needsFields else { return }
    // A record that can't be read counts as hidden.
    guard let members = try? record.fields.members() else { return nil }
    fields = rules.canonical(members, of: type.name)
  }

  /// Returns a value by its name, or null for one that is missing or of another kind.
  func value(_ name: String) -> FieldValue {
    if let field = type[name] {
      // A value of another kind counts as null, like in queries.
      return fields[name].flatMap { try? FieldValue(json: $0, kind: field.kind) } ?? .null
    }
    switch name {
    case OpenValue.name: return user.name.map { .text($0) } ?? .null
    case OpenValue.groups: return .list(user.name == nil ? [] : user.groups.sorted())
    case "audience", "_audience": return audience
    default: break
    }
    switch QueryField.pseudo(name) {
    case .id: return .text(record.id.id)
    case .container: return .text(record.container)
    case .created: return record.created.map { .date($0) } ?? .null
    case .modified: return .date(record.modified)
    case .owner: return record.owner.map { .text($0) } ?? .null
    case .version, .field, nil: return .null
    }
  }

  /// The users of the audience by name, and the user of the request also if a group or list includes it.
  private var audience: FieldValue {
    var names = record.sharing.users
    if let viewer, let name = user.name, viewer.isIncluded(in: record.sharing) { names.insert(name) }
    return .list(names.sorted())
  }
}
