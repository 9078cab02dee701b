import BothyStore

/// The feed of a space for back ends: all changes in the order of their commits, whatever the permissions say.
extension SyncService {
  /// The most changes of one page.
  public static let feedLimit = 1000
  /// The scope mark of a feed's cursors, which those of pulls never have.
  private static let feedMark = "feed"

  /// Returns a page of the feed after a cursor, or from the start without one. Callers decide who may read it.
  ///
  /// A cursor stays valid after restarts. After a new epoch the page is a reset and begins at the start. A cursor from
  /// before forgotten deletions continues, and the page is incomplete. Throws `AuthorityError` `.badCursor` for text
  /// that isn't a cursor of a feed. Uses one transaction, and at most about the bytes of `AuthorityRules.answerSize`.
  public func feed(space: String, after token: String?, limit: Int = SyncService.feedLimit) async throws
    -> FeedPage
  {
    let cursor = try token.map { token in
      guard let cursor = Cursor(token: token), cursor.scopeMark == Self.feedMark else {
        throw AuthorityError(
          .badCursor, "'\(token.prefix(128))' isn't a cursor of a feed. Read without one to start over.")
      }
      return cursor
    }
    let (limit, bytes) = (max(1, min(limit, Self.feedLimit)), max(1, rules.answerSize))
    return try await ledger.read(space: space) { ledger in
      var start: Int64 = 0
      var began: Int64? = ledger.head
      var (isReset, isIncomplete) = (true, false)
      if let cursor, try Self.continues(cursor.epoch, cursor.position, ledger) {
        (start, began, isReset) = (cursor.position, cursor.began, false)
        isIncomplete = start > 0 && max(start, began ?? 0) < ledger.floor
      }
      var page = try Self.page(after: start, limit: limit, bytes: bytes, began: began, ledger)
      (page.isReset, page.isIncomplete) = (isReset, isIncomplete)
      return page
    }
  }

  /// Returns the page that a webhook delivers next. If the history isn't the one of `position`, the page is a reset
  /// without changes, and ends at the head.
  package func delivery(
    space: String, after position: FeedPosition, limit: Int, bytes: Int
  ) async throws -> FeedPage {
    try await ledger.read(space: space) { ledger in
      guard try Self.continues(position.epoch, position.position, ledger) else {
        return FeedPage(
          epoch: ledger.epoch, after: ledger.head, upTo: ledger.head, changes: [], more: false, isReset: true,
          isIncomplete: false, cursor: Self.cursor(at: ledger.head, ledger))
      }
      let start = position.position
      var page = try Self.page(after: start, limit: max(1, limit), bytes: max(1, bytes), began: nil, ledger)
      page.isIncomplete = start > 0 && start < ledger.floor
      return page
    }
  }

  /// Returns true if the space's history continues one with this epoch and position. A space without writes has no
  /// epoch, and its readers continue in the first one.
  private static func continues(
    _ epoch: String, _ position: Int64, _ ledger: any LedgerSnapshot
  ) throws -> Bool {
    if epoch.isEmpty && position == 0 { return true }
    return try epoch == ledger.epoch && ledger.has(position)
  }

  private static func page(
    after start: Int64, limit: Int, bytes: Int, began: Int64?, _ ledger: any LedgerSnapshot
  ) throws -> FeedPage {
    let found = try FeedReading(ledger: ledger, limit: limit, bytes: bytes).changes(after: start)
    let more = found.end < ledger.head
    return FeedPage(
      epoch: ledger.epoch, after: start, upTo: found.end, changes: found.changes, more: more, isReset: false,
      isIncomplete: false, cursor: cursor(at: found.end, began: more ? began : nil, ledger))
  }

  private static func cursor(
    at position: Int64, began: Int64? = nil, _ ledger: any LedgerSnapshot
  ) -> String {
    Cursor(epoch: ledger.epoch, position: position, scopeMark: feedMark, began: began).token
  }
}
