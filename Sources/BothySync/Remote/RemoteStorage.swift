public import BothyStore

/// The seam to a server: Bothy's own over HTTP, the `Authority` in this process, or another protocol.
///
/// Every method may be called from any task, throws `RemoteError` only, and stops soon after its task is
/// cancelled. None changes local data.
public protocol RemoteStorage: Sendable {
  /// Sends operations and pulls changes in one round trip.
  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse

  /// The records that a query selects, at most `limit` of them. One round trip.
  func query(_ query: RecordQuery) async throws(RemoteError) -> [ServerRecord]

  /// The number of records that a query selects. One round trip.
  func count(_ query: RecordQuery) async throws(RemoteError) -> Int

  /// The digest of a scope, to compare with the device's own. One round trip.
  func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest

  /// Hints that there is news: an element each time, with no data. Ends when the connection is lost.
  func hints() -> AsyncThrowingStream<Void, any Error>

  /// The keeper of the bytes of blobs; nil, unless given, where the server has none.
  var blobs: (any BlobRemote)? { get }
}

/// Proof of equality: the number of live records of a scope and the sum of their hashes.
public struct ScopeDigest: Sendable, Hashable {
  public var scope: PullScope
  public var count: Int
  /// 16 hexadecimal digits: the sum modulo 2^64 over all live records of the first eight bytes, big-endian,
  /// of SHA-256 over `type`, a zero byte, `id`, a zero byte and the canonical fields.
  public var digest: String
  /// The server's position when it was computed; nil on a device.
  public var position: Int64?

  public init(scope: PullScope, count: Int, digest: String, position: Int64? = nil) {
    self.scope = scope
    self.count = count
    self.digest = digest
    self.position = position
  }
}
