import Foundation

/// A `Codable` value stored in one field as canonical JSON: `struct Address: Codable, JSONField { … }`.
///
/// ```swift
/// struct Address: Codable, JSONField {
///   var street = ""
///   var town = ""
/// }
///
/// @Entity struct Guest {
///   var name: String
///   var address: Address?
/// }
/// ```
///
/// Encoding uses Foundation's coders (about 10 µs a kilobyte). A field that queries filter or sort by needs a kind of
/// its own instead.
public protocol JSONField: FieldConvertible, Codable {}

extension JSONField {
  /// Stores one column of text, of the kind `json`.
  ///
  /// Dates are milliseconds since 1970, and keys are sorted. JSON of more than 32 levels throws `BothyError`
  /// `.invalidValue` at the write, and so does a value that `Codable` can't encode, such as NaN. Stored JSON that the type can't decode throws `.invalidValue` at the read.
  public static var fieldCoding: FieldKind.Coding<Self> {
    JSONFieldCoding.coding(FieldKind(Self.self == Blob.self ? .blob : .json))
  }
}

extension Blob: JSONField {}

enum JSONFieldCoding {
  static func coding<Value: JSONField>(_ kind: FieldKind) -> FieldKind.Coding<Value> {
    FieldKind.Coding(
      kind,
      encode: { value, fields in
        // A number in a field of JSON is refused.
        do { fields.encode(json: try text(of: value)) } catch { fields.refuse(.double(.nan)) }
      },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        let text = try fields.json()
        do { return try decode(Value.self, from: text) } catch {
          throw BothyError(.invalidValue, "The stored JSON isn't a \(Value.self).", underlying: error)
        }
      })
  }

  /// Returns canonical JSON, or unchanged one that is nested too deep to be stored.
  static func text(of value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .millisecondsSince1970
    let data = try encoder.encode(value)
    do { return try JSONValue(parsing: data).canonicalText } catch {
      let text = String(decoding: data, as: UTF8.self)
      guard text.utf8.nests(deeperThan: JSONReader.maximumValueDepth) else { throw error }
      return text
    }
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .millisecondsSince1970
    return try decoder.decode(type, from: Data(text.utf8))
  }
}
