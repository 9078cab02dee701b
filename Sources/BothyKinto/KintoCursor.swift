import BothyHTTP
import BothyStore
import BothySync

/// The reading positions in the collections of a scope, with a text form that devices keep.
struct KintoCursor: Equatable {
  /// The positions by the collection's id in Kinto.
  var feeds: [String: KintoFeed] = [:]
  /// The time of the read, by the device's clock.
  var readAt: Int64

  /// True if pages are missing.
  var more: Bool { feeds.values.contains { $0.page != nil || $0.seen == nil } }

  var token: String {
    let members = feeds.mapValues { JSONValue.object($0.members) }
    return JSONValue.object(["kinto": 1, "at": .int(readAt), "feeds": .object(members)]).canonicalText
  }

  init(readAt: Int64) { self.readAt = readAt }

  /// Returns `nil` for a text that isn't a cursor of this type, such as one of another server.
  init?(token: String) {
    guard let json = try? JSONValue(parsing: Array(token.utf8)),  // not JSON, so not a cursor of this type
      json["kinto"]?.intValue == 1, let readAt = json["at"]?.intValue, let feeds = json["feeds"]?.objectValue
    else { return nil }
    self.readAt = readAt
    for (name, feed) in feeds {
      guard let feed = KintoFeed(feed) else { return nil }
      self.feeds[name] = feed
    }
  }
}

/// The reading position in one collection, as a pure value. It decides on the next request and interprets responses.
///
/// Kinto's timestamps rise with every change of a collection and are unique in it. On PostgreSQL they are assigned
/// before the commit, so a change may appear behind one that was already read. Everything after `safe` is therefore
/// read once more after the overlap. `safe` is the newest timestamp that no open transaction can precede.
struct KintoFeed: Equatable {
  /// The epoch of the collection, which changes when the collection is recreated.
  var epoch: String
  /// The timestamp up to which everything was read, or `nil` before the first listing is complete.
  var seen: Int64?
  /// The timestamp up to which no further change can appear.
  var safe: Int64 = 0
  /// The time to read again from `safe`, by the device's clock.
  var due: Int64 = 0
  /// The reported timestamps between `safe` and `seen`, or `nil` if they are too many to remember.
  var reported: Set<Int64>? = []
  /// The incomplete listing.
  var page: Page?

  struct Page: Equatable {
    /// The listing's `_since`. `nil` lists existing records, without tombstones.
    var since: Int64?
    /// The collection's timestamp at the start of the listing.
    var start: Int64
    /// The server's time at the start of the listing.
    var startedAt: Int64
    var token: String
  }

  private static let rememberedLimit = 500

  init(epoch: String) { self.epoch = epoch }

  /// Returns the `_since` of the next request. It is `safe` if a second read is due, or if the device's clock was set
  /// back.
  func since(now: Int64, overlap: Int64) -> Int64? {
    if let page { return page.since }
    guard let seen else { return nil }
    return safe < seen && (now >= due || due.subtractingClamped(now) > overlap.addingClamped(overlap))
      ? safe : seen
  }

  /// True if the collection's timestamp is before the read ones, because the server returned to an older state.
  func wentBack(_ timestamp: Int64) -> Bool { seen.map { timestamp < $0 } ?? false }

  /// Returns true if the change is new, and remembers it. Call it for each change of a page before `take`.
  ///
  /// - Parameter horizon: the time up to which no change can appear after the first listing is complete.
  mutating func tells(_ timestamp: Int64, horizon: Int64?) -> Bool {
    let floor = seen == nil ? horizon ?? safe : safe
    guard reported != nil, timestamp > floor else { return true }
    let isNew = reported?.insert(timestamp).inserted ?? true
    if reported?.count ?? 0 > Self.rememberedLimit { reported = nil }
    return isNew
  }

  /// Applies a page. Listings are ordered by timestamp.
  ///
  /// - Parameters:
  ///   - since: the result of `since(now:overlap:)`.
  ///   - timestamp: the collection's timestamp, from the response's `ETag`.
  ///   - last: the timestamp of the last change of the page.
  ///   - serverTime: a lower bound of the server's time at its response, or `nil` if it is unknown.
  mutating func take(
    since: Int64?, timestamp: Int64, last: Int64?, next: String?, serverTime: Int64?, now: Int64,
    overlap: Int64
  ) {
    let start = page?.start ?? timestamp
    let startedAt = page?.startedAt ?? serverTime ?? start
    if let next {
      page = Page(since: since, start: start, startedAt: startedAt, token: next)
      return
    }
    // A listing without `_since` lacks tombstones of records that were deleted during the listing. It is complete up to
    // its start.
    let reached = max(seen ?? 0, since == nil ? start : max(start, last ?? 0))
    page = nil
    seen = reached
    if since == nil || since == safe {
      safe = max(safe, min(reached, startedAt.subtractingClamped(overlap)))
      due = safe < reached ? now.addingClamped(overlap) : 0
    }
    let safe = safe
    reported = safe == reached ? [] : reported?.filter { $0 > safe }
  }
}

extension KintoFeed {
  fileprivate var members: [String: JSONValue] {
    var members: [String: JSONValue] = ["epoch": .string(epoch), "safe": .int(safe)]
    if let seen { members["seen"] = .int(seen) }
    if due != 0 { members["due"] = .int(due) }
    // The timestamps are encoded as distances from `safe`, which are short.
    if let reported { members["told"] = .array(reported.sorted().map { .int($0.subtractingClamped(safe)) }) }
    guard let page else { return members }
    members["page"] = .object([
      "token": .string(page.token), "start": .int(page.start), "time": .int(page.startedAt),
      "since": page.since.map { .int($0) } ?? .null,
    ])
    return members
  }

  fileprivate init?(_ json: JSONValue) {
    guard let epoch = json["epoch"]?.stringValue, let safe = json["safe"]?.intValue else { return nil }
    self.init(epoch: epoch)
    self.safe = safe
    seen = json["seen"]?.intValue
    due = json["due"]?.intValue ?? 0
    reported = json["told"]?.arrayValue.map { Set($0.compactMap(\.intValue).map { $0.addingClamped(safe) }) }
    guard let open = json["page"] else { return }
    guard let token = open["token"]?.stringValue, let start = open["start"]?.intValue,
      let startedAt = open["time"]?.intValue
    else { return nil }
    page = Page(since: open["since"]?.intValue, start: start, startedAt: startedAt, token: token)
  }
}
