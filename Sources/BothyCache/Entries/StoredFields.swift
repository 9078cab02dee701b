package import HTTPTypes

/// The fields of a response in their form on disk. They are decoded on demand, because most hits need none of them.
///
/// Each field has two bytes of length and the name, then four bytes of length and the value. Lengths are little-endian.
package struct StoredFields: Sendable, Hashable {
  package let bytes: [UInt8]

  /// Uses bytes from `init(_ fields:)`. If they are damaged, the fields before the damage count.
  package init(bytes: [UInt8]) { self.bytes = bytes }

  /// Encodes fields. Names and values that exceed their lengths are left out, but no server sends such.
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

  /// The decoded fields, at a cost of about half a microsecond for each.
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
