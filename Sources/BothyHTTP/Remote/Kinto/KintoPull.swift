import BothyStore
import BothySync

/// Reads what changed in a scope since a cursor: all collections of the bucket, each from where it was left.
///
/// Kinto has one order of changes for each collection and none over them, and its tombstones tell no container. So
/// every scope reads the changes of all types, drops what is outside, and tells of all tombstones: a record is gone
/// wherever it was.
struct KintoPull: Sendable {
  let space: KintoSpace
  /// The device's clock.
  let now: Int64
  /// In milliseconds.
  let overlap: Int64
  let snapshotAfter: Int64?

  struct Result: Sendable {
    var page: SyncResponse.Page
    /// Everything that was read, tombstones too, as it lies in Kinto.
    var records: [RecordID: KintoRecord] = [:]
    var serverTime: Int64?
  }

  /// - Parameters:
  ///   - limit: the most changes, but never less than one for each collection.
  ///   - written: the versions of what the same exchange wrote; they are not told again.
  func read(
    _ pull: SyncRequest.Pull, limit: Int, leavingOut written: [RecordID: Int64]
  ) async throws(RemoteError) -> Result {
    let cursor = pull.cursor.flatMap(KintoCursor.init(token:))
    if let cursor, !isStale(cursor) {
      if let result = try await read(pull.scope, from: cursor, limit: limit, written) { return result }
    }
    guard
      var result = try await read(
        pull.scope, from: KintoCursor(readAt: now), limit: limit, written, isSnapshot: true)
    else {
      throw RemoteError(
        .serverError, "The Kinto server lost its collections twice in a row.", code: "flushed")
    }
    result.page.reset = true
    // A cursor that is too old is of the same history; of any other the collections were lost or put back.
    result.page.isOtherHistory = pull.cursor != nil && !(cursor.map(isStale) ?? false)
    return result
  }

  /// Whether tombstones that the device has not read may be purged by now.
  private func isStale(_ cursor: KintoCursor) -> Bool {
    guard let snapshotAfter else { return false }
    return now.subtractingClamped(cursor.readAt) > snapshotAfter
  }

  /// Nil when the server's history is not the one that the cursor belongs to.
  private func read(
    _ scope: PullScope, from old: KintoCursor, limit: Int, _ written: [RecordID: Int64],
    isSnapshot: Bool = false
  ) async throws(RemoteError) -> Result? {
    var cursor = old
    cursor.readAt = now
    // Further pages concern only the collections that have more.
    let open = old.more ? old.feeds.filter { $0.value.page != nil || $0.value.seen == nil } : old.feeds
    let known = open.keys.sorted()
    let share = max(1, limit / max(1, known.count))
    let reply = try await space.client.read(
      [space.listing] + known.map { request($0, open[$0] ?? KintoFeed(epoch: ""), limit: share) })
    let collections = try await space.collections(reply.value[0])
    let epochs = Dictionary(collections.map { ($0.id, $0.epoch) }, uniquingKeysWith: { $1 })
    for (id, feed) in old.feeds where epochs[id] != feed.epoch { return nil }
    var reading = Reading(
      scope: scope, written: isSnapshot ? [:] : written, overlap: overlap, now: now, isSnapshot: isSnapshot)
    for (id, answer) in zip(known, reply.value.dropFirst()) {
      guard try reading.take(id, answer, into: &cursor, serverTime: reply.serverTime) else { return nil }
    }
    let fresh = collections.filter { old.feeds[$0.id] == nil }
    for collection in fresh { cursor.feeds[collection.id] = KintoFeed(epoch: collection.epoch) }
    if known.isEmpty && !fresh.isEmpty {
      let ids = fresh.map(\.id)
      let share = max(1, limit / ids.count)
      let first = try await space.client.read(
        fresh.map { request($0.id, KintoFeed(epoch: $0.epoch), limit: share) })
      for (id, answer) in zip(ids, first.value) {
        guard try reading.take(id, answer, into: &cursor, serverTime: first.serverTime) else { return nil }
      }
    }
    let page = SyncResponse.Page(
      scope: scope, changes: reading.changes, outOfScope: reading.departed, cursor: cursor.token,
      more: cursor.more)
    return Result(page: page, records: reading.records, serverTime: reply.serverTime)
  }

  private func request(_ collection: String, _ feed: KintoFeed, limit: Int) -> KintoRequest {
    var path = KintoSpace.records(of: collection, in: space.path) + "?_sort=last_modified,id&_limit=\(limit)"
    if let since = feed.since(now: now, overlap: overlap) { path += "&_since=\(since)" }
    if let token = feed.page?.token { path += "&_token=" + token }
    return KintoRequest(method: "GET", path: path)
  }
}

/// Gathers what the answers of one pull tell.
private struct Reading {
  let scope: PullScope
  let written: [RecordID: Int64]
  let overlap: Int64
  let now: Int64
  let isSnapshot: Bool
  var changes: [ServerRecord] = []
  var departed: [RecordID] = []
  var records: [RecordID: KintoRecord] = [:]

  /// False when the collection went back to an older state, or is gone.
  mutating func take(
    _ id: String, _ answer: KintoAnswer, into cursor: inout KintoCursor, serverTime: Int64?
  ) throws(RemoteError) -> Bool {
    if answer.status == 404 { return false }
    if let error = answer.error { throw error }
    guard var feed = cursor.feeds[id] ?? nil, let timestamp = answer.timestamp,
      let data = answer.body["data"]?.arrayValue
    else { throw BothyRemote.unreadable("a listing of '\(id)'") }
    if feed.wentBack(timestamp) { return false }
    let since = feed.since(now: now, overlap: overlap)
    let horizon = (feed.page?.startedAt ?? serverTime).map { $0.subtractingClamped(overlap) }
    let type = KintoName.decode(id)
    var last: Int64?
    for json in data {
      guard let record = KintoRecord(json, type: type) else {
        throw BothyRemote.unreadable("a record of '\(type)'")
      }
      last = record.version
      let isNew = feed.tells(record.version, horizon: horizon)
      let change = record.serverRecord
      records[change.id] = record
      guard isNew, written[change.id] != record.version else { continue }
      if change.isDeleted || scope.contains(change.container) {
        changes.append(change)
      } else if record.hasMoved && !isSnapshot {
        // Perhaps out of this scope; a device that never had it here takes no notice.
        departed.append(change.id)
      }
    }
    feed.take(
      since: since, timestamp: timestamp, last: last, next: answer.nextPage, serverTime: serverTime, now: now,
      overlap: overlap)
    cursor.feeds[id] = feed
    return true
  }
}

extension BothyRemote {
  static func unreadable(_ what: String) -> RemoteError {
    RemoteError(
      .serverError, "The server's answer can't be read: \(what) is not as it should be.", code: "badAnswer")
  }
}
