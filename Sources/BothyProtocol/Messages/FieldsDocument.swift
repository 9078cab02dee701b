public import BothyStore

/// The fields of one record as the server has them: one canonical JSON object, kept as bytes.
///
/// Equal bytes are stored by the server, sent, staged on the device and hashed for digests. A record is parsed only if
/// its fields are needed. Members are sorted by name, and nulls are left out.
public struct FieldsDocument: Sendable, Hashable {
  /// The object's text, in UTF-8.
  package private(set) var bytes: [UInt8]

  /// The document `{}`, without values. Tombstones have it.
  public static let empty = FieldsDocument(canonical: Array("{}".utf8))

  /// Takes bytes that are canonical already, from a server's storage or a trusted peer.
  package init(canonical bytes: [UInt8]) { self.bytes = bytes }

  /// Makes a document from members in any order, without nulls.
  public init(_ members: [String: JSONValue]) {
    var writer = JSONWriter(reserving: 64 * members.count)
    JSONValue.write(members, leavingOutNulls: true, to: &writer)
    bytes = writer.bytes
  }

  /// Parses the members. Throws an error if the bytes aren't a JSON object.
  public func members() throws -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    try JSONReader.read(bytes) { reader in
      try reader.object { name, reader in members[name] = try JSONValue(from: &reader) }
    }
    return members
  }
}

/// Encodes the document as the text of its JSON.
extension FieldsDocument: Codable {
  public init(from decoder: any Decoder) throws {
    self.init(canonical: Array(try decoder.singleValueContainer().decode(String.self).utf8))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(String(decoding: bytes, as: UTF8.self))
  }
}
