/// The names of values in permissions that are known when a condition is decided. No field has such a name, because of
/// the dot.
package enum OpenValue {
  /// The caller's name. A caller without one has none, and a missing value equals nothing.
  package static let name = "principal.name"
  /// The caller's groups, a list of names.
  package static let groups = "principal.groups"
  private static let recordPrefix = "record."

  /// Returns the name for a field of the record that `EXISTS` is decided for.
  package static func record(_ field: String) -> String { recordPrefix + field }

  /// Returns the field that a name of `record(_:)` is for, or `nil` for another name.
  package static func recordField(_ name: String) -> String? {
    name.hasPrefix(recordPrefix) ? String(name.dropFirst(recordPrefix.count)) : nil
  }

  static func isKnown(_ name: String) -> Bool {
    name == Self.name || name == groups || recordField(name).map { !$0.isEmpty } ?? false
  }
}

extension ConditionTree {
  /// The relation of a field to an open value.
  package enum Relation: Sendable, Hashable {
    /// A comparison. A missing value on either side equals nothing and has no order.
    case compares(Comparison)
    /// The field's text is in the list of the other.
    case isOneOf
    /// The field is a list with the other's text.
    case includes

    /// The relation in conditions as text.
    var word: String {
      switch self {
      case .compares(let comparison): comparison.rawValue
      case .isOneOf: "IN"
      case .includes: "INCLUDES"
      }
    }

    /// Returns true if the values have the relation.
    func holds(_ left: FieldValue, _ right: FieldValue) -> Bool {
      switch self {
      case .compares(let comparison):
        left.isNull || right.isNull ? comparison == .notEqual : comparison.holds(left, right)
      case .isOneOf: Self.contains(right, left)
      case .includes: Self.contains(left, right)
      }
    }

    private static func contains(_ list: FieldValue, _ element: FieldValue) -> Bool {
      guard let text = element.text else { return false }
      return list.elements.contains { $0.utf8.elementsEqual(text.utf8) }
    }
  }
}
