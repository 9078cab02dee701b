import BothyStore

/// One change of one record as the server remembers it, with its user, time and fields.
public struct HistoryEntry: Sendable, Hashable {
  /// The position of the change in the space's history.
  package var position: Int64
  /// The kind of change: an insert, an update or a deletion.
  package var kind: ChangeKind
  /// The record that was changed. It may have been deleted since.
  package var record: RecordID
  /// The container of the record after the change.
  package var container: String
  /// The container before the change, if the record was moved.
  package var movedFrom: String?
  /// The user who made the change; `nil` for a request without a token.
  package var user: String?
  /// The time when the server made the change, by its clock, in milliseconds since 1970.
  package var time: Int64
  /// The names of the fields that were set or cleared.
  package var fields: [String]

  /// Makes an entry, for the server and its storage.
  public init(
    position: Int64, kind: ChangeKind, record: RecordID, container: String, movedFrom: String? = nil,
    user: String? = nil, time: Int64, fields: [String] = []
  ) {
    self.position = position
    self.kind = kind
    self.record = record
    self.container = container
    self.movedFrom = movedFrom
    self.user = user
    self.time = time
    self.fields = fields
  }
}

extension HistoryEntry {
  /// Writes `{"position","kind","type","id","container","movedFrom"?,"principal"?,"time","fields"}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("position", position)
    writer.member("kind", kind.rawValue)
    writer.members(record)
    writer.member("container", container)
    if let movedFrom { writer.member("movedFrom", movedFrom) }
    if let user { writer.member("principal", user) }
    writer.member("time", time)
    writer.names("fields", fields)
    writer.endObject()
  }

  /// Reads the output of `write`, and skips unknown members. Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var entry = HistoryEntry(
      position: 0, kind: .update, record: RecordID(type: "", id: ""), container: "", time: 0)
    try reader.object { name, reader in
      switch name {
      case "position": entry.position = try reader.int()
      case "kind": entry.kind = ChangeKind(rawValue: try reader.string()) ?? .update
      case "type": entry.record.type = try reader.string()
      case "id": entry.record.id = try reader.string()
      case "container": entry.container = try reader.string()
      case "movedFrom": entry.movedFrom = try reader.nextIsNull() ? nil : reader.string()
      case "principal": entry.user = try reader.nextIsNull() ? nil : reader.string()
      case "time": entry.time = try reader.int()
      case "fields": try reader.array { entry.fields.append(try $0.string()) }
      default: try reader.skip()
      }
    }
    self = entry
  }
}
