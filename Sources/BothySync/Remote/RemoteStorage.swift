public import BothyStore

/// The seam to a server: Bothy's own over HTTP, the `SyncService` in this process, or another protocol.
///
/// Every method may be called from any task, throws `RemoteError` only, and stops soon after its task is
/// cancelled. None changes local data.
public protocol RemoteStorage: Sendable {
  /// Sends operations and pulls changes in one round trip.
  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse

  /// True if no other party can read the traffic. Sensitive fields are sent only then.
  var isConfidential: Bool { get }

  /// Returns the records that a query selects, at most `limit` of them. One round trip.
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord]

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

  /// True if `hints()` reports changes. A remote that doesn't is polled every `SyncOptions.pollInterval`.
  var givesHints: Bool { get }

  /// Returns a stream with an element, without data, each time something changed. Ends when the connection is lost.
  func hints() -> AsyncThrowingStream<Void, any Error>

  /// The remote for the bytes of blobs, or `nil` if the server has none. By default `nil`.
  var blobs: (any BlobRemote)? { get }
}

extension RemoteStorage {
  /// True by default.
  public var givesHints: Bool { true }

  /// Throws `.rejected` with the code `noHistory`, for a remote without a history.
  public func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    throw RemoteError(.rejected, "This server does not tell who changed what.", code: "noHistory")
  }

  /// Returns the digest of the whole scope, for a remote without parts.
  public func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await digest(scope)
  }

  /// Returns `nil`, for a remote that can't compute stamps.
  public func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    nil
  }

  /// True by default, for a remote that never leaves this process or uses TLS.
  public var isConfidential: Bool { true }
}
