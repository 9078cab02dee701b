public import BothyCache
public import BothyStore

/// A part of the map that is kept, or on its way: what was asked for, and how far it is.
public struct Region: Sendable, Hashable, Identifiable {
  /// Made by the library; a name is for people.
  public let id: String
  /// What was asked for.
  public var plan: RegionPlan
  /// How many tiles it has.
  public var tiles: Int
  /// Where it stands.
  public var state: RegionState
  /// How far its present or last run is.
  public var progress: RegionProgress
  /// When it was created, by the cache's clock.
  public var createdAt: Timestamp
  /// When all of it was loaded or refreshed for the last time; nil before the first.
  public var completedAt: Timestamp?
  /// Why it was interrupted, or what is to be known of a complete one, in a sentence.
  public var reason: String?
  /// What its present run goes by.
  var run: Run

  struct Run: Sendable, Hashable {
    /// Milliseconds since 1970: what was loaded or confirmed from then on is done.
    var startedAt: Int64
    /// Whether also what is fresh is confirmed.
    var isRefresh: Bool
    /// Whether tiles go that the server says are gone. Holds for the run that was asked for so, and for no later one.
    var removesGone = false
  }

  /// What people call it.
  public var name: String { plan.name }

  /// Under which its tiles are pinned in the cache.
  public var holder: String { "region:" + id }
}

/// Where a region stands.
public enum RegionState: String, Sendable, Hashable, CaseIterable {
  /// Created, and nothing loaded yet.
  case waiting
  /// Somebody is loading it, in this process or another.
  case loading
  /// Stopped by the user.
  case paused
  /// Stopped by something else: the network, a full disk, the end of the process.
  case interrupted
  /// Gone through to the end; some tiles failed and are tried again when it is resumed.
  case partial
  /// All of it is there.
  case complete
  /// All of it was there, and tiles have gone from the disk since: damaged, or removed with the cache. Resuming it brings
  /// them back.
  case lacking
}

/// How far a region is.
public struct RegionProgress: Sendable, Hashable {
  /// How many tiles the region has.
  public var total: Int
  /// How many are there, or known not to exist.
  public var done = 0
  /// How many of these the server says do not exist.
  public var absent = 0
  /// How many are kept though the server says that they are gone.
  public var gone = 0
  /// How many failed in this run.
  public var failed = 0
  /// How many came from the network in this run, and their bytes.
  public var loaded = 0
  /// The bytes of these.
  public var bytesLoaded: Int64 = 0
  /// How many the server has confirmed in this run.
  public var confirmed = 0
  /// Why nothing is begun at present; nil when nothing stands in the way.
  public var obstacle: PrefetchPolicy.Obstacle?

  init(total: Int) { self.total = total }

  /// From 0 to 1.
  public var fraction: Double { total == 0 ? 1 : min(1, Double(done + failed) / Double(total)) }
}

/// A tile that could not be had, or that is kept though the server says that it is gone.
public struct RegionFailure: Sendable, Hashable {
  /// Which tile it is.
  public var tile: Tile
  /// Why it could not be had, or that it is kept, in a sentence.
  public var message: String
}
