import BothyStore
import BothySync

/// How far the collections of a scope are read, as the text that devices keep.
struct KintoCursor: Equatable {
  /// By the collection's id in Kinto.
  var feeds: [String: KintoFeed] = [:]
  /// When it was read, by the device's clock.
  var readAt: Int64

  /// Whether pages are missing.
  var more: Bool { feeds.values.contains { $0.page != nil || $0.seen == nil } }

  var token: String {
    let members = feeds.mapValues { JSONValue.object($0.members) }
    return JSONValue.object(["kinto": 1, "at": .int(readAt), "feeds": .object(members)]).canonicalText
  }

  init(readAt: Int64) { self.readAt = readAt }

  /// Nil for a text that is none of ours: that of another server.
  init?(token: String) {
    guard let json = try? JSONValue(parsing: Array(token.utf8)),  // not JSON: none of ours
      json["kinto"]?.intValue == 1, let readAt = json["at"]?.intValue, let feeds = json["feeds"]?.objectValue
    else { return nil }
    self.readAt = readAt
    for (name, feed) in feeds {
      guard let feed = KintoFeed(feed) else { return nil }
      self.feeds[name] = feed
    }
  }
}

/// How far one collection is read. Pure: what to ask for next, and what an answer means.
///
/// Kinto's timestamps rise with every change of a collection and are unique in it, but on PostgreSQL they are given
/// out before the commit: a change may appear behind one that was read already. So everything after `safe`, the
/// newest timestamp that no open transaction can precede, is read once more when the overlap has passed.
struct KintoFeed: Equatable {
  /// Differs for a collection that was made anew.
  var epoch: String
  /// Everything up to here was read; nil before the first listing is complete.
  var seen: Int64?
  /// Nothing up to here can appear any more.
  var safe: Int64 = 0
  /// When to read again from `safe`, by the device's clock.
  var due: Int64 = 0
  /// The timestamps between `safe` and `seen` that were told of; nil when they are too many to remember.
  var told: Set<Int64>? = []
  /// The listing that is not complete.
  var page: Page?

  struct Page: Equatable {
    /// The listing's `_since`; nil lists what there is, without tombstones.
    var since: Int64?
    /// The collection's timestamp when it began.
    var start: Int64
    /// The server's time then.
    var startedAt: Int64
    var token: String
  }

  private static let rememberedLimit = 500

  init(epoch: String) { self.epoch = epoch }

  /// The `_since` of the next request. Reads again from `safe` when that is due, or when the device's clock went back.
  func since(now: Int64, overlap: Int64) -> Int64? {
    if let page { return page.since }
    guard let seen else { return nil }
    return safe < seen && (now >= due || due.subtractingClamped(now) > overlap.addingClamped(overlap))
      ? safe : seen
  }

  /// Whether the collection's timestamp lies before what was read: the server went back to an older state.
  func wentBack(_ timestamp: Int64) -> Bool { seen.map { timestamp < $0 } ?? false }

  /// Whether the change was not told of before; remembers it. To be asked for each change of a page before `take`.
  ///
  /// - Parameter horizon: nothing up to here can appear any more once the first listing is complete.
  mutating func tells(_ timestamp: Int64, horizon: Int64?) -> Bool {
    let floor = seen == nil ? horizon ?? safe : safe
    guard told != nil, timestamp > floor else { return true }
    let isNew = told?.insert(timestamp).inserted ?? true
    if told?.count ?? 0 > Self.rememberedLimit { told = nil }
    return isNew
  }

  /// Takes a page in. Listings rise by timestamp.
  ///
  /// - Parameters:
  ///   - since: what `since(now:overlap:)` said.
  ///   - timestamp: the collection's, in the answer's `ETag`.
  ///   - last: the timestamp of the last change of the page.
  ///   - serverTime: a lower bound of the server's clock when it answered; nil if it did not say.
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
    // A listing without `_since` lacks the tombstones of what was deleted while it was read: it holds up to its start.
    let reached = max(seen ?? 0, since == nil ? start : max(start, last ?? 0))
    page = nil
    seen = reached
    if since == nil || since == safe {
      safe = max(safe, min(reached, startedAt.subtractingClamped(overlap)))
      due = safe < reached ? now.addingClamped(overlap) : 0
    }
    let safe = safe
    told = safe == reached ? [] : told?.filter { $0 > safe }
  }
}

extension KintoFeed {
  fileprivate var members: [String: JSONValue] {
    var members: [String: JSONValue] = ["epoch": .string(epoch), "safe": .int(safe)]
    if let seen { members["seen"] = .int(seen) }
    if due != 0 { members["due"] = .int(due) }
    // As distances from `safe`, which are short.
    if let told { members["told"] = .array(told.sorted().map { .int($0.subtractingClamped(safe)) }) }
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
    told = json["told"]?.arrayValue.map { Set($0.compactMap(\.intValue).map { $0.addingClamped(safe) }) }
    guard let open = json["page"] else { return }
    guard let token = open["token"]?.stringValue, let start = open["start"]?.intValue,
      let startedAt = open["time"]?.intValue
    else { return nil }
    page = Page(since: open["since"]?.intValue, start: start, startedAt: startedAt, token: token)
  }
}
