package import HTTPTypes

/// The fields of a response in their form on disk. They are decoded on demand, because most hits need none of them.
///
/// Each field has two bytes of length and the name, then four bytes of length and the value. Lengths are little-endian.
package struct StoredFields: Sendable, Hashable {
  private enum Content: Sendable {
    case whole([UInt8])
    /// The names and common values of a frame, and the values of this entry alone.
    ///
    /// Entries of one server share a frame, which saves memory.
    case framed(MetadataFrame, values: [UInt8], receivedAt: Int64)
  }

  private let content: Content

  /// All bytes. Fields that share a frame are joined each time.
  package var bytes: [UInt8] {
    switch content {
    case .whole(let bytes): bytes
    case .framed(let frame, let values, let receivedAt): frame.fields(values, receivedAt: receivedAt)
    }
  }

  /// The size in memory, which is less than that of `bytes` if a frame is shared.
  package var size: Int {
    switch content {
    case .whole(let bytes): bytes.count
    case .framed(_, let values, _): values.count
    }
  }

  /// Uses bytes from `init(_ fields:)`. If they are damaged, the fields before the damage count.
  package init(bytes: [UInt8]) { content = .whole(bytes) }

  init(_ frame: MetadataFrame, values: [UInt8], receivedAt: Int64) {
    content = .framed(frame, values: values, receivedAt: receivedAt)
  }

  package static func == (one: StoredFields, other: StoredFields) -> Bool { one.bytes == other.bytes }
  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// Encodes fields. Names and values that exceed their lengths are left out, but no server sends such.
  package init(_ fields: HTTPFields) {
    var bytes: [UInt8] = []
    for field in fields {
      let name = field.name.rawName.utf8
      let value = field.withUnsafeBytesOfValue { Array($0) }
      guard UInt16(exactly: name.count) != nil, UInt32(exactly: value.count) != nil else { continue }
      Self.append(name, value, to: &bytes)
    }
    self.init(bytes: bytes)
  }

  /// Appends one field, whose lengths fit.
  static func append(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>, to bytes: inout [UInt8])
  {
    withUnsafeBytes(of: UInt16(truncatingIfNeeded: name.count).littleEndian) {
      bytes.append(contentsOf: $0)
    }
    bytes.append(contentsOf: name)
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: value.count).littleEndian) {
      bytes.append(contentsOf: $0)
    }
    bytes.append(contentsOf: value)
  }

  /// The decoded fields. Costs about half a microsecond for each.
  package var fields: HTTPFields {
    var fields = HTTPFields()
    _ = Self.forEach(in: bytes) { name, value in
      guard let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else { return }
      fields.append(HTTPField(name: name, lenientValue: value))
    }
    return fields
  }

  /// Calls `body` with each field up to the first damage. Returns false if there is one.
  static func forEach(
    in bytes: [UInt8], _ body: (_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Void
  ) -> Bool {
    var rest = bytes[...]
    while let name = take(lengthBytes: 2, from: &rest), let value = take(lengthBytes: 4, from: &rest) {
      body(name, value)
    }
    return rest.isEmpty
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
