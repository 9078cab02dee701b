public import struct Foundation.Data

/// The value of one field of one record, for code that has no Swift type for the record. Tools, the wire and dynamic
/// queries use it.
///
/// ```swift
/// let step = Migration(
///   to: 2, .convertField(type: "Stop", field: "night", from: String.self) {
///     if case .text(let text) = $0 { .int(Int64(text) ?? 1) } else { .int(1) }
///   })
/// ```
///
/// UUIDs, references and the raw text of enums are `.text`. Lists of references are `.list`. `Codable` and `Blob`
/// values are `.json` with canonical JSON text.
public enum FieldValue: Sendable, Hashable {
  /// No value.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number.
  case int(Int64)
  /// A number. A field of this kind also accepts `.int`.
  case double(Double)
  /// Text, the form of strings, UUIDs, references and enums.
  case text(String)
  /// Milliseconds since 1970-01-01T00:00:00Z, negative before.
  case date(Int64)
  /// Bytes in the row.
  case data(Data)
  /// A place on earth.
  case coordinate(Coordinate)
  /// Canonical JSON text (see `JSONValue.canonicalText`).
  case json(String)
  /// Ids of records, in order.
  case list([String])

  /// True if the value is null.
  package var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The text of a `.text` value.
  package var text: String? {
    guard case .text(let text) = self else { return nil }
    return text
  }
}

extension FieldValue {
  /// Compares texts byte by byte, like SQLite. By Swift's own `==` canonically equivalent texts are equal, and an edit
  /// from one to the other is lost.
  public static func == (left: FieldValue, right: FieldValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.int(let left), .int(let right)), (.date(let left), .date(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.text(let left), .text(let right)), (.json(let left), .json(let right)):
      left.utf8.elementsEqual(right.utf8)
    case (.data(let left), .data(let right)): left == right
    case (.coordinate(let left), .coordinate(let right)): left == right
    case (.list(let left), .list(let right)):
      left.elementsEqual(right) { $0.utf8.elementsEqual($1.utf8) }
    default: false
    }
  }
}

extension FieldValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .text(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(nilLiteral: ()) { self = .null }
}

extension FieldValue {
  /// Writes the value as JSON: dates as integer milliseconds, data as base64 (RFC 4648 section 4), coordinates as
  /// `{"lat":…,"lon":…}`.
  package func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let flag): writer.value(flag)
    case .int(let number), .date(let number): writer.value(number)
    case .double(let number): writer.value(number)
    case .text(let text): writer.value(text)
    case .data(let data): writer.value(data.base64EncodedString())
    case .coordinate(let coordinate): coordinate.write(to: &writer)
    case .json(let text): writer.raw(text)
    case .list(let ids):
      writer.beginArray()
      for id in ids { writer.value(id) }
      writer.endArray()
    }
  }
}
