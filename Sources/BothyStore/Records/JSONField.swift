import Foundation

/// A `Codable` value stored in one field as canonical JSON: `struct Address: Codable, JSONField { … }`.
///
/// Encoding uses Foundation's coders (about 10 µs a kilobyte). A field that queries filter or sort by needs a kind of
/// its own instead.
public protocol JSONField: FieldConvertible, Codable {}

extension JSONField {
  /// The kind `json`: one column with text.
  public static var fieldKind: FieldKind { FieldKind(.json) }

  public func encodeField(to fields: inout FieldEncoder) {
    // A value that `Codable` can't encode (NaN, for example) is stored as JSON null.
    let data = (try? JSONFieldCoding.encode(self)) ?? Data("null".utf8)
    fields.encode(json: String(decoding: data, as: UTF8.self))
  }

  public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    let text = try fields.json()
    do { self = try JSONFieldCoding.decode(Self.self, from: text) } catch {
      throw BothyError(.invalidValue, "The stored JSON isn't a \(Self.self).", underlying: error)
    }
  }
}

extension Blob: JSONField {
  public static var fieldKind: FieldKind { FieldKind(.blob) }
}

enum JSONFieldCoding {
  static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .millisecondsSince1970
    let text = try JSONValue(parsing: try encoder.encode(value)).canonicalText
    return Data(text.utf8)
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .millisecondsSince1970
    return try decoder.decode(type, from: Data(text.utf8))
  }
}
