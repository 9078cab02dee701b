public import BothyStore

/// A record that the server has and that can't be read here. It was set aside and stops no other record.
///
/// What is here of the record stays as it was, and edits of it wait in the inbox. A version that can be read ends this.
public struct UnreadableRecord: Sendable, Hashable, Codable {
  /// Its type and id; a part that could not be read either is empty.
  public var record: RecordID
  /// The server's stamp of that version, which for Bothy's own server is the position; empty where it is unknown.
  public var version: String
  /// The container that it is in; empty where it is unknown.
  public var container: String
  /// What is wrong with it, in a sentence.
  public var reason: String

  /// What pulls note, and tests and previews make for themselves.
  public init(record: RecordID, version: String = "", container: String = "", reason: String) {
    self.record = record
    self.version = version
    self.container = container
    self.reason = reason
  }
}

extension UnreadableRecord {
  package init(_ record: ServerRecord, _ error: any Error) {
    let reason = (error as? JSONError)?.reason ?? "\(error)"
    self.init(
      record: record.id, version: record.version, container: record.container,
      reason: "Its fields can't be read: \(reason).")
  }

  /// Goes over a record that is none, and keeps what it says of itself. Throws `JSONError` where its end can't be found.
  package init(skipping reader: inout JSONReader, _ error: JSONError) throws {
    self.init(record: RecordID(type: "", id: ""), reason: "It is no record: \(error.reason).")
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
    for (name, text) in [
      ("type", record.type), ("id", record.id), ("version", version), ("container", container),
      ("reason", reason),
    ] {
      writer.key(name)
      writer.value(text)
    }
    writer.endObject()
  }

  /// Reads what `write` writes; unknown members are skipped. Throws `JSONError`.
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
