import BothyCache

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
