/// Conditions under other names of types and fields.
extension ConditionTree {
  /// Returns the condition with other names for its fields.
  ///
  /// - Parameters:
  ///   - open: returns another name for a value of the caller or the record. By default it stays.
  ///   - exists: returns another search for records of a type. By default it stays.
  package func renamingFields(
    _ rename: (String) -> String, open: (String) -> String = { $0 },
    exists: (String, ConditionTree) -> ConditionTree = { .exists(type: $0, $1) }
  ) -> ConditionTree {
    func renaming(_ part: ConditionTree) -> ConditionTree {
      part.renamingFields(rename, open: open, exists: exists)
    }
    switch self {
    case .all, .none: return self
    case .matches(let text, let fields, let least):
      return .matches(text, in: fields.map(rename), atLeast: least)
    case .compare(let field, let comparison, let value):
      return .compare(field: rename(field), comparison, value)
    case .compareFields(let field, let comparison, let other):
      return .compareFields(rename(field), comparison, rename(other))
    case .compareNaturally(let field, let comparison, let text):
      return .compareNaturally(field: rename(field), comparison, text)
    case .oneOf(let field, let values): return .oneOf(field: rename(field), values)
    case .contains(let field, let text, let ignoringCase):
      return .contains(field: rename(field), text, ignoringCase: ignoringCase)
    case .beginsWith(let field, let text, let ignoringCase):
      return .beginsWith(field: rename(field), text, ignoringCase: ignoringCase)
    case .includes(let field, let element): return .includes(field: rename(field), element)
    case .near(let field, let centre, let metres):
      return .near(field: rename(field), centre: centre, metres: metres)
    case .inside(let field, let box): return .inside(field: rename(field), box)
    case .and(let parts): return .and(parts.map(renaming))
    case .or(let parts): return .or(parts.map(renaming))
    case .not(let part): return .not(renaming(part))
    case .relates(let field, let relation, let other):
      return .relates(field: rename(field), relation, to: open(other))
    case .exists(let type, let condition): return exists(type, condition)
    }
  }
}
