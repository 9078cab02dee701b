public import BothyStore

/// How far around a position an atlas looks, and how old tiles may be.
public struct AtlasSettings: Sendable, Hashable {
  /// Metres around the position whose tiles are kept at hand.
  public var radius: Double = 500
  /// The zoom of the tiles that hold the places.
  public var zoom = 16
  /// Milliseconds after which a tile is asked for again.
  public var lifetime = PlaceTile.defaultLifetime
  /// The most tiles that one position may need.
  public var limit = 400
  /// How long what has come waits to be told of with the rest.
  static let longWait: Duration = .seconds(2)

  /// 500 metres around, tiles of zoom 16, a week old at most, 400 of them.
  public init() {}
}

/// What is to be done for a position: which tiles belong to it, and which of them are fetched in which order.
public struct AtlasPlan: Sendable, Hashable {
  /// The tile that the position is in.
  public let current: Tile
  /// The tiles around the position: the current one first, then by distance.
  public let cover: [Tile]
  /// The tiles to fetch, in groups: the next group begins when the one before is done. The current tile, when it is not
  /// held, is a group of its own.
  public let stages: [[Tile]]
  /// Whether there is something to show without a network: the current tile is held, however old.
  public let canShow: Bool
  /// Whether the current tile is told of before the others: when it alone is missing around the position.
  public let tellsCurrent: Bool

  /// - Parameters:
  ///   - held: the tiles that are held, with the time in milliseconds since 1970 at which each was last validated.
  ///   - required: tiles elsewhere that must be there too, such as those of markers.
  /// - Throws: `GeoError` for what is no position, and when there are too many tiles.
  public init(
    around position: Coordinate, held: [Tile: Int64], required: Set<Tile> = [], at now: Int64,
    _ settings: AtlasSettings = AtlasSettings()
  ) throws(GeoError) {
    let current = try Tile(containing: position, zoom: settings.zoom)
    cover = try Self.cover(position, settings)
    let needed = (cover + required.subtracting(cover).sorted()).filter { tile in
      guard let validated = held[tile] else { return true }
      return !PlaceTile.isFresh(validatedAt: validated, at: now, lifetime: settings.lifetime)
    }
    self.current = current
    canShow = held[current] != nil
    tellsCurrent = cover.filter { held[$0] == nil } == [current]
    if canShow {
      stages = needed.isEmpty ? [] : [needed]
    } else {
      let others = needed.filter { $0 != current }
      stages = others.isEmpty ? [[current]] : [[current], others]
    }
  }

  static func cover(_ position: Coordinate, _ settings: AtlasSettings) throws(GeoError) -> [Tile] {
    try TileGrid(around: position, radius: settings.radius, zoom: settings.zoom)
      .tiles(nearestTo: position, limit: settings.limit)
  }
}

/// What became of one tile that was asked for.
public enum TileOutcome: Sendable {
  /// Other bytes than before; `isNew` when there were none.
  case loaded(isNew: Bool)
  /// Confirmed, or the same bytes again.
  case unchanged
  /// The server has no such tile.
  case absent
  /// It could not be had, and why; what is held stays.
  case failed(any Error)
}

/// What came of the tiles that were asked for; a tile may be in `fromStale` and in `failed`.
public struct TileSetReport: Sendable {
  /// Came with bytes that are new or others than before.
  public internal(set) var loaded: Set<Tile> = []
  /// Confirmed by the server, or come with the same bytes again.
  public internal(set) var unchanged: Set<Tile> = []
  /// Known by the server not to be there.
  public internal(set) var absent: Set<Tile> = []
  /// Shown from an old version, as nothing newer came.
  public internal(set) var fromStale: Set<Tile> = []
  /// Not to be had, and why. An old version, where there is one, stays.
  public internal(set) var failed: [Tile: any Error] = [:]

  /// Nothing asked for yet.
  public init() {}

  /// How many tiles were asked for.
  public var count: Int { loaded.count + unchanged.count + absent.count + failed.count }

  /// Notes what became of a tile. `isHeld`: whether an old version is there.
  public mutating func note(_ tile: Tile, _ outcome: TileOutcome, isHeld: Bool) {
    switch outcome {
    case .loaded: loaded.insert(tile)
    case .unchanged: unchanged.insert(tile)
    case .absent: absent.insert(tile)
    case .failed(let error):
      failed[tile] = error
      if isHeld { fromStale.insert(tile) }
    }
  }
}

/// What an atlas is doing.
public enum AtlasState: Sendable, Hashable {
  /// No position was taken yet.
  case waitingForLocation
  /// The tile of the position is not held, and is being fetched.
  case loading
  /// The tile of the position is there, if need be an old one.
  case ready
  /// The tile of the position is not there, and could not be fetched.
  case error

  /// The state when a run is over.
  public init(after report: TileSetReport, current: Tile, isHeld: Bool) {
    self = isHeld || report.absent.contains(current) ? .ready : .error
  }
}
