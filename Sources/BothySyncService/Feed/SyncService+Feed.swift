import BothyStore

/// The feed of a space for back ends: all changes in the order of their commits, whatever the permissions say.
extension SyncService {
  /// The most changes of one page.
  ///
  /// A page may have fewer although others follow: see `FeedPage.more`.
  public static let feedLimit = 1000
  /// The scope mark of a feed's cursors, which those of pulls never have.
  private static let feedMark = "feed"

  /// Returns a page of the feed after a cursor, or from the start without one. Callers decide who may read it.
  ///
  /// A cursor stays valid after restarts. After a new epoch the page is a reset and begins at the start. A cursor from
  /// before forgotten deletions continues, and the page is incomplete. Uses one transaction, and at most about the
  /// bytes of `AccessRules.answerSize`. At the end a page has no changes and a cursor to continue with later.
  ///
  /// - Parameters:
  ///   - token: the cursor of the page before. It belongs to this space.
  ///   - limit: the most changes, from 1 to `feedLimit`. Other numbers count as the nearest of these.
  /// - Throws: `SyncServiceError` `.badCursor` for text that isn't a cursor of a feed. Read from the start then.
  public func feed(space: String, after token: String?, limit: Int = SyncService.feedLimit) async throws
    -> FeedPage
  {
    let cursor = try token.map { token in
      guard let cursor = Cursor(token: token), cursor.scopeMark == Self.feedMark else {
        throw SyncServiceError(
          .badCursor, "'\(token.prefix(128))' isn't a cursor of a feed. Read without one to start over.")
      }
      return cursor
    }
    let limit = max(1, min(limit, Self.feedLimit))
    return try await storage.read(space: space) { storage in
      var start: Int64 = 0
      var began: Int64? = storage.head
      var (isReset, isIncomplete) = (true, false)
      if let cursor, try Self.continues(cursor.epoch, cursor.position, storage) {
        (start, began, isReset) = (cursor.position, cursor.began, false)
        isIncomplete = start > 0 && max(start, began ?? 0) < storage.floor
      }
      var bytes = answerBytes(for: .changes)
      var page = try Self.page(after: start, limit: limit, bytes: bytes.left, began: began, storage)
      while page.more, page.changes.count < limit {
        bytes.spend(bytes.left)
        guard bytes.left > 0 else { break }
        page.append(
          try Self.page(
            after: page.upTo, limit: limit - page.changes.count, bytes: bytes.left, began: began, storage))
      }
      (page.isReset, page.isIncomplete) = (isReset, isIncomplete)
      return page
    }
  }

  /// Returns the page that a webhook delivers next. If the history isn't the one of `position`, the page is a reset
  /// without changes, and ends at the head.
  ///
  /// - Parameter began: the head at the delivery of the start, or `nil` if that is unknown. Deletions up to there are of
  ///   records that the receiver never had.
  package func delivery(
    space: String, after position: FeedPosition, limit: Int, bytes: Int, began: Int64? = nil
  ) async throws -> FeedPage {
    try await storage.read(space: space) { storage in
      guard try Self.continues(position.epoch, position.position, storage) else {
        return FeedPage(
          epoch: storage.epoch, after: storage.head, upTo: storage.head, changes: [], more: false,
          isReset: true,
          isIncomplete: false, cursor: Self.cursor(at: storage.head, storage))
      }
      let start = position.position
      var page = try Self.page(after: start, limit: max(1, limit), bytes: max(1, bytes), began: nil, storage)
      page.isIncomplete = start > 0 && max(start, began ?? 0) < storage.floor
      return page
    }
  }

  /// Returns true if the space's history continues one with this epoch and position. A space without writes has no
  /// epoch, and its readers continue in the first one.
  private static func continues(
    _ epoch: String, _ position: Int64, _ storage: any ServerSnapshot
  ) throws -> Bool {
    if epoch.isEmpty && position == 0 { return true }
    return try epoch == storage.epoch && storage.has(position)
  }

  private static func page(
    after start: Int64, limit: Int, bytes: Int, began: Int64?, _ storage: any ServerSnapshot
  ) throws -> FeedPage {
    let found = try FeedReading(storage: storage, limit: limit, bytes: bytes).changes(after: start)
    let more = found.end < storage.head
    return FeedPage(
      epoch: storage.epoch, after: start, upTo: found.end, changes: found.changes, more: more, isReset: false,
      isIncomplete: false, cursor: cursor(at: found.end, began: more ? began : nil, storage))
  }

  private static func cursor(
    at position: Int64, began: Int64? = nil, _ storage: any ServerSnapshot
  ) -> String {
    Cursor(epoch: storage.epoch, position: position, scopeMark: feedMark, began: began).token
  }
}
