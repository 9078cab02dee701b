/// Where the values of a record stand in SQL: columns of their own on a device, members of a JSON document on a
/// server. Everything else about compiling a query is the same for both.
package protocol ColumnExpressions: Sendable {
  var id: String { get }
  /// The container, never null.
  var container: String { get }
  var version: String { get }
  /// When the record was made, and when it was last edited, in milliseconds.
  var created: String { get }
  var modified: String { get }
  var owner: String { get }
  func isContainer(_ container: String) -> SQLFragment
  /// True of the containers below a path, itself left out.
  func isBelow(_ container: String) -> SQLFragment
  /// The value of a field of one column; a list as its JSON text.
  func value(of field: FieldSchema) -> String
  func latitude(of field: FieldSchema) -> String
  func longitude(of field: FieldSchema) -> String
  /// A condition that every record whose coordinate is in the box meets, and few others, where an index serves it.
  func candidates(in box: GeoBox, of field: FieldSchema) -> SQLFragment?
  /// The value as it is bound to be compared with `value(of:)`.
  func argument(_ value: FieldValue) -> FieldValue
  /// True when the list holds the string.
  func includes(_ element: String, in field: FieldSchema, of type: TypeSchema) -> SQLFragment
  /// True when the full-text fields have the words; `search` has at least one.
  func matches(_ search: TextSearch, _ type: TypeSchema) -> SQLFragment
}

extension ColumnExpressions {
  package func isBelow(_ path: String) -> SQLFragment { isBelow(path, container) }

  /// Paths that begin with the path and a slash lie between that and the path and a `0`, the character after `/`.
  func isBelow(_ path: String, _ column: String) -> SQLFragment {
    SQLFragment("(\(column) >= ? AND \(column) < ?)", [.text(path + "/"), .text(path + "0")])
  }
}

/// A piece of SQL with `?` for each of its arguments.
package struct SQLFragment: Sendable, Hashable {
  package var sql: String
  package var arguments: [FieldValue]

  package init(_ sql: String, _ arguments: [FieldValue] = []) {
    self.sql = sql
    self.arguments = arguments
  }

  package static func += (left: inout SQLFragment, right: SQLFragment) {
    left.sql += right.sql
    left.arguments += right.arguments
  }

  package static func += (left: inout SQLFragment, right: String) { left.sql += right }
}
