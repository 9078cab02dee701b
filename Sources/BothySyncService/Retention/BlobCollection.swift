/// One collection of the blobs and secrets of a space.
///
/// The storage keeps the last one.
public struct BlobCollection: Sendable, Hashable {
  /// The time of the collection, in milliseconds since 1970.
  public var at: Int64
  /// The head up to which records were read, at least.
  public var head: Int64
  /// The time at which another collection is due without a change of records; `nil` for never.
  public var due: Int64?

  /// Makes a collection, for storages.
  public init(at: Int64, head: Int64, due: Int64? = nil) {
    self.at = at
    self.head = head
    self.due = due
  }
}
