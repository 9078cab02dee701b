/// The SQL expressions for the values of a record: columns of their own on a device, members of a JSON document on a
/// server. The rest of the compilation of a query is common to both.
package protocol ColumnExpressions: Sendable {
  var id: String { get }
  /// The container, never null.
  var container: String { get }
  var version: String { get }
  /// The times at which the record was created and last edited, in milliseconds.
  var created: String { get }
  var modified: String { get }
  var owner: String { get }
  func isContainer(_ container: String) -> SQLFragment
  /// Returns a condition that is true of the containers below a path, but not of the path itself.
  func isBelow(_ container: String) -> SQLFragment
  /// Returns the value of a field of one column. A list is its JSON text.
  func value(of field: FieldSchema) -> String
  /// Returns the natural sort key of a field of text.
  func natural(of field: FieldSchema) -> String
  func latitude(of field: FieldSchema) -> String
  func longitude(of field: FieldSchema) -> String
  /// Returns a condition that every record whose coordinate is in the box meets, and few others. Nil if no index serves
  /// it.
  func candidates(in box: GeoBox, of field: FieldSchema) -> SQLFragment?
  /// Returns the value in the form that is compared with `value(of:)`.
  func argument(_ value: FieldValue) -> FieldValue
  /// Returns a condition that is true if the list contains the element, and null or false if not.
  func includes(_ element: FieldValue, in field: FieldSchema, of type: TypeSchema) -> SQLFragment
  /// Returns a condition that is true if these full-text fields have the words. `search` has at least one.
  func matches(_ search: TextSearch, in fields: [FieldSchema], _ type: TypeSchema) -> SQLFragment
}

extension ColumnExpressions {
  package func isBelow(_ path: String) -> SQLFragment { isBelow(path, container) }

  package func natural(of field: FieldSchema) -> String { "bothy_natural(\(value(of: field)))" }

  /// Returns the natural sort key of a field or pseudo-field of text.
  func natural(_ name: String, _ type: TypeSchema) throws(BothyError) -> String {
    if case .field(let field) = try type.queryField(name) { return natural(of: field) }
    return "bothy_natural(\(try expression(name, type)))"
  }

  /// Returns the relevance of the record for a search.
  func rank(_ search: FieldSearch, _ type: TypeSchema) -> SQLFragment {
    let texts = search.fields.compactMap { type[$0] }.map { ", \(value(of: $0))" }
    return SQLFragment("bothy_rank(?\(texts.joined()))", [.text(search.search.text)])
  }

  /// Returns the range of paths below a path. It ends before the path and a `0`, the character after `/`.
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
