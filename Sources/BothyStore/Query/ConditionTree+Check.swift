import Foundation

/// Checks a condition against the schema. Compiles and evaluates nothing.
extension ConditionTree {
  /// The greatest nesting depth of a condition.
  package static let maximumDepth = 32
  /// The greatest number of parts of a condition, and of elements in a list of values.
  package static let maximumTerms = 10_000

  /// Returns the condition with every value converted to the kind of its field. Whole numbers become numbers, RFC 3339
  /// text becomes a date, base64 text data, and UUIDs lower-case text. Numbers become decimals if the field has these.
  ///
  /// Throws `BothyError` `unknownField`, or `invalidQuery` with the field and the alternatives.
  package func checked(for type: TypeSchema) throws(BothyError) -> ConditionTree {
    var terms = 0
    return try checked(for: type, depth: 0, terms: &terms)
  }

  private func checked(
    for type: TypeSchema, depth: Int, terms: inout Int
  ) throws(BothyError) -> ConditionTree {
    terms += 1
    guard depth <= Self.maximumDepth, terms <= Self.maximumTerms else {
      throw .invalidQuery(
        "The condition has more than \(Self.maximumDepth) levels or \(Self.maximumTerms) parts. Split the query."
      )
    }
    switch self {
    case .all, .none: return self
    case .and(let parts): return .and(try Self.checked(parts, type, depth, &terms))
    case .or(let parts): return .or(try Self.checked(parts, type, depth, &terms))
    case .not(let part): return .not(try part.checked(for: type, depth: depth + 1, terms: &terms))
    default: return try checkedLeaf(for: type)
    }
  }

  private static func checked(
    _ parts: [ConditionTree], _ type: TypeSchema, _ depth: Int, _ terms: inout Int
  ) throws(BothyError) -> [ConditionTree] {
    var result: [ConditionTree] = []
    result.reserveCapacity(parts.count)
    for part in parts { result.append(try part.checked(for: type, depth: depth + 1, terms: &terms)) }
    return result
  }

  private func checkedLeaf(for type: TypeSchema) throws(BothyError) -> ConditionTree {
    switch self {
    case .compare(let field, let comparison, let value):
      return .compare(field: field, comparison, try Self.compared(value, comparison, to: field, of: type))
    case .compareFields(let field, let comparison, let other):
      try Self.requireComparable(field, comparison, other, of: type)
    case .compareNaturally(let field, _, _):
      try Self.require(field, of: type, "NATURAL", \.isText)
    case .oneOf(let field, let values):
      guard values.count <= Self.maximumTerms else {
        throw .invalidQuery(
          "The list for '\(field)' has more than \(Self.maximumTerms) values. Split the query.")
      }
      var converted: [FieldValue] = []
      for value in values { converted.append(try Self.compared(value, .equal, to: field, of: type)) }
      return .oneOf(field: field, converted)
    case .contains(let field, let text, let ignoringCase):
      let folded = try Self.searched(text, in: field, of: type, "contains")
      return .contains(field: field, folded, ignoringCase: ignoringCase)
    case .beginsWith(let field, let text, let ignoringCase):
      let folded = try Self.searched(text, in: field, of: type, "beginsWith")
      return .beginsWith(field: field, folded, ignoringCase: ignoringCase)
    case .includes(let field, let value):
      try Self.require(field, of: type, "includes", \.isList)
      return .includes(field: field, try Self.element(value, of: field, type))
    case .near(let field, let centre, let metres):
      try Self.require(field, of: type, "near") { $0 == .coordinate }
      guard centre.isOnEarth, metres >= 0, metres.isFinite else {
        throw .invalidQuery(
          "'near' on \(type.name).\(field) needs a centre within ±90 and ±180 and a radius of 0 metres or more."
        )
      }
    case .inside(let field, let box):
      try Self.require(field, of: type, "inside") { $0 == .coordinate }
      guard box.isOnEarth else {
        throw .invalidQuery(
          "'inside' on \(type.name).\(field) needs parallels within ±90, south first, and meridians within ±180."
        )
      }
    case .matches(_, let fields, _):
      guard type.hasFullText else {
        throw .invalidQuery(
          "\(type.name) has no full-text index. Declare a string field with `fullText`, or use 'contains'.")
      }
      for name in fields where type[name]?.isFullText != true {
        _ = try type.queryField(name)
        let known = type.searched([]).map(\.name).joined(separator: ", ")
        throw .invalidQuery("\(type.name).\(name) isn't in the full-text index. Possible: \(known).")
      }
    case .relates, .exists:
      throw .invalidQuery(
        "'\(self)' has a meaning in the permissions of a schema only. Leave it out of a query.")
    case .all, .none, .and, .or, .not: break
    }
    return self
  }

  private static func compared(
    _ value: FieldValue, _ comparison: Comparison, to name: String, of type: TypeSchema
  ) throws(BothyError) -> FieldValue {
    let kind = try type.queryField(name).kind
    if value.isNull { return .null }
    let isEquality = comparison == .equal || comparison == .notEqual
    guard isEquality ? kind.isComparable : kind.isOrdered else {
      throw refused(comparison.rawValue, name, kind, type)
    }
    if case .double(let number) = value, !number.isFinite {
      throw .invalidQuery(
        "\(type.name).\(name) is compared with \(number). Compare with a finite number, or with null.")
    }
    let known = type[name]?.decimal(value) ?? value
    guard let converted = known.converted(to: kind) else {
      throw .invalidQuery("\(type.name).\(name) is compared with \(value.phrase); it takes \(kind.phrase).")
    }
    return converted
  }

  /// Returns a value in the form of the elements of a list.
  private static func element(
    _ value: FieldValue, of name: String, _ type: TypeSchema
  ) throws(BothyError) -> FieldValue {
    let isPlain = try type.queryField(name).kind == .json
    guard let element = value.element, isPlain || element.text != nil else {
      throw .invalidQuery(
        "\(type.name).\(name) can't have \(value.phrase) as an element. Possible: text, and in a list of values also "
          + "a finite number, true, false and null.")
    }
    return element
  }

  /// Throws unless both fields have one kind that can be compared.
  private static func requireComparable(
    _ name: String, _ comparison: Comparison, _ other: String, of type: TypeSchema
  ) throws(BothyError) {
    let kind = try type.queryField(name).kind
    guard type[other] != nil || QueryField.pseudo(other) != nil else {
      throw BothyError(
        .unknownField,
        "\(type.name) has no field '\(other)' to compare '\(name)' with. Text needs quotes: '\(other)'.")
    }
    let isEquality = comparison == .equal || comparison == .notEqual
    guard kind != .coordinate, isEquality ? kind.isComparable : kind.isOrdered else {
      throw refused("\(comparison.rawValue) \(other)", name, kind, type)
    }
    let second = try type.queryField(other).kind
    guard kind == second || (kind.isText && second.isText) else {
      throw .invalidQuery(
        "\(type.name).\(name) is of the kind '\(kind.name)' and \(other) of the kind '\(second.name)'. "
          + "Compare fields of one kind.")
    }
  }

  private static func searched(
    _ text: String, in name: String, of type: TypeSchema, _ what: String
  ) throws(BothyError) -> String {
    try require(name, of: type, what, \.isText)
    return try type.queryField(name).kind == .uuid ? text.lowercased() : text
  }

  private static func require(
    _ name: String, of type: TypeSchema, _ what: String, _ isPossible: (ValueKind) -> Bool
  ) throws(BothyError) {
    let kind = try type.queryField(name).kind
    guard isPossible(kind) else { throw refused(what, name, kind, type) }
  }

  private static func refused(
    _ what: String, _ name: String, _ kind: ValueKind, _ type: TypeSchema
  ) -> BothyError {
    .invalidQuery(
      "\(type.name).\(name) is of the kind '\(kind.name)' and can't be asked for '\(what)'. "
        + "Possible: \(kind.possibleConditions).")
  }
}

extension FieldValue {
  /// Returns the value as one of `kind`, or nil if that is impossible.
  func converted(to kind: ValueKind) -> FieldValue? {
    switch (self, kind) {
    // Written without `?:`, in which `nil` means the value null.
    case (.double(let number), .double) where number.isNaN: return nil
    case (.coordinate(let place), .coordinate) where !place.isOnEarth: return nil
    case (.bool, .bool), (.int, .int), (.double, .double), (.date, .date), (.data, .data),
      (.coordinate, .coordinate):
      return self
    case (.int(let number), .double): return .double(Double(number))
    case (.double(let number), .int): return Int64(exactly: number).map { .int($0) }
    case (.text, .text), (.text, .reference): return self
    case (.text(let text), .uuid): return .text(text.lowercased())
    case (.int(let number), .date): return .date(number)
    case (.text(let text), .date): return Timestamp(rfc3339: text).map { .date($0.milliseconds) }
    case (.text(let text), .data): return Data(base64Encoded: text).map { .data($0) }
    case (.json(let text), .coordinate), (.text(let text), .coordinate):
      // Other text isn't a value of the kind.
      let coordinate = try? Coordinate(json: JSONValue(parsing: text))
      return coordinate.map { .coordinate($0) }
    default: return nil
    }
  }

  /// The value as messages show it, cut to a readable length.
  var phrase: String {
    switch self {
    case .text(let text): "the text '\(text.prefix(40))'"
    case .data: "data"
    default:
      String(whereText.prefix(60))
    }
  }
}

extension BothyError {
  static func invalidQuery(_ message: String) -> BothyError { BothyError(.invalidQuery, message) }
}
