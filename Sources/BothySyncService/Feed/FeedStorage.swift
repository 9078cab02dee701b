/// A storage that keeps the progress of webhooks, each for each space.
///
/// One process at a time delivers the changes of a space to a webhook. It claims the space until a time, by the clocks
/// of the processes. A claim that ends more than a day ahead is over, as a clock was wrong. The test suite
/// `FeedConformance` has the requirements of a storage.
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
