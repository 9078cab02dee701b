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

/// How much of a blob a server has.
public enum BlobHolding: Sendable, Hashable {
  /// The first so many bytes; 0 when it has nothing.
  case part(Int64)
  /// All of it, with its checksum verified.
  case whole(size: Int64)
}

/// A piece of a blob on its way to the server.
public struct BlobPart: Sendable, Hashable {
  /// The blob's name: the SHA-256 of all its bytes, in 64 lower-case hexadecimal digits.
  public var sha256: String
  /// The size of the whole blob.
  public var size: Int64
  /// Where in the blob the bytes begin; the first one is at 0.
  public var offset: Int64
  /// The piece itself: all that is left of the blob, or `BlobOptions.partSize` of it.
  public var bytes: [UInt8]

  /// - Parameters:
  ///   - size: the bytes of the whole blob.
  ///   - offset: how many of them come before these.
  public init(sha256: String, size: Int64, offset: Int64, bytes: [UInt8]) {
    self.sha256 = sha256
    self.size = size
    self.offset = offset
    self.bytes = bytes
  }
}

extension RemoteStorage {
  /// A remote keeps no blobs unless it says so: records that name blobs then wait in the inbox.
  public var blobs: (any BlobRemote)? { nil }
}
