/// The blobs of a space at a collection, and the records' claims on them.
///
/// A blob that is named after `blobs` were read stays.
public struct BlobRelease: Sendable, Hashable {
  /// The blobs that were kept before the records were read, with their sizes.
  ///
  /// Only these may be deleted. Names are SHA-256 in hexadecimal, and sizes bytes.
  public var blobs: [String: Int64]
  /// The blobs that live records name.
  ///
  /// Some of them may be missing in the vault.
  public var named: Set<String>
  /// The time of the collection, in milliseconds since 1970.
  public var time: Int64
  /// The time of the collection before, or `nil` without one.
  ///
  /// With `nil` the grace of every unnamed blob begins now.
  public var lastTime: Int64?
  /// The time that a blob without a record is kept, in milliseconds.
  ///
  /// It is `RetentionPolicy.blobGrace` of the caller.
  public var grace: Int64

  /// Makes the request of one collection to a vault.
  public init(
    blobs: [String: Int64], named: Set<String>, time: Int64, lastTime: Int64?, grace: Int64
  ) {
    self.blobs = blobs
    self.named = named
    self.time = time
    self.lastTime = lastTime
    self.grace = grace
  }

  /// The effect of a collection.
  public struct Done: Sendable, Hashable {
    /// The number of deleted blobs.
    public var removed = 0
    /// The time at which the grace of the next blob is over; `nil` if records name all of them.
    public var next: Int64?

    /// Makes an effect, for vaults.
    public init(removed: Int = 0, next: Int64? = nil) {
      self.removed = removed
      self.next = next
    }
  }
}
