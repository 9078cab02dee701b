import BothyCache
import BothyStore

/// An offline region: its plan, state and progress.
///
/// A plain value of one moment. Read it again with `OfflineRegions.region(_:)`, or follow a run by `progress(of:)`.
public struct Region: Sendable, Hashable, Identifiable {
  /// The id, created by the library. Users see the name. It stays the same when the region is refreshed or recovered.
  public let id: String
  /// The requested area, zooms and source. Changing it here changes nothing in the list.
  public var plan: OfflineRegions.Plan
  /// The number of tiles.
  package var tiles: Int
  /// The state of the region, which says if a map can be drawn from it without a network.
  public var state: RegionState
  /// The progress of its current or last run, as it was last stored: after 64 tiles or a second.
  public var progress: RegionProgress
  /// The time of creation, by the cache's clock.
  package var createdAt: Timestamp
  /// The time when the region was last completely loaded or refreshed, by the cache's clock, or `nil`.
  public var completedAt: Timestamp?
  /// The reason of an interruption, or a remark about a complete region, as a sentence with the remedy. Otherwise
  /// `nil`.
  public var reason: String?
  /// The settings of its current run.
  var run: Run

  struct Run: Sendable, Hashable {
    /// The start in milliseconds since 1970. Tiles loaded or confirmed since then are done.
    var startedAt: Int64
    /// True if fresh tiles are confirmed too.
    var isRefresh: Bool
    /// True if tiles that the server reports as gone are deleted. This applies only to the run that requested it.
    var removesGone = false
    /// True if the staged tiles are replacing the stored ones.
    var isFlipping = false
    /// The number of replacements of the region's tiles that have begun.
    var generation: Int64 = 0
  }

  /// The name of the region, which no other region of the list has.
  public var name: String { plan.name }
}
