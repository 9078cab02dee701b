package import BothyStore

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
    _ settings: NearbyMap.Settings = NearbyMap.Settings()
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

  static func cover(_ position: Coordinate, _ settings: NearbyMap.Settings) throws(BothyError) -> [Tile] {
    try TileGrid(around: position, radius: settings.radius, zoom: settings.zoom)
      .tiles(nearestTo: position, limit: settings.limit)
  }
}
