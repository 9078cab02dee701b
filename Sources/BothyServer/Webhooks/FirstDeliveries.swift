import BothySyncService

/// The spaces that a webhook receives from the start, with the ends of their histories when that began.
///
/// A deletion before that end concerns no record that the receiver has, so it may be forgotten. The end is lost with the
/// process. The receiver is then told of deletions that may not concern it.
struct FirstDeliveries: Sendable {
  /// The number of spaces of which the end is remembered. With more, all are forgotten.
  private let capacity: Int
  private var ends: [String: FeedPosition] = [:]

  init(capacity: Int) { self.capacity = max(1, capacity) }

  /// Notes the delivery that continues after `position`. Returns the end of the history at the first one, or `nil` if it
  /// is unknown.
  mutating func end(of head: SpaceHead, after position: FeedPosition) -> Int64? {
    if position == .start {
      if ends.count >= capacity { ends = [:] }
      ends[head.space] = head.head
    }
    guard let end = ends[head.space], position == .start || position.epoch == end.epoch else { return nil }
    return end.position
  }

  /// Notes that everything of a space is delivered.
  mutating func finished(_ space: String) { ends[space] = nil }
}
