public import BothyStore

/// A record of the server that can't be read on this device. It was quarantined and doesn't stop other records.
///
/// The local version of the record stays unchanged, and edits of it count as rejected. A readable version ends this.
public struct UnreadableRecord: Sendable, Hashable, Codable {
  /// Its type and id. A part that could not be read is empty.
  public var record: RecordID
  /// The server's version, which for Bothy's own server is the position. Empty if it is unknown.
  package var version: String
  /// Its container, empty if it is unknown.
  package var container: String
  /// The problem with the record, in a sentence.
  public var reason: String

  /// Makes a note of a record, for pulls, tests and previews.
  package init(record: RecordID, version: String = "", container: String = "", reason: String) {
    self.record = record
    self.version = version
    self.container = container
    self.reason = reason
  }
}

extension UnreadableRecord {
  package init(_ record: ServerRecord, _ error: any Error) {
    let reason = (error as? BothyError)?.message
    self.init(
      record: record.id, version: record.version, container: record.container,
      reason: reason ?? "Its fields can't be read: \((error as? JSONError)?.reason ?? "\(error)").")
  }

  /// Skips a value that isn't a record, and keeps the members that can be read. Throws `JSONError` if its end can't be
  /// found.
  package init(skipping reader: inout JSONReader, _ error: JSONError) throws {
    self.init(record: RecordID(type: "", id: ""), reason: "It isn't a record: \(error.reason).")
    guard try reader.peek() == .object else {
      _ = try reader.rawValue(upTo: .max)
      return
    }
    var found: [String: String] = [:]
    try reader.object { name, reader in
      if try reader.peek() == .string {
        found[name] = try reader.string()
      } else {
        _ = try reader.rawValue(upTo: .max)
      }
    }
    record = RecordID(type: found["type"] ?? "", id: found["id"] ?? "")
    version = found["version"] ?? ""
    container = found["container"] ?? record.type
  }

  /// Writes `{"type","id","version","container","reason"}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.members(record)
    writer.member("version", version)
    writer.member("container", container)
    writer.member("reason", reason)
    writer.endObject()
  }

  /// Reads the output of `write`, and skips unknown members. Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var found: [String: String] = [:]
    try reader.object { name, reader in
      if try reader.peek() == .string { found[name] = try reader.string() } else { try reader.skip() }
    }
    self.init(
      record: RecordID(type: found["type"] ?? "", id: found["id"] ?? ""), version: found["version"] ?? "",
      container: found["container"] ?? "", reason: found["reason"] ?? "")
  }
}
