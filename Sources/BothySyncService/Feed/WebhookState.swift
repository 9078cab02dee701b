/// The progress of a webhook in a space, beside the end of the space's history.
public struct WebhookState: Sendable, Hashable {
  /// The end of the space's history.
  public var head: SpaceHead
  /// The progress.
  public var progress: WebhookProgress
  /// The process with the last claim; empty without one.
  public var holder: String
  /// The end of the claim, in milliseconds since 1970.
  ///
  /// A time in the past means that any process may claim the space. 0 after a delivery that ended its claim.
  public var heldUntil: Int64

  /// Makes a state, for storages.
  public init(head: SpaceHead, progress: WebhookProgress, holder: String, heldUntil: Int64) {
    self.head = head
    self.progress = progress
    self.holder = holder
    self.heldUntil = heldUntil
  }

  /// The longest claim, in milliseconds. No delivery lasts as long, and no receiver's wait.
  package static let longestClaim = RetentionPolicy.day

  /// True if the claim lasts. One that ends later than the longest possible was made by a clock that was ahead, and is
  /// over.
  package func isHeld(at now: Int64) -> Bool {
    heldUntil > now && heldUntil <= now.addingClamped(Self.longestClaim)
  }

  /// True if there is something to deliver.
  ///
  /// A history of another epoch counts as something, also without changes. Pure.
  public var isBehind: Bool {
    let (place, end) = (progress.position, head.head)
    return place == .start ? end.position > 0 : place.epoch != end.epoch || place.position < end.position
  }

  /// The number of positions between the progress and the head, about the number of changes to deliver. It counts from
  /// the start if the history is another one.
  public var lag: Int64 {
    let (place, end) = (progress.position, head.head)
    return max(0, end.position.subtractingClamped(place.epoch == end.epoch ? place.position : 0))
  }
}
