/// The meaning of a condition in plain Swift, which every compiled form must match.
extension ConditionTree {
  /// True if a record whose fields `value` returns by name meets the condition.
  ///
  /// The condition must have been checked against `type`. Linear in the size of the condition.
  ///
  /// - Parameter exists: decides the condition on records of another type. By default no such record exists.
  package func evaluate(
    _ type: TypeSchema, _ value: (String) -> FieldValue,
    exists: (String, ConditionTree) -> Bool = { _, _ in false }
  ) -> Bool {
    switch self {
    case .all: return true
    case .none: return false
    case .and(let parts): return parts.allSatisfy { $0.evaluate(type, value, exists: exists) }
    case .or(let parts): return parts.contains { $0.evaluate(type, value, exists: exists) }
    case .not(let part): return !part.evaluate(type, value, exists: exists)
    case .relates(let field, let relation, let other): return relation.holds(value(field), value(other))
    case .exists(let type, let condition): return exists(type, condition)
    case .compare(let field, let comparison, let other): return comparison.holds(value(field), other)
    case .compareFields(let field, let comparison, let other):
      return comparison.holds(value(field), value(other))
    case .compareNaturally(let field, let comparison, let text):
      return comparison.holds(value(field).naturalKey, .text(NaturalOrder.key(of: text)))
    case .oneOf(let field, let values):
      let found = value(field)
      return values.contains { found.isSame(as: $0) }
    case .contains(let field, let text, let ignoringCase):
      guard let found = value(field).text else { return false }
      return found.bytes(ignoringCase).contains(text.bytes(ignoringCase))
    case .beginsWith(let field, let text, let ignoringCase):
      guard let found = value(field).text else { return false }
      return found.bytes(ignoringCase).starts(with: text.bytes(ignoringCase))
    case .includes(let field, let element): return value(field).includes(element)
    case .near(let field, let centre, let metres):
      guard case .coordinate(let place) = value(field) else { return false }
      return place.distance(to: centre) <= metres
    case .inside(let field, let box):
      guard case .coordinate(let place) = value(field) else { return false }
      return box.contains(place)
    case .matches(let text, let fields, let least):
      let (search, texts) = (TextSearch(text), type.searched(fields).compactMap { value($0.name).text })
      return search.matches(texts) && (least <= 0 || search.rank(of: texts) >= least)
    }
  }
}

extension ConditionTree.Comparison {
  /// Returns true if the values of one kind compare like this. Null equals null, and has no order.
  func holds(_ left: FieldValue, _ right: FieldValue) -> Bool {
    switch self {
    case .equal: return left.isSame(as: right)
    case .notEqual: return !left.isSame(as: right)
    case _ where left.isNull || right.isNull: return false
    case .less: return left.sortsBefore(right)
    case .lessOrEqual: return !right.sortsBefore(left)
    case .greater: return right.sortsBefore(left)
    case .greaterOrEqual: return !left.sortsBefore(right)
    }
  }
}

extension FieldValue {
  /// True if two values of one kind are equal. Text is compared by its bytes, and null equals null.
  package func isSame(as other: FieldValue) -> Bool {
    switch (self, other) {
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.int(let left), .double(let right)): Double(left) == right
    case (.double(let left), .int(let right)): left == Double(right)
    default: self == other
    }
  }

  /// True if the value sorts before another of its kind. Null sorts before all other values.
  package func sortsBefore(_ other: FieldValue) -> Bool {
    switch (self, other) {
    case (_, .null): false
    case (.null, _): true
    case (.bool(let left), .bool(let right)): !left && right
    case (.int(let left), .int(let right)), (.date(let left), .date(let right)): left < right
    case (.double(let left), .double(let right)): left < right
    case (.int(let left), .double(let right)): Double(left) < right
    case (.double(let left), .int(let right)): left < Double(right)
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    default: false
    }
  }

  /// The strings of a list. Empty for any other value.
  var elements: [String] {
    switch self {
    case .list(let ids): return ids
    case .json(let text):
      let value = try? JSONValue(parsing: text)  // Other text has no elements.
      return value?.arrayValue?.compactMap(\.stringValue) ?? []
    default: return []
    }
  }
}

extension String {
  /// Returns the UTF-8 bytes, with ASCII capitals as lower case if the case is ignored.
  fileprivate func bytes(_ ignoringCase: Bool) -> [UInt8] {
    ignoringCase ? utf8.map { 0x41...0x5A ~= $0 ? $0 + 32 : $0 } : Array(utf8)
  }
}
