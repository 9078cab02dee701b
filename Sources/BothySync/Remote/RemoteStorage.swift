public import BothyStore

/// The seam to a server: Bothy's own over HTTP, the `Authority` in this process, or another protocol.
///
/// Every method may be called from any task, throws `RemoteError` only, and stops soon after its task is
/// cancelled. None changes local data.
public protocol RemoteStorage: Sendable {
  /// Sends operations and pulls changes in one round trip.
  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse

  /// Whether nobody on the way can read what is sent. Sensitive fields go no other way.
  var isConfidential: Bool { get }

  /// The records that a query selects, at most `limit` of them. One round trip.
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord]

  /// The number of records that a query selects. One round trip.
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int

  /// The digest of a scope, to compare with the device's own. One round trip.
  func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest

  /// The same with a digest of each of so many parts of the scope (`RecordStamp` says which record is in which), or
  /// with none from a remote that cannot tell. One round trip.
  func digest(_ scope: PullScope, parts: Int) async throws(RemoteError) -> ScopeDigest

  /// What tells the records of some of those parts from others, without their fields; nil from a remote that cannot
  /// tell. One round trip.
  func stamps(_ scope: PullScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]?

  /// Who changed what and when, newest first. One round trip.
  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory

  /// Whether `hints()` ever tells of news; one that does not is asked for it every `SyncConfiguration.pollInterval`.
  var givesHints: Bool { get }

  /// Hints that there is news: an element each time, with no data. Ends when the connection is lost.
  func hints() -> AsyncThrowingStream<Void, any Error>

  /// The keeper of the bytes of blobs; nil, unless given, where the server has none.
  var blobs: (any BlobRemote)? { get }
}

extension RemoteStorage {
  /// True, unless a remote says otherwise.
  public var givesHints: Bool { true }

  /// A remote that does not remember refuses, with the code `noHistory`.
  public func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    throw RemoteError(.rejected, "This server does not tell who changed what.", code: "noHistory")
  }

  /// A remote that has no parts gives the digest of the whole.
  public func digest(_ scope: PullScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await digest(scope)
  }

  /// Nil: a remote that says nothing about it cannot tell.
  public func stamps(_ scope: PullScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    nil
  }

  /// A remote that says nothing about it never leaves this process, or uses TLS.
  public var isConfidential: Bool { true }
}
