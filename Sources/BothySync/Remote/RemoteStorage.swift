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
  func query(_ query: RecordQuery) async throws(RemoteError) -> [ServerRecord]

  /// The number of records that a query selects. One round trip.
  func count(_ query: RecordQuery) async throws(RemoteError) -> Int

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

/// Proof of equality: the number of live records of a scope and the sum of their hashes.
public struct ScopeDigest: Sendable, Hashable {
  /// What was added up.
  public var scope: PullScope
  /// The live records in it.
  public var count: Int
  /// 16 hexadecimal digits: the sum modulo 2^64 over all live records of the first eight bytes, big-endian,
  /// of SHA-256 over `type`, a zero byte, `id`, a zero byte and the canonical fields.
  public var digest: String
  /// The server's position when it was computed; nil on a device.
  public var position: Int64?
  /// The same of each part of the scope; empty unless asked for.
  public var parts: [Part]

  /// The records of a scope whose ids fall into one of so many parts.
  public struct Part: Sendable, Hashable {
    /// The live records in the part.
    public var count: Int
    /// Made as that of the scope, of these records alone.
    public var digest: String

    /// What `DigestSum` makes, and remotes of an answer.
    public init(count: Int, digest: String) {
      self.count = count
      self.digest = digest
    }
  }

  /// What `DigestSum` makes, and remotes of an answer.
  public init(scope: PullScope, count: Int, digest: String, position: Int64? = nil, parts: [Part] = []) {
    self.scope = scope
    self.count = count
    self.digest = digest
    self.position = position
    self.parts = parts
  }
}
