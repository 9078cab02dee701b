import BothyStore

extension FieldIndex.Form {
  /// True if the keys sort like the values, and each record has one.
  var isOrdered: Bool {
    switch self {
    case .bool, .int, .double, .date, .string, .uuid, .reference, .natural: true
    case .data, .coordinate, .references, .words, .grams: false
    }
  }

  /// Returns ranges of keys that every record of a condition on one field has one of, or `nil` if keys don't say.
  ///
  /// They may have the keys of other records too. The condition is a checked one.
  func ranges(of condition: ConditionTree) -> [KeyRange]? {
    switch condition {
    case .compare(_, let comparison, let value):
      if value.isNull {
        switch comparison {
        case .equal: return [KeyRange(of: FieldKey.null)]
        case .notEqual: return isOrdered ? [FieldKey.values] : nil
        default: return []
        }
      }
      guard comparison == .equal || isOrdered else { return nil }
      return KeyRange(comparison, value).map { [$0] }
    case .oneOf(_, let values):
      let keys = Set(values.map(FieldKey.key))
      return keys.count > IndexPlan.rangeLimit ? nil : keys.map { KeyRange(of: $0) }
    case .beginsWith(_, let text, let ignoringCase):
      return ignoringCase ? nil : [KeyRange(beginningWith: text)]
    case .includes(_, let element):
      guard self == .references else { return nil }
      return [KeyRange(of: FieldKey.key(element)), KeyRange(of: FieldKey.many)]
    case .near(_, let centre, let metres):
      return QuadCells.ranges(of: GeoBox(around: centre, metres: metres))
    case .inside(_, let box): return QuadCells.ranges(of: box)
    default: return nil
    }
  }
}
