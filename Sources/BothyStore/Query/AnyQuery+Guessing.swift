extension AnyQuery {
  /// Returns the type that a server evaluates the query by, and the query that it can evaluate. Without a schema the
  /// type is guessed, and `include` is empty. Throws `BothyError`.
  package func resolved(in schema: StoreSchema?) throws(BothyError) -> (type: TypeSchema, query: AnyQuery) {
    guard let schema else {
      var query = self
      query.include = []
      return (try GuessedFields.schema(for: query), query)
    }
    guard let type = schema[type] else {
      throw BothyError(.unknownType, "The server's schema has no type '\(self.type)'.")
    }
    return (type, self)
  }

  /// Returns the fields that the query names as a type, with the kinds that its values suggest. Throws `BothyError`
  /// `unknownField` for a name that no field can have.
  package func guessedType() throws(BothyError) -> TypeSchema { try GuessedFields.schema(for: self) }
}

/// The fields that a query names, with the kinds that its values suggest. For a server without a schema.
private struct GuessedFields {
  private var kinds: [String: ValueKind] = [:]
  /// A comparison of two fields, whose kinds no value suggests.
  private var pair: ConditionTree?

  /// Returns the guessed type. Throws `BothyError` `unknownField` for a name that no field can have, because names
  /// become part of the SQL.
  static func schema(for query: AnyQuery) throws(BothyError) -> TypeSchema {
    var guessed = GuessedFields()
    guessed.visit(query.filter, depth: 0)
    if let pair = guessed.pair {
      throw .invalidQuery(
        "A server without a schema doesn't know the kinds of fields and can't decide '\(pair)'. Start it with "
          + "--schema, or compare the fields on the device.")
    }
    for key in query.order where !key.isRank { guessed.note(key.field, key.origin.map { .coordinate($0) }) }
    for name in guessed.kinds.keys.sorted() where !isFieldName(name) {
      throw BothyError(.unknownField, "'\(name)' can't be a field: use letters, digits and underscores.")
    }
    return TypeSchema(
      query.type,
      fields: guessed.kinds.sorted { $0.key < $1.key }.map { FieldSchema($0.key, $0.value, optional: true) })
  }

  private static func isFieldName(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
        default: false
        }
      }
  }

  /// Collects the fields of a condition. Ignores parts nested too deep, which the check refuses.
  private mutating func visit(_ condition: ConditionTree, depth: Int) {
    guard depth <= ConditionTree.maximumDepth else { return }
    switch condition {
    // The check refuses the last two.
    case .all, .none, .matches, .relates, .exists: break
    case .compare(let field, _, let value): note(field, value)
    case .compareFields: pair = condition
    case .compareNaturally(let field, _, _): note(field, .text(""))
    case .oneOf(let field, let values):
      note(field, nil)
      for value in values { note(field, value) }
    case .contains(let field, _, _), .beginsWith(let field, _, _): note(field, .text(""))
    case .includes(let field, _): note(field, .json("[]"))
    case .near(let field, let centre, _): note(field, .coordinate(centre))
    case .inside(let field, _): note(field, .coordinate(Coordinate(latitude: 0, longitude: 0)))
    case .and(let parts), .or(let parts): for part in parts { visit(part, depth: depth + 1) }
    case .not(let part): visit(part, depth: depth + 1)
    }
  }

  /// Records the kind that a value suggests. A field without a value counts as text until a value follows.
  private mutating func note(_ field: String, _ value: FieldValue?) {
    // An app's field may have the name of a metadata field, which a query then names with a leading `_`.
    if let pseudo = QueryField.pseudo(field), !pseudo.isMetadata || field.hasPrefix("_") { return }
    let kind: ValueKind? =
      switch value {
      case nil, .null: nil
      case .bool: .bool
      case .int, .double: .double
      case .text: .text
      case .date: .date
      case .data: .data
      case .coordinate: .coordinate
      case .json, .list: .json
      }
    kinds[field] = kind ?? kinds[field] ?? .text
  }
}
