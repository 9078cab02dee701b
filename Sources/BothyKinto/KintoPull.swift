import BothyHTTP
import BothyStore
import BothySync

/// Reads the changes in a scope since a cursor: all collections of the bucket, each from its own position.
///
/// Kinto has one order of changes for each collection and none across collections, and its tombstones name no
/// container. Every scope therefore reads the changes of all types and drops those outside. It reports all tombstones,
/// because a deleted record is gone from every container.
struct KintoPull: Sendable {
  let space: KintoSpace
  /// The time of the device's clock.
  let now: Int64
  /// The overlap in milliseconds.
  let overlap: Int64
  let snapshotAfter: Int64?

  struct Result: Sendable {
    var page: SyncResponse.Page
    /// All records that were read, including tombstones, in Kinto's form.
    var records: [RecordID: KintoRecord] = [:]
    var serverTime: Int64?
  }

  /// Reads one page of changes.
  /// - Parameters:
  ///   - limit: the largest number of changes, but at least one for each collection.
  ///   - written: the versions that the same exchange wrote, which are not reported again.
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
    // A cursor that is too old belongs to this history. For any other cursor, the collections were lost or restored.
    result.page.isOtherHistory = pull.cursor != nil && !(cursor.map(isStale) ?? false)
    return result
  }

  /// True if tombstones that the device has not read may have been purged.
  private func isStale(_ cursor: KintoCursor) -> Bool {
    guard let snapshotAfter else { return false }
    return now.subtractingClamped(cursor.readAt) > snapshotAfter
  }

  /// Returns `nil` if the cursor does not belong to the server's history.
  private func read(
    _ scope: SyncScope, from old: KintoCursor, limit: Int, _ written: [RecordID: Int64],
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

/// Collects the changes in the responses of one pull.
private struct Reading {
  let scope: SyncScope
  let written: [RecordID: Int64]
  let overlap: Int64
  let now: Int64
  let isSnapshot: Bool
  var changes: [ServerRecord] = []
  var departed: [RecordID] = []
  var records: [RecordID: KintoRecord] = [:]

  /// Returns false if the collection returned to an older state or is gone.
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
        // The record may have left this scope. A device that never had it ignores this.
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
