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
