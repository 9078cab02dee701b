import Foundation

extension FieldValue {
  /// Reads a value of `kind` from JSON.
  ///
  /// Dates are accepted as integer milliseconds or RFC 3339 text. `null` is accepted for any kind, because the schema
  /// decides if a field may be null. Throws `FieldValueError` if the JSON is of another type, and `JSONError` if it is
  /// malformed.
  package init(from reader: inout JSONReader, kind: ValueKind) throws {
    let found = try reader.peek()
    if found == .null {
      _ = try reader.nextIsNull()
      self = .null
      return
    }
    switch (kind, found) {
    case (.bool, .bool): self = .bool(try reader.bool())
    case (.int, .number): self = .int(try Self.whole(&reader, kind))
    case (.double, .number): self = .double(try reader.double())
    case (.text, .string), (.reference, .string): self = .text(try reader.string())
    case (.uuid, .string): self = try Self.uuid(try reader.string())
    case (.date, .number): self = .date(try Self.whole(&reader, kind))
    case (.date, .string): self = try Self.date(try reader.string())
    case (.data, .string): self = try Self.data(try reader.string())
    case (.coordinate, .object):
      self = .coordinate(try Coordinate(json: JSONValue(from: &reader)))
    case (.references, .array):
      var ids: [String] = []
      try reader.array { reader in
        let element = try reader.peek()
        guard element == .string else {
          throw FieldValueError(expected: kind, found: "a list with \(element)")
        }
        ids.append(try reader.string())
      }
      self = .list(ids)
    case (.json, _): self = .json(try JSONValue(from: &reader).canonicalText)
    case (.blob, .object): self = .json(try JSONValue(from: &reader).canonicalText)
    default: throw FieldValueError(expected: kind, found: "\(found)")
    }
  }

  /// Converts a parsed JSON value to a value of `kind`. Throws `FieldValueError`.
  package init(json: JSONValue, kind: ValueKind) throws {
    var writer = JSONWriter()
    json.write(to: &writer)
    self = try JSONReader.read(writer.bytes) { try FieldValue(from: &$0, kind: kind) }
  }

  /// Guesses the kind from the JSON alone, for records of types without a schema. Whole numbers become `.int`, other
  /// numbers `.double`, strings `.text`, arrays and objects `.json`.
  package init(guessing json: JSONValue) {
    switch json {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .int(let number): self = .int(number)
    case .double(let number): self = .double(number)
    case .string(let text): self = .text(text)
    case .array, .object: self = .json(json.canonicalText)
    }
  }

  private static func whole(_ reader: inout JSONReader, _ kind: ValueKind) throws -> Int64 {
    switch try reader.number() {
    case .int(let number): return number
    case .double(let number):
      guard let exact = Int64(whole: number) else {
        throw FieldValueError(expected: kind, found: "\(number)")
      }
      return exact
    }
  }

  private static func uuid(_ text: String) throws -> FieldValue {
    guard let uuid = UUID(uuidString: text) else {
      throw FieldValueError(expected: .uuid, found: "'\(text)'")
    }
    return .text(uuid.uuidString.lowercased())
  }

  private static func date(_ text: String) throws -> FieldValue {
    guard let date = Timestamp(rfc3339: text) else {
      throw FieldValueError(expected: .date, found: "'\(text)'")
    }
    return .date(date.milliseconds)
  }

  private static func data(_ text: String) throws -> FieldValue {
    guard let data = Data(base64Encoded: text) else {
      throw FieldValueError(expected: .data, found: "text that is not base64")
    }
    return .data(data)
  }
}

/// The error of a value that doesn't fit the kind of its field.
package struct FieldValueError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the field.
  package var expected: ValueKind
  /// The text that was found instead, or the kind of JSON.
  package var found: String

  init(expected: ValueKind, found: String) {
    self.expected = expected
    self.found = found
  }

  package var description: String { "Expected \(expected.phrase), found \(found)." }
}
