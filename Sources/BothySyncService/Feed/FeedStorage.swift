import BothyStore

/// A storage that keeps the progress of webhooks, each for each space.
///
/// One process at a time delivers the changes of a space to a webhook. It claims the space until a time, by the clocks
/// of the processes. The test suite `FeedConformance` has the requirements of a storage.
public protocol FeedStorage: ServerStorage {
  /// Returns the heads of at most `limit` spaces after a name, by name. Leaves out those without any change, which the
  /// first refused request makes. Reads as many rows, and those of the spaces that it leaves out.
  func heads(after name: String, limit: Int) async throws -> [SpaceHead]
  /// Returns the names of the webhooks with progress in any space, by name. Reads the progress of all spaces.
  func webhooks() async throws -> [String]
  /// Returns the state of a webhook in a space, or `nil` for a missing space.
  func state(of hook: String, in space: String) async throws -> WebhookState?
  /// Returns the states of a webhook in at most `limit` spaces after a name, by name. Includes spaces in which it has
  /// delivered everything. Reads as many rows.
  func states(of hook: String, after name: String, limit: Int) async throws -> [WebhookState]

  /// Claims a space for `holder` until a time, unless another holder has a claim at `now`. Returns the progress, or
  /// `nil` if another has it. A claim of the same holder is renewed. Both times are in milliseconds since 1970.
  func claim(_ hook: String, in space: String, for holder: String, until end: Int64, at now: Int64)
    async throws
    -> WebhookProgress?
  /// Stores progress and the end of the claim; 0 ends it. Returns false, and changes nothing, if the claim is
  /// another's.
  func note(
    _ progress: WebhookProgress, of hook: String, in space: String, by holder: String, until end: Int64
  ) async throws -> Bool
  /// Sets where a webhook continues, for operators. Ends any claim, so that a running delivery can't note its progress.
  func place(_ hook: String, in space: String, at position: FeedPosition) async throws
}

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
