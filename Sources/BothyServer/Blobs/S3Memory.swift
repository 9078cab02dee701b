import BothySyncService

/// The memory of one process about a bucket, which saves requests. It is bounded, and may be empty at any time.
struct S3Memory: Sendable {
  /// A copy of a blob, and its size.
  struct Location: Sendable, Hashable {
    var copy: BlobCopy
    var size: Int64
  }

  /// The copies that were found. They never change, and may be deleted by any process.
  var locations = Memo<BlobPlace, Location>(limit: 10_000)
  /// The bytes of uploads that this process has continued.
  var uploads = Memo<BlobPlace, Int64>(limit: 1000)
  /// The missing blobs, by the SHA-256 of the space's name.
  var wanted = Memo<String, [String]>(limit: 10_000)
  /// The bytes of all blobs, by the SHA-256 of the space's name.
  var used = Memo<String, Int64>(limit: 10_000)
  /// The sizes of copies whose bytes have the right checksum, by their keys.
  var intact = Memo<String, Int64>(limit: 10_000)

  /// Forgets the place of a blob, and the size of its space.
  mutating func forget(_ blob: BlobPlace) {
    locations[blob] = nil
    uploads[blob] = nil
    used[blob.space] = nil
  }
}
