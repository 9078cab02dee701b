/// The kind of a field, which determines its storage in SQLite and its JSON.
@usableFromInline package enum ValueKind: Sendable, Hashable {
  /// `Bool`: 0 or 1 in SQLite, `true` or `false` as JSON.
  case bool
  /// `Int` and `Int64`: a whole number of 64 bits.
  case int
  /// `Double`: a finite number. NaN and infinities are refused.
  case double
  /// `String`: text, compared by its UTF-8 bytes.
  case text
  /// `Date`: whole milliseconds since 1970, as JSON the same number.
  case date
  /// `UUID`: lower-case text.
  case uuid
  /// `Data`: bytes in the row, base64 as JSON. Use blobs for large ones.
  case data
  /// `Coordinate`: two columns, `{"lat":…,"lon":…}` as JSON. An index of it is an R-tree.
  case coordinate
  /// Any `Codable` value, as canonical JSON text.
  case json
  /// `Blob`: the description of a file, as JSON text. Its bytes are stored elsewhere.
  case blob
  /// One record of the type `to`. Its id as text, always with an index.
  case reference(to: String, onDelete: FieldKind.DeleteRule)
  /// Records of the type `to`, in order. A JSON array of their ids, with an entry in `bothy_link` for each.
  case references(to: String, onDelete: FieldKind.DeleteRule)

  /// The name in schema documents.
  package var name: String {
    switch self {
    case .bool: "bool"
    case .int: "int"
    case .double: "double"
    case .text: "string"
    case .date: "date"
    case .uuid: "uuid"
    case .data: "data"
    case .coordinate: "coordinate"
    case .json: "json"
    case .blob: "blob"
    case .reference: "reference"
    case .references: "references"
    }
  }

  /// The kind as part of a sentence: "a whole number".
  package var phrase: String {
    switch self {
    case .bool: "true or false"
    case .int: "a whole number"
    case .double: "a finite number"
    case .text: "a string"
    case .date: "a date (milliseconds since 1970 or RFC 3339 text)"
    case .uuid: "a UUID"
    case .data: "data in base64"
    case .coordinate: "a coordinate {\"lat\",\"lon\"} within ±90 and ±180"
    case .json: "a JSON value"
    case .blob: "a blob description {\"sha256\",\"size\"}"
    case .reference(let type, _): "the id of a \(type)"
    case .references(let type, _): "a list of ids of \(type)"
    }
  }

  /// The type that the target of a reference must have, with the delete rule. Nil for other kinds.
  package var target: (type: String, onDelete: FieldKind.DeleteRule)? {
    switch self {
    case .reference(let type, let rule), .references(let type, let rule): (type, rule)
    default: nil
    }
  }
}
