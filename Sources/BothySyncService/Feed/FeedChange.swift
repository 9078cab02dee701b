import BothyStore

/// One change of a space as back ends receive it, with the record as it is now.
///
/// A record that was changed several times has a change for each time, all with its present content. So the content
/// of a later change is never older than that of an earlier one.
public struct FeedChange: Sendable, Hashable {
  /// The position of the change in the space's history.
  ///
  /// Unique in its epoch, and rising. Positions may be left out.
  public var position: Int64
  /// The kind of change. For a change that the server no longer remembers it is `.delete` or `.update`.
  ///
  /// An imported record is such a change, also if it is new.
  public var kind: ChangeKind
  /// The record that was changed.
  public var id: RecordID
  /// The container of the record after the change.
  ///
  /// The record may be in another one now.
  public var container: String
  /// The container before the change, if the record was moved.
  ///
  /// `nil` also for a move that isn't remembered.
  public var movedFrom: String?
  /// The user who made the change; `nil` for a request without a token, and for a change that isn't remembered.
  public var user: String?
  /// The time of the change by the server's clock, in milliseconds since 1970; `nil` if the change isn't remembered.
  public var time: Int64?
  /// The names of the fields that were set or cleared.
  ///
  /// Wire names. Empty for a deletion, and for a change that isn't remembered.
  public var fields: [String]
  /// The record as it is now, or its tombstone; `nil` if the tombstone is forgotten.
  ///
  /// It is shown whatever its audience, without sensitive fields.
  public var record: ServerRecord?

  init(_ entry: HistoryEntry, record: ServerRecord?) {
    position = entry.position
    kind = entry.kind
    id = entry.record
    container = entry.container
    movedFrom = entry.movedFrom
    user = entry.user
    time = entry.time
    fields = entry.fields
    self.record = record
  }

  /// Makes the change of a record whose change isn't remembered.
  init(_ entry: StoredRecord) {
    position = entry.position
    kind = entry.record.isDeleted ? .delete : .update
    id = entry.record.id
    container = entry.record.container
    fields = []
    record = entry.record.sent
  }
}

extension FeedChange {
  /// Writes `{"position","kind","type","id","container","movedFrom"?,"principal"?,"time"?,"fields","record"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("position", position)
      writer.member("kind", kind.rawValue)
      writer.members(id)
      writer.member("container", container)
      if let movedFrom { writer.member("movedFrom", movedFrom) }
      if let user { writer.member("principal", user) }
      if let time { writer.member("time", time) }
      writer.names("fields", fields)
      if let record {
        writer.key("record")
        record.write(to: &writer)
      }
    }
  }
}
