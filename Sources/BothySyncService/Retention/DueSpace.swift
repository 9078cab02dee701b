/// A space whose upkeep is due, taken by one caller for a limited time.
///
/// `ServerMaintenance.takeDue` returns it, and `SyncService.upkeep(_:_:)` takes it.
public struct DueSpace: Sendable, Hashable {
  /// The name of the space.
  public var space: String
  /// The time since which the upkeep is due, in milliseconds since 1970. A change after a long rest makes a space due
  /// since the end of its rest.
  public var since: Int64
  /// The end of the lease, in milliseconds since 1970. It identifies the lease, as no later one of the space has the
  /// same end.
  ///
  /// After it another caller may take the space. This one's upkeep then changes nothing.
  public var lease: Int64
  /// The head of the space when it was taken.
  public var head: Int64
  /// The last collection of blobs and secrets, or `nil` without one.
  public var collection: BlobCollection?

  /// Makes a taken space, for storages.
  public init(space: String, since: Int64, lease: Int64, head: Int64, collection: BlobCollection?) {
    self.space = space
    self.since = since
    self.lease = lease
    self.head = head
    self.collection = collection
  }
}
