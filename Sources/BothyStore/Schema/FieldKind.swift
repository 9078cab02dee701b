/// What a field holds, and with it how it is stored in SQLite and written as JSON.
public enum FieldKind: Sendable, Hashable {
  /// `Bool`: 0 or 1 in SQLite, `true` or `false` as JSON.
  case bool
  /// `Int` and `Int64`: a whole number of 64 bits.
  case int
  /// `Double`: a number; NaN is stored as 0.
  case double
  /// `String`: text, compared by its UTF-8 bytes.
  case text
  /// `Date`: whole milliseconds since 1970, as JSON the same number.
  case date
  /// `UUID`: lower-case text.
  case uuid
  /// `Data`: bytes in the row, base64 as JSON. Large ones are better blobs.
  case data
  /// `Coordinate`: two columns, `{"lat":…,"lon":…}` as JSON.
  case coordinate
  /// Any `Codable` value, as canonical JSON text.
  case json
  /// `Blob`: the description of a file, as JSON text; its bytes live elsewhere.
  case blob
  /// One record of the type `to`.
  case reference(to: String, onDelete: DeleteRule)
  /// Records of the type `to`, in order.
  case references(to: String, onDelete: DeleteRule)

  /// What happens to the records that refer to one that is deleted.
  public enum DeleteRule: String, Sendable, Hashable, CaseIterable {
    /// They are deleted too.
    case cascade
    /// Their reference is cleared (removed from a list).
    case nullify
    /// The deletion is refused while there are any.
    case deny
  }

  /// The name in schema documents.
  public var name: String {
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

  /// The kind as it stands in a sentence: "a whole number".
  public var phrase: String {
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

  /// The type another record must have, for references.
  public var target: (type: String, onDelete: DeleteRule)? {
    switch self {
    case .reference(let type, let rule), .references(let type, let rule): (type, rule)
    default: nil
    }
  }
}
