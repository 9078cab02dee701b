/// The meaning of a name in a query: a field of the type, or one of the pseudo-fields. A field hides the pseudo-field
/// of its name.
package enum QueryField: Sendable {
  case field(FieldSchema)
  case id
  case container
  case version
  case created
  case modified
  case owner

  package var kind: ValueKind {
    switch self {
    case .field(let field): field.kind
    case .created, .modified: .date
    case .id, .container, .version, .owner: .text
    }
  }

  /// The pseudo-fields with their names.
  static let pseudo: [(name: String, field: QueryField)] = [
    ("id", .id), ("container", .container), ("version", .version), ("created", .created),
    ("modified", .modified), ("owner", .owner),
  ]

  /// Returns the pseudo-field of a name. A server without a schema can't distinguish metadata from an app's fields.
  /// Devices therefore send it metadata with a `_` before the name, which no field has.
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
  /// Returns the field of a name. Throws `BothyError` `unknownField` with the names of the fields.
  package func queryField(_ name: String) throws(BothyError) -> QueryField {
    if let field = self[name] { return .field(field) }
    if let pseudo = QueryField.pseudo(name) { return pseudo }
    let known = (fields.map(\.name) + QueryField.pseudo.map(\.name)).joined(separator: ", ")
    throw BothyError(.unknownField, "\(self.name) has no field '\(name)'. Known: \(known).")
  }
}

extension ValueKind {
  /// True if values of the kind have an order that is equal on every server.
  var isOrdered: Bool {
    switch self {
    case .bool, .int, .double, .text, .date, .uuid, .reference: true
    case .data, .coordinate, .json, .blob, .references: false
    }
  }

  /// True if two values of the kind can be compared for equality.
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

  /// The conditions that a query may use on a field of the kind, for messages.
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
