/// The fields of one type that a commit changed, or that a value depends on. The fields from the 62nd on count as one.
package struct FieldSet: OptionSet, Sendable, Hashable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The existence of rows. Every value that depends on a table depends on it, and an update leaves it as it is.
  static let rows = FieldSet(rawValue: 1 << 63)
  /// The columns after the fields, such as the version, and SQLite's number of the row.
  static let system = FieldSet(rawValue: 1 << 62)
  /// The effect of an insertion or a deletion, and of a change that isn't known in detail.
  package static let all = FieldSet(rawValue: .max)

  /// Returns the set of the field at a position of the schema.
  static func field(at position: Int) -> FieldSet { FieldSet(rawValue: 1 << UInt64(min(position, 61))) }

  /// Creates the set of the fields that an update of a row changes; all without either of its states.
  init(from before: StoredRow?, to values: [FieldValue]?) {
    guard let before, let values, before.values.count == values.count else {
      self = .all
      return
    }
    self = .system
    for position in values.indices where before.values[position] != values[position] {
      formUnion(.field(at: position))
    }
  }
}
