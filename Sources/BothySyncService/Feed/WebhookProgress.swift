/// The progress of a webhook in a space.
///
/// A delivery whose note was lost is made again, so receivers recognize changes by epoch and position.
public struct WebhookProgress: Sendable, Hashable {
  /// The place up to which everything is delivered.
  public var position: FeedPosition
  /// The number of failed deliveries since the last one that succeeded.
  ///
  /// 0 after a success, and after `FeedStorage.place(_:in:at:)`.
  public var failures: Int
  /// The time of the last delivery, in milliseconds since 1970; 0 before the first.
  public var deliveredAt: Int64

  /// Makes progress, by default that of a webhook that has delivered nothing.
  public init(position: FeedPosition = .start, failures: Int = 0, deliveredAt: Int64 = 0) {
    self.position = position
    self.failures = failures
    self.deliveredAt = deliveredAt
  }
}
