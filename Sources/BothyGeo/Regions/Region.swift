public import BothyCache
import BothyStore

/// An offline region: its plan, state and progress.
///
/// A plain value of one moment. Read it again with `OfflineRegions.region(_:)`, or follow a run by `progress(of:)`.
public struct Region: Sendable, Hashable, Identifiable {
  /// The id, created by the library. Users see the name. It stays the same when the region is refreshed or recovered.
  public let id: String
  /// The requested area, zooms and source. Changing it here changes nothing in the list.
  public var plan: RegionPlan
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

/// The state of a region.
///
/// Regions that are `complete` or `outdated` have all tiles on the disk. Of the others, some may be missing. All of
/// them can be resumed.
public enum RegionState: String, Sendable, Hashable, CaseIterable {
  /// Created, but not loaded yet.
  case waiting
  /// Being loaded, in this process or another. A second `resume` throws `BothyError` `regionBusy`.
  case loading
  /// Stopped by the user with `pause`. It stays so until it is resumed, also after a restart.
  case paused
  /// Stopped before it was ever complete: by the network, a full disk, or the end of the process. Received tiles stay.
  case interrupted
  /// Finished, but some tiles failed. They are tried again when the region is resumed.
  case partial
  /// Complete on the disk. Tiles that don't exist, according to the server, count as stored. So do those that came with
  /// the app, if the source's tiles never change.
  case complete
  /// Complete on the disk, but its last refresh was interrupted, or some tiles of it failed. Readers receive the older
  /// tiles. Resuming the region continues the refresh.
  case outdated
  /// Once complete, but tiles have been lost from the disk, by damage or because the cache was deleted. Resuming the
  /// region loads them again.
  case damaged
}

/// The progress of a region: its tiles, and the other resources of a style.
///
/// `done` and `failed` together reach `total` when a run has tried every tile.
public struct RegionProgress: Sendable, Hashable {
  /// The number of tiles of the region. With a style, its documents, glyphs and sprites are counted too.
  public var total: Int
  /// The number of tiles that are stored, or known not to exist.
  ///
  /// A run begins at 0 again and counts stored tiles without a request.
  public var done = 0
  /// The number of these that don't exist, according to the server. A map draws nothing there.
  public var absent = 0
  /// The number of stored tiles that the server reports as gone. They stay, and are counted in `done`.
  public var gone = 0
  /// The number of failed tiles in this run. `OfflineRegions.failures(of:)` has the reasons of up to a hundred.
  public var failed = 0
  /// The number of tiles from the network in this run.
  package var loaded = 0
  /// The bytes of the tiles that came from the network in this run. Tiles that were stored or confirmed add nothing.
  public var bytesLoaded: Int64 = 0
  /// The number of tiles that the server confirmed in this run.
  package var confirmed = 0
  /// The reason why no further loads start now, or `nil`. The run waits, and checks once a second if the reason is
  /// gone.
  public var obstacle: PrefetchPolicy.Obstacle?

  init(total: Int) { self.total = total }

  /// The finished fraction, from 0 to 1.
  public var fraction: Double { total == 0 ? 1 : min(1, Double(done + failed) / Double(total)) }
}

/// A resource whose request failed, or that is stored although the server reports it as gone.
///
/// Failures are those of the last run, in the order in which they occurred.
public struct RegionFailure: Sendable, Hashable {
  /// The tile, or `nil` for another part of a style, which the message names.
  public var tile: Tile?
  /// The reason of the failure, or that the tile stays stored, as a sentence.
  public var message: String
}
