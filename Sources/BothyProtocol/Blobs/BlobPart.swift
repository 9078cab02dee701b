/// A part of a blob in an upload.
public struct BlobPart: Sendable, Hashable {
  /// The blob's name: the SHA-256 of all its bytes, in 64 lower-case hexadecimal digits.
  public var sha256: String
  /// The size of the whole blob.
  public var size: Int64
  /// The position of the bytes in the blob; the first one is at 0.
  public var offset: Int64
  /// The bytes of the part: the rest of the blob, or `SyncOptions.BlobOptions.partSize` of it.
  public var bytes: [UInt8]

  /// - Parameters:
  ///   - size: the number of bytes of the whole blob.
  ///   - offset: the number of bytes before these.
  package init(sha256: String, size: Int64, offset: Int64, bytes: [UInt8]) {
    self.sha256 = sha256
    self.size = size
    self.offset = offset
    self.bytes = bytes
  }
}
