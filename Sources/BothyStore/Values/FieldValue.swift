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
  /// No value. Fits optional fields only.
  case null
  /// True or false. In a condition, false sorts before true.
  case bool(Bool)
  /// A whole number. It doesn't fit a field of dates, which takes `.date`.
  case int(Int64)
  /// A number. A field of this kind also accepts `.int`. NaN and infinities are refused with `BothyError`
  /// `.invalidValue`.
  case double(Double)
  /// Text, the form of strings, UUIDs, references and enums. Compared by its UTF-8 bytes.
  case text(String)
  /// Milliseconds since 1970-01-01T00:00:00Z, negative before.
  case date(Int64)
  /// Bytes in the row. As JSON they are base64 (RFC 4648, section 4).
  case data(Data)
  /// A place on earth. One elsewhere is refused with `BothyError` `.invalidValue`.
  case coordinate(Coordinate)
  /// Canonical JSON text (see `JSONValue.canonicalText`). Values are compared by this text, so another spelling of a
  /// value differs from it. Nesting ends at 32 levels.
  case json(String)
  /// Ids of records, in order. An empty list is a value, other than null.
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
  /// Creates text: `["name": "Corrour"]`. A date or a coordinate has no literal.
  public init(stringLiteral value: String) { self = .text(value) }
  /// Creates a whole number: `["beds": 6]`. It also fits a field of numbers.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// Creates a Boolean: `["done": true]`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Creates a number: `["height": 380.5]`. A field of whole numbers refuses it.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Creates null: `["due": nil]`. In an import it clears the field of an existing record.
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
