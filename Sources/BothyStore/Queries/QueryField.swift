/// The meaning of a name in a query: a field of the type, or one of the pseudo-fields. A field hides the pseudo-field of its
/// name.
package enum QueryField: Sendable {
  case field(FieldSchema)
  case id
  case container
  case version
  case created
  case modified
  case owner

  package var kind: FieldKind {
    switch self {
    case .field(let field): field.kind
    case .created, .modified: .date
    case .id, .container, .version, .owner: .text
    }
  }

  /// The pseudo-fields by their names.
  static let pseudo: [(name: String, field: QueryField)] = [
    ("id", .id), ("container", .container), ("version", .version), ("created", .created),
    ("modified", .modified), ("owner", .owner),
  ]

  /// The pseudo-field of a name. A server without a schema can't tell its fields from those of an app: devices send it
  /// what is kept beside the fields with a `_` before the name, as no field has.
  package static func pseudo(_ name: String) -> QueryField? {
    let isMarked = name.hasPrefix("_")
    guard let found = pseudo.first(where: { $0.name == (isMarked ? String(name.dropFirst()) : name) })
    else { return nil }
    return isMarked && !found.field.isMetadata ? nil : found.field
  }

  package var isMetadata: Bool {
    switch self {
    case .created, .modified, .owner: true
    case .field, .id, .container, .version: false
    }
  }
}

extension TypeSchema {
  /// Throws `StoreError` `.unknownField` naming the fields there are.
  package func queryField(_ name: String) throws(StoreError) -> QueryField {
    if let field = self[name] { return .field(field) }
    if let pseudo = QueryField.pseudo(name) { return pseudo }
    let known = (fields.map(\.name) + QueryField.pseudo.map(\.name)).joined(separator: ", ")
    throw StoreError(.unknownField, "\(self.name) has no field '\(name)'. Known: \(known).")
  }
}

extension FieldKind {
  /// Whether values of the kind have an order that is the same on every server.
  var isOrdered: Bool {
    switch self {
    case .bool, .int, .double, .text, .date, .uuid, .reference: true
    case .data, .coordinate, .json, .blob, .references: false
    }
  }

  /// Whether a value of the kind can be compared with another one for equality.
  var isComparable: Bool {
    switch self {
    case .json, .blob, .references: false
    default: true
    }
  }

  var isText: Bool {
    switch self {
    case .text, .uuid, .reference: true
    default: false
    }
  }

  var isList: Bool {
    switch self {
    case .json, .references: true
    default: false
    }
  }

  /// What a query may ask of a field of the kind, for messages.
  var possibleConditions: String {
    switch self {
    case .bool, .int, .double, .date: "=, !=, <, <=, >, >=, in, null"
    case .text, .uuid, .reference: "=, !=, <, <=, >, >=, in, contains, beginsWith, null"
    case .data: "=, !=, in, null"
    case .coordinate: "=, !=, in, near, inside, null"
    case .json, .references: "includes, null"
    case .blob: "null"
    }
  }
}
