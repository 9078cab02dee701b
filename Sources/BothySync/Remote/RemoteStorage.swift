import BothyStore

/// The seam to a server: Bothy's own over HTTP, the `SyncService` in this process, or another protocol.
///
/// Every method may be called from any task, throws `RemoteError` only, and stops soon after its task is
/// cancelled. None changes local data.
///
/// A remote of an app's own syncs records. It answers no queries, so a read that needs the server throws
/// `BothyError` `.rejected`, and it stores no blobs. Sensitive fields are sent to it, so it needs an encrypted
/// connection.
public protocol RemoteStorage: Sendable {
  /// Sends operations and pulls changes in one round trip. Called side by side by several syncs.
  ///
  /// A request may come again after a lost answer. Operations that were applied then count as applied, by their
  /// ids.
  ///
  /// - Throws: `RemoteError` of the class `unreachable` without an answer, `unauthenticated` for a refused
  ///   token, and `throttled` or `serverError` to have it tried again later.
  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse

  /// Returns a stream with an element, without data, each time something changed. Ends when the connection is
  /// lost.
  ///
  /// A running `run()` syncs after each element. It calls this again after a wait when the stream has ended. Begin
  /// with an element once there is a connection, because the server may have changed while there was none.
  func notifications() -> AsyncThrowingStream<Void, any Error>
}

extension RemoteStorage {
  /// Returns a stream that has ended, for a server without notifications. `SyncOptions.pollInterval` makes up for it.
  public func notifications() -> AsyncThrowingStream<Void, any Error> { AsyncThrowingStream { $0.finish() } }
}

/// A remote that also answers queries, computes digests, has a history and stores blobs.
package protocol CompleteRemote: RemoteStorage {
  /// True if no other party can read the traffic. Sensitive fields are sent only then.
  var isConfidential: Bool { get }

  /// Returns the records that a query selects, at most `limit` of them. One round trip.
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord]

  /// Returns a page of the records that a query selects, at most `limit` of them, after the page before. One round trip.
  ///
  /// - Parameter cursor: the `next` of the page before, with which the query's offset is ignored. A remote without
  ///   cursors ignores it, and answers by the offset. `nil` for the first page.
  func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage

  /// Returns the number of records that a query selects. One round trip.
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int

  /// Returns the digest of a scope, to compare with the device's own. One round trip.
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest

  /// Like `digest(_:)`, but with a digest of each of `parts` parts of the scope (`RecordStamp` maps records to parts).
  /// A remote that can't compute these returns none. One round trip.
  func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest

  /// Returns the stamps of the records in some of those parts, which identify their contents without the fields.
  /// Returns `nil` from a remote that can't compute them. One round trip.
  func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]?

  /// Returns the changes with their authors and times, newest first. One round trip.
  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory

  /// Returns the lists that name the user, a thousand at most. One round trip.
  func joinedLists() async throws(RemoteError) -> [JoinedList]

  /// True if `notifications()` reports changes. A remote that doesn't is polled every `SyncOptions.pollInterval`.
  var hasNotifications: Bool { get }

  /// The remote for the bytes of blobs, or `nil` if the server has none. By default `nil`.
  var blobs: (any BlobRemote)? { get }
}

/// A page of the answer to a query.
package struct RemotePage: Sendable {
  /// The records, in the query's order.
  package var records: [ServerRecord]
  /// The cursor after which others follow. It is missing if none do, or if the server has no cursor for the query.
  package var next: String?
  /// True if the answer had no room for others. False at the query's limit.
  package var more: Bool

  package init(_ records: [ServerRecord], next: String? = nil, more: Bool = false) {
    self.records = records
    self.next = next
    self.more = more
  }
}

extension CompleteRemote {
  /// Returns the answer to the query by its offset, for a remote without cursors.
  package func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    RemotePage(try await self.query(query))
  }

  /// Throws `.rejected`, for a remote without queries.
  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    throw .notOffered("queries")
  }

  /// Throws `.rejected`, for a remote without queries.
  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int { throw .notOffered("queries") }

  /// Throws `.rejected`, for a remote without digests.
  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    throw .notOffered("digests")
  }

  /// True by default.
  package var hasNotifications: Bool { true }

  /// Throws `.rejected` with the code `noHistory`, for a remote without a history.
  package func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    throw RemoteError(.rejected, "This server does not tell who changed what.", code: "noHistory")
  }

  /// Throws `.rejected`, for a remote without lists of users.
  package func joinedLists() async throws(RemoteError) -> [JoinedList] {
    throw .notOffered("lists of users")
  }

  /// Returns the digest of the whole scope, for a remote without parts.
  package func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await digest(scope)
  }

  /// Returns `nil`, for a remote that can't compute stamps.
  package func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    nil
  }

  /// True by default, for a remote that never leaves this process or uses TLS.
  package var isConfidential: Bool { true }

  /// `nil`, unless the remote stores blobs. Records that name blobs then count as rejected.
  package var blobs: (any BlobRemote)? { nil }
}

/// The calls of a `CompleteRemote`, on any remote. Another one refuses them, or answers for want of a better answer.
extension RemoteStorage {
  package var isConfidential: Bool { (self as? any CompleteRemote)?.isConfidential ?? true }

  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await complete("queries").query(query)
  }

  package func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    try await complete("queries").page(query, after: cursor)
  }

  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await complete("queries").count(query)
  }

  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await complete("digests").digest(scope)
  }

  package func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await complete("digests").digest(scope, parts: parts)
  }

  package func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    try await complete("digests").stamps(scope, parts: parts, in: chosen)
  }

  package func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    try await complete("history").history(query)
  }

  package func joinedLists() async throws(RemoteError) -> [JoinedList] {
    try await complete("lists of users").joinedLists()
  }

  package var hasNotifications: Bool { (self as? any CompleteRemote)?.hasNotifications ?? true }

  package var blobs: (any BlobRemote)? { (self as? any CompleteRemote)?.blobs }

  private func complete(_ feature: String) throws(RemoteError) -> any CompleteRemote {
    if let remote = self as? any CompleteRemote { return remote }
    throw .notOffered(feature)
  }
}

extension RemoteError {
  fileprivate static func notOffered(_ feature: String) -> RemoteError {
    RemoteError(.rejected, "This remote has no \(feature).", code: "notOffered")
  }
}

extension RemoteStorage where Self == NoRemote {
  /// No server: every change stays pending, and syncs end with `SyncObstacle.unreachable`.
  public static var none: NoRemote { NoRemote() }
}
