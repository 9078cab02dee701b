internal import Foundation

/// The members of a JSON document in one column, on SQLite. A server thus stores records of any type in one table.
///
/// The document is canonical JSON as `FieldValue` writes it. The connection must have the functions that
/// `QueryFunctions.install` adds.
package struct DocumentColumns: ColumnExpressions {
  private let document: String
  package let id: String
  package let container: String
  package let version: String
  package let created = "created"
  package let modified = "modified"
  package let owner = "owner"
  private let checksKinds: Bool

  /// Creates the expressions from the names of four columns.
  ///
  /// - Parameter checksKinds: True to take JSON of another kind than that of its field for null, as the evaluator does.
  ///   False for kinds that are guesses.
  package init(
    document: String = "fields", id: String = "id", container: String = "container",
    version: String = "version", checksKinds: Bool = true
  ) {
    self.document = document
    self.id = id
    self.container = container
    self.version = version
    self.checksKinds = checksKinds
  }

  package func isContainer(_ name: String) -> SQLFragment { SQLFragment("\(container) = ?", [.text(name)]) }

  package func value(of field: FieldSchema) -> String {
    let value = extract(field, "", field.kind.jsonTypes)
    switch field.kind {
    case .text, .reference, .uuid, .json: return "bothy_text(\(document), '\(field.name)', \(value))"
    default: return value
    }
  }

  package func latitude(of field: FieldSchema) -> String {
    extract(field, ".lat", ValueKind.double.jsonTypes)
  }

  package func longitude(of field: FieldSchema) -> String {
    extract(field, ".lon", ValueKind.double.jsonTypes)
  }

  /// Returns nil, because every record of the type is read without an index.
  package func candidates(in box: GeoBox, of field: FieldSchema) -> SQLFragment? { nil }

  /// Returns data as base64 text, its form in a document.
  package func argument(_ value: FieldValue) -> FieldValue {
    guard case .data(let data) = value else { return value }
    return .text(data.base64EncodedString())
  }

  package func includes(_ element: FieldValue, in field: FieldSchema, of type: TypeSchema) -> SQLFragment {
    let path = "\(document), '\(path(field))'"
    guard element.text != nil else {
      return SQLFragment(
        "CASE WHEN json_type(\(path)) = 'array' THEN bothy_element(json_extract(\(path)), ?) END",
        [.text(element.json.canonicalText)])
    }
    return SQLFragment(
      "bothy_includes(\(document), '\(field.name)', ?, "
        + "json_type(\(path)) = 'array' AND EXISTS (SELECT 1 FROM json_each(\(path)) AS element "
        + "WHERE element.type = 'text' AND element.value = ?))",
      [element, element])
  }

  package func matches(
    _ search: TextSearch, in fields: [FieldSchema], _ type: TypeSchema
  ) -> SQLFragment {
    // Field names are identifiers.
    let texts = fields.map { "'\($0.name)', \(value(of: $0))" }
    return SQLFragment(
      "bothy_matches(?, \(document), \(texts.joined(separator: ", ")))", [.text(search.text)])
  }

  private func extract(_ field: FieldSchema, _ member: String, _ types: String?) -> String {
    let value = "\(document), '\(path(field))\(member)'"
    guard checksKinds, let types else { return "json_extract(\(value))" }
    return "CASE WHEN json_type(\(value)) IN (\(types)) THEN json_extract(\(value)) END"
  }

  /// Returns the path of a field. Field names are identifiers and need no escapes.
  private func path(_ field: FieldSchema) -> String { "$.\"\(field.name)\"" }
}

extension ValueKind {
  /// The types of JSON that have values of the kind, by SQLite's names. Nil for a kind of any JSON.
  fileprivate var jsonTypes: String? {
    switch self {
    case .bool: "'true', 'false'"
    case .int, .double, .date: "'integer', 'real'"
    case .text, .uuid, .reference, .data: "'text'"
    case .references: "'array'"
    case .coordinate, .blob: "'object'"
    case .json: nil
    }
  }
}
