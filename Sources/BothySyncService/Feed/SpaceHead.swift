/// The name of a space and the end of its history.
public struct SpaceHead: Sendable, Hashable {
  /// The name of the space.
  public var space: String
  /// The position of the last change, in the present history.
  public var head: FeedPosition

  /// Makes a head, for storages.
  public init(space: String, head: FeedPosition) {
    self.space = space
    self.head = head
  }
}
