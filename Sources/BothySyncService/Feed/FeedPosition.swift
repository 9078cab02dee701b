/// A place in the history of a space.
public struct FeedPosition: Sendable, Hashable {
  /// The mark of the history. It is empty for a reader that has read nothing.
  public var epoch: String
  /// The position up to which a reader has all changes.
  public var position: Int64

  /// Makes a position.
  public init(epoch: String, position: Int64) {
    self.epoch = epoch
    self.position = position
  }

  /// The place before the first change of any history.
  ///
  /// A reader there receives everything, in whatever epoch the space is.
  public static let start = FeedPosition(epoch: "", position: 0)
}
