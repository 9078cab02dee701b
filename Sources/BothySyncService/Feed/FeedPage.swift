import BothyStore

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

extension FeedPage {
  /// Adds the page that follows, from the same state of the space.
  mutating func append(_ next: FeedPage) {
    changes += next.changes
    (upTo, more, cursor) = (next.upTo, next.more, next.cursor)
  }

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
    writer.array("changes", changes) { $1.write(to: &$0) }
  }
}
