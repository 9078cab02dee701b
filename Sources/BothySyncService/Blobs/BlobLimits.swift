/// The limits of a vault.
///
/// They hold for uploads. Blobs that are stored already stay.
public struct BlobLimits: Sendable, Hashable {
  /// The most bytes of one blob.
  ///
  /// A larger one is refused with `BlobError` `tooLarge` before its first byte is stored.
  public var largest: Int64
  /// The most bytes of all blobs of a space; `nil` for no limit.
  ///
  /// Unfinished uploads count, and each blob as 4,096 bytes at least, because a file has a cost beside its bytes. A
  /// part of a blob for whose rest the space has no room is refused with `BlobError` `quotaExceeded`. Other uploads
  /// that nobody has continued for an hour are deleted before, if that makes room.
  public var quota: Int64?

  /// Makes limits, by default a gibibyte for a blob and no limit for a space.
  ///
  /// - Parameters:
  ///   - largest: bytes. 0 refuses every blob but the empty one.
  ///   - quota: bytes, or `nil`.
  public init(largest: Int64 = 1 << 30, quota: Int64? = nil) {
    self.largest = largest
    self.quota = quota
  }

  /// The fewest bytes that a file counts as. Otherwise any number of tiny blobs is within a quota.
  package var least: Int64 = 4096

  /// Makes limits with another least size of a file, for tests.
  package init(largest: Int64 = 1 << 30, quota: Int64?, least: Int64) {
    self.init(largest: largest, quota: quota)
    self.least = least
  }

  /// Returns the bytes that a file counts as. A space has one empty blob at most, which counts as nothing.
  package func charge(_ size: Int64) -> Int64 { size > 0 ? max(size, least) : 0 }

  /// The time after which an unfinished upload may be deleted to make room for another, in milliseconds. Uploads that
  /// wait for each other's room have no other end.
  package static let idleUpload: Int64 = 3_600_000
}
