import BothyStore

/// The data to compare two copies of a record, without its fields.
package struct RecordStamp: Sendable, Hashable {
  /// The record by type and id.
  package var id: RecordID
  /// The server's version of the record.
  package var version: String
  /// The first eight bytes of the record's hash, as in `ScopeDigest`.
  package var hash: UInt64

  /// Makes a stamp, for servers' answers. `hash` is computed as for a `ScopeDigest`.
  package init(id: RecordID, version: String, hash: UInt64) {
    self.id = id
    self.version = version
    self.hash = hash
  }
}

extension RecordID {
  /// Returns the number of the part of a scope that the record belongs to, out of `count`, for comparing part by part.
  /// It is the 64 bits of FNV-1a over the type, a zero byte and the id, modulo `count`.
  package func part(of count: Int) -> Int {
    let hash = id.utf8.fnv1a(after: CollectionOfOne<UInt8>(0).fnv1a(after: type.utf8.fnv1a()))
    return Int(hash % UInt64(max(count, 1)))
  }
}

extension RecordStamp {
  /// Writes `{"type","id","version","hash"}`, the hash in 16 hexadecimal digits.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.members(id)
    writer.member("version", version)
    writer.member("hash", hash.hexadecimal)
    writer.endObject()
  }

  /// Reads the output of `write`, and skips unknown members. Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var stamp = RecordStamp(id: RecordID(type: "", id: ""), version: "", hash: 0)
    try reader.object { name, reader in
      switch name {
      case "type": stamp.id.type = try reader.string()
      case "id": stamp.id.id = try reader.string()
      case "version": stamp.version = try reader.string()
      case "hash":
        guard let hash = UInt64(try reader.string(), radix: 16) else {
          throw JSONError(reason: "a hash is 16 hexadecimal digits", offset: reader.offset)
        }
        stamp.hash = hash
      default: try reader.skip()
      }
    }
    self = stamp
  }

  /// Parses the answer `{"records":[…]}`, and skips unknown members. Throws `JSONError`.
  package static func list(decoding bytes: some ContiguousBytesSource) throws -> [RecordStamp] {
    var found: [RecordStamp]?
    try JSONReader.read(bytes) { reader in
      try reader.object { name, reader in
        guard name == "records" else { return try reader.skip() }
        var stamps: [RecordStamp] = []
        try reader.array { stamps.append(try RecordStamp(from: &$0)) }
        found = stamps
      }
    }
    guard let stamps = found else { throw JSONError(reason: "stamps need 'records'", offset: 0) }
    return stamps
  }
}
