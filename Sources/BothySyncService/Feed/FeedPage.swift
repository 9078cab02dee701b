public import BothyStore

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

/// A page of the changes of a space, in the order of their commits.
///
/// Store `cursor` with what was done about the page. A reader that stops in between then receives it again.
public struct FeedPage: Sendable, Hashable {
  /// The mark of the history that the positions belong to. It is empty for a space without writes.
  ///
  /// A restore changes it, and the page is then a reset.
  public var epoch: String
  /// The position after which the page begins.
  public var after: Int64
  /// The position up to which the page has all changes.
  public var upTo: Int64
  /// The changes, in position order.
  ///
  /// Empty if nothing is newer.
  public var changes: [FeedChange]
  /// True if others follow.
  ///
  /// If it is false, read again later, after the cursor.
  public var more: Bool
  /// True if the history isn't the one that the reader knew. The reader's copy of the space is out of date.
  ///
  /// The first page without a cursor is one too. Its changes begin at the start.
  public var isReset: Bool
  /// True if deletions that the reader lacks are forgotten. A reader that keeps a copy reads the space from the start.
  ///
  /// That is the case for a cursor older than `RetentionPolicy` allows.
  public var isIncomplete: Bool
  /// The cursor of the next page.
  ///
  /// Opaque, and valid for this space alone. It may be kept for any time.
  public var cursor: String
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
      writer.key("fields")
      writer.beginArray()
      for field in fields { writer.value(field) }
      writer.endArray()
      if let record {
        writer.key("record")
        record.write(to: &writer)
      }
    }
  }
}

extension FeedPage {
  /// Writes the members `epoch`, `after`, `upTo`, `cursor`, `more`?, `reset`?, `incomplete`? and `changes` into the open
  /// object.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("epoch", epoch)
    writer.member("after", after)
    writer.member("upTo", upTo)
    writer.member("cursor", cursor)
    if more { writer.member("more", true) }
    if isReset { writer.member("reset", true) }
    if isIncomplete { writer.member("incomplete", true) }
    writer.key("changes")
    writer.beginArray()
    for change in changes { change.write(to: &writer) }
    writer.endArray()
  }
}
