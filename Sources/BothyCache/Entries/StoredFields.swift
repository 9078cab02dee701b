package import HTTPTypes

/// The fields of an answer as they lie on disk: read when somebody asks, because most hits need none of them.
///
/// For each field two bytes of length and the name, four bytes of length and the value; lengths little-endian.
package struct StoredFields: Sendable, Hashable {
  package let bytes: [UInt8]

  /// Bytes as `init(_ fields:)` makes them. Where they are damaged, what comes before the damage counts.
  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// Names and values that do not fit into their lengths are left out; no server sends such.
  package init(_ fields: HTTPFields) {
    var bytes: [UInt8] = []
    for field in fields {
      let name = field.name.rawName.utf8
      let value = field.withUnsafeBytesOfValue { Array($0) }
      guard let nameLength = UInt16(exactly: name.count), let length = UInt32(exactly: value.count) else {
        continue
      }
      withUnsafeBytes(of: nameLength.littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: name)
      withUnsafeBytes(of: length.littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: value)
    }
    self.bytes = bytes
  }

  /// Costs about half a microsecond for each field.
  package var fields: HTTPFields {
    var fields = HTTPFields()
    var rest = bytes[...]
    while let name = Self.take(lengthBytes: 2, from: &rest),
      let value = Self.take(lengthBytes: 4, from: &rest)
    {
      guard let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else { continue }
      fields.append(HTTPField(name: name, lenientValue: value))
    }
    return fields
  }

  private static func take(lengthBytes: Int, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard rest.count >= lengthBytes else { return nil }
    let length = rest.prefix(lengthBytes).reversed().reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(lengthBytes)
    guard rest.count >= length else { return nil }
    defer { rest = rest.dropFirst(length) }
    return rest.prefix(length)
  }
}
