public import struct Foundation.URL

/// What a remote can do beside `RemoteStorage` when it keeps the bytes of blobs.
///
/// Every method is one round trip, may be called from any task, throws `RemoteError` only, and may be repeated: a blob is
/// named by its content, so the same request twice makes no difference.
public protocol BlobRemote: Sendable {
  /// How much of a blob the server has.
  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding

  /// The same after the server has read all of the blob's bytes: asked for by who got others than the name says. A server
  /// that can't answers as `holding`.
  func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding

  /// Sends a part of a blob. Returns what the server has then: it takes the part only where it continues what it has, so
  /// an answer that was lost is made good by asking again.
  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding

  /// The bytes of a range, fewer only at the end of the blob. Throws `.notFound` when the server has no such blob.
  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8]

  /// Where the blob can be had; makes no request.
  func url(of sha256: String) -> URL
}

extension BlobRemote {
  /// Asks for `holding`.
  public func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await holding(of: sha256)
  }
}

extension RemoteStorage {
  /// A remote keeps no blobs unless it says so: records that name blobs then wait in the inbox.
  public var blobs: (any BlobRemote)? { nil }
}
