/// A JSON value as a tree, for documents that are small and read in any order: schemas, queries, settings.
///
/// ```swift
/// let address: JSONValue = ["street": "Storgata 1", "town": "Oslo"]
/// print(address.canonicalText)  // {"street":"Storgata 1","town":"Oslo"}
/// ```
///
/// Records don't use it. They are written and read directly (see `JSONWriter`, `JSONReader`).
public enum JSONValue: Sendable, Hashable {
  /// The literal `null`. It differs from an absent member of an object.
  case null
  /// The literals `true` and `false`. They are never equal to the numbers 1 and 0.
  case bool(Bool)
  /// A number written without fraction and exponent that fits 64 bits.
  ///
  /// All of its digits are kept, also beyond 2^53.
  case int(Int64)
  /// Any other number. `.double(1)` is not equal to `.int(1)`, but both have the text `1`.
  ///
  /// Parsed values are finite. NaN and infinities, which only code can make, have the text `null`.
  case double(Double)
  /// A string, its escapes resolved.
  ///
  /// The text of a value has only the escapes that JSON requires.
  case string(String)
  /// An array; its elements may be of different kinds. Their order counts in comparisons.
  case array([JSONValue])
  /// Members in any order; a repeated name keeps its last value (RFC 8259 section 4 leaves this open).
  ///
  /// Names are compared as Swift's strings, so two spellings of one letter are one name.
  case object([String: JSONValue])

  /// Parses one JSON document. Throws `JSONError`.
  package init(parsing source: some ContiguousBytesSource) throws {
    self = try JSONReader.read(source) { try JSONValue(from: &$0) }
  }

  /// Reads the next value of `reader`.
  package init(from reader: inout JSONReader) throws {
    switch try reader.peek() {
    case .null:
      _ = try reader.nextIsNull()
      self = .null
    case .bool: self = .bool(try reader.bool())
    case .string: self = .string(try reader.string())
    case .number:
      switch try reader.number() {
      case .int(let value): self = .int(value)
      case .double(let value): self = .double(value)
      }
    case .array:
      var elements: [JSONValue] = []
      try reader.array { elements.append(try JSONValue(from: &$0)) }
      self = .array(elements)
    case .object:
      var members: [String: JSONValue] = [:]
      try reader.object { name, reader in members[name] = try JSONValue(from: &reader) }
      self = .object(members)
    }
  }

  /// Writes the value with object members in the order of their names' UTF-8 bytes, so equal values have
  /// equal text.
  package func write(to writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let flag): writer.value(flag)
    case .int(let number): writer.value(number)
    case .double(let number): writer.value(number)
    case .string(let text): writer.value(text)
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(to: &writer) }
      writer.endArray()
    case .object(let members):
      Self.write(members, to: &writer)
    }
  }

  /// Writes the members as an object in canonical order. Leaves out members that are null, if requested.
  package static func write(
    _ members: [String: JSONValue], leavingOutNulls: Bool = false, to writer: inout JSONWriter
  ) {
    writer.beginObject()
    var places = ContiguousArray<Place>()
    places.reserveCapacity(members.count)
    for index in members.indices { places.append(Place(index: index, start: members[index].key.firstBytes)) }
    places.sort { left, right in
      left.start == right.start
        ? members[left.index].key.precedesInUTF8(members[right.index].key) : left.start < right.start
    }
    for place in places {
      let (name, member) = members[place.index]
      if leavingOutNulls && member.isNull { continue }
      writer.key(name)
      member.write(to: &writer)
    }
    writer.endObject()
  }

  /// A member with its sort key. Most names differ in their first bytes, so few texts are compared.
  private struct Place {
    var index: Dictionary<String, JSONValue>.Index
    var start: UInt64
  }

  /// The canonical text: members sorted, no white space.
  ///
  /// Members are in the order of their names' UTF-8 bytes. Takes time in proportion to the text, besides sorting the
  /// members. Doesn't fail: NaN and infinities are written as `null`.
  public var canonicalText: String {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.string
  }

  /// The member of an object called `name`, or nil if the value has no such member or isn't an object.
  package subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members[name]
  }

  /// The text of a string; nil for any other kind.
  package var stringValue: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// True or false; nil for any other kind.
  package var boolValue: Bool? {
    guard case .bool(let flag) = self else { return nil }
    return flag
  }

  /// The number where it is whole and within 64 bits, however it was written (`2.0`); nil for any other value.
  package var intValue: Int64? {
    switch self {
    case .int(let number): number
    case .double(let number): Int64(whole: number)
    default: nil
    }
  }

  /// The number, whole ones too, as the nearest `Double`; nil for any other kind.
  package var doubleValue: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  /// The elements of an array; nil for any other kind.
  package var arrayValue: [JSONValue]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  /// The members of an object; nil for any other kind.
  package var objectValue: [String: JSONValue]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  /// True if the value is the literal `null`. An absent member is nil instead.
  package var isNull: Bool {
    if case .null = self { true } else { false }
  }
}

extension String {
  /// True if the UTF-8 bytes of this text sort before those of `other`.
  fileprivate func precedesInUTF8(_ other: String) -> Bool {
    utf8.lexicographicallyPrecedes(other.utf8)
  }

  /// The first eight bytes, the most significant first, with zeros after a shorter text.
  fileprivate var firstBytes: UInt64 {
    var (bytes, room): (UInt64, UInt64) = (0, 64)
    for byte in utf8.prefix(8) {
      bytes = bytes &<< 8 | UInt64(truncatingIfNeeded: byte)
      room &-= 8
    }
    return bytes &<< room
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Creates a string from a literal, such as `"Oslo"`.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates an `int` from a literal, such as `60`.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// Creates a `bool` from a literal, `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Creates a `double` from a literal, such as `2.5`.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Creates an array from a literal, whose elements may be of different kinds.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// Creates an object from a literal. A repeated name keeps its last value.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
}
