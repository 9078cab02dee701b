package import BothyStore

/// The radius that a nearby map covers, and the age up to which it uses tiles.
package struct NearbyMapSettings: Sendable, Hashable {
  /// The radius around the position in metres.
  package var radius: Double = 500
  /// The zoom of the tiles with places.
  package var zoom = 16
  /// The age in milliseconds from which a tile is requested again.
  package var lifetime = PlaceTile.defaultLifetime
  /// The maximum number of tiles for one position.
  package var limit = 400
  /// The bytes that the places and their tiles may take.
  package var budget: Int64 = 256 << 20
  /// The interval at which a long run shows its tiles.
  static let longWait: Duration = .seconds(2)

  package init() {}
}

/// The tiles of a position, and those of them to fetch, with their order.
package struct NearbyMapPlan: Sendable, Hashable {
  /// The tile that contains the position.
  package let current: Tile
  /// The tiles around the position: the current one first, then by distance.
  package let cover: [Tile]
  /// The tiles to fetch, in groups. The next group begins when the one before is done. If the current tile isn't
  /// available, it is a group of its own.
  package let stages: [[Tile]]
  /// True if the map can show something without a network: the current tile is available, at any age.
  package let canShow: Bool
  /// True if the current tile is shown before the others, as only it is missing around the position.
  package let tellsCurrent: Bool

  /// Creates the plan of a position.
  ///
  /// - Parameters:
  ///   - held: the available tiles, with the time of their last validation in milliseconds since 1970.
  ///   - required: tiles elsewhere that are needed too, such as those of markers.
  /// - Throws: `BothyError` for an invalid position or too many tiles.
  package init(
    around position: Coordinate, held: [Tile: Int64], required: Set<Tile> = [], at now: Int64,
    _ settings: NearbyMapSettings = NearbyMapSettings()
  ) throws(BothyError) {
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

  static func cover(_ position: Coordinate, _ settings: NearbyMapSettings) throws(BothyError) -> [Tile] {
    try TileGrid(around: position, radius: settings.radius, zoom: settings.zoom)
      .tiles(nearestTo: position, limit: settings.limit)
  }
}

/// The outcome of one requested tile.
package enum TileOutcome: Sendable {
  /// The tile has new bytes. `isNew` is true if it had none before.
  case loaded(isNew: Bool)
  /// The server confirmed the tile or sent the same bytes.
  case unchanged
  /// The server doesn't have the tile.
  case absent
  /// The request failed with an error. An old version stays.
  case failed(any Error)
}

/// The results of the requested tiles. A tile may be in `fromStale` and in `failed`.
///
/// Tiles that are stored and fresh aren't requested, and are in none of the sets.
public struct TileSetReport: Sendable {
  /// The tiles that came with new bytes, from the network or from the cache.
  public internal(set) var loaded: Set<Tile> = []
  /// The tiles that the server confirmed, or sent with the same bytes.
  package internal(set) var unchanged: Set<Tile> = []
  /// The tiles that the server doesn't have. Their places are deleted, and later runs look for them again.
  public internal(set) var absent: Set<Tile> = []
  /// The tiles that are shown from an old version, as no newer one came.
  package internal(set) var fromStale: Set<Tile> = []
  /// The tiles whose request failed, with the error. An old version of them stays.
  ///
  /// The code is `.offline` or `.notCached` without a network, `notATile` for bytes of another format, or that of the
  /// request. While a map has a network, it requests tiles around its position again by itself if they have no old
  /// version. It waits 5 seconds at first, and up to 10 minutes later.
  public internal(set) var failed: [Tile: any Error] = [:]

  /// Creates an empty report.
  package init() {}

  /// The number of requested tiles.
  package var count: Int { loaded.count + unchanged.count + absent.count + failed.count }

  /// Adds the outcome of a tile. `isHeld` is true if an old version is available.
  package mutating func note(_ tile: Tile, _ outcome: TileOutcome, isHeld: Bool) {
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

/// The state of a nearby map, which depends on the tile of the position alone.
public enum NearbyMapState: Sendable, Hashable {
  /// The map has received no position yet. Queries of the `PlaceStore` work all the same.
  case waitingForLocation
  /// The tile of the position isn't available and is being fetched. Other tiles around it may be shown.
  case loading
  /// The tile of the position is available, possibly in an old version. A tile that the server doesn't have counts
  /// too.
  case ready
  /// The tile of the position isn't available and couldn't be fetched. A map with a network tries again by itself.
  case error

  /// The state after a run.
  package init(after report: TileSetReport, current: Tile, isHeld: Bool) {
    self = isHeld || report.absent.contains(current) ? .ready : .error
  }
}
