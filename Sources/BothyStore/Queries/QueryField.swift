/// What a name in a query stands for: a field of the type, or one of the pseudo-fields `id`, `container`,
/// `version`. A field of the same name as a pseudo-field wins.
package enum QueryField: Sendable {
  case field(FieldSchema)
  case id
  case container
  case version

  package var kind: FieldKind {
    if case .field(let field) = self { field.kind } else { .text }
  }
}

extension TypeSchema {
  /// Throws `StoreError` `.unknownField` naming the fields there are.
  package func queryField(_ name: String) throws(StoreError) -> QueryField {
    if let field = self[name] { return .field(field) }
    switch name {
    case "id": return .id
    case "container": return .container
    case "version": return .version
    default:
      let known = (fields.map(\.name) + ["id", "container", "version"]).joined(separator: ", ")
      throw StoreError(.unknownField, "\(self.name) has no field '\(name)'. Known: \(known).")
    }
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
