package import BothyGeo
package import BothyStore

/// Tiles by their freshness, in as few cells as a screen can show. If there are too many cells, four become their
/// parent.
package struct TileMosaic: Equatable {
  package struct Cell: Equatable {
    package var tile: Tile
    package var freshness = FreshnessCounts()
  }

  package let cells: [Cell]
  /// The number of tiles in all cells.
  package let total: Int

  package init(_ tiles: some Sequence<(tile: Tile, freshness: FreshnessCounts)>, in box: GeoBox, limit: Int) {
    var cells: [Tile: FreshnessCounts] = [:]
    var total = 0
    for (tile, freshness) in tiles where tile.bounds.intersects(box) {
      cells[tile, default: FreshnessCounts()].add(freshness)
      total += 1
    }
    while cells.count > limit, let deepest = cells.keys.map(\.zoom).max(), deepest > 0 {
      var merged: [Tile: FreshnessCounts] = [:]
      for (tile, freshness) in cells {
        merged[tile.zoom == deepest ? tile.parent ?? tile : tile, default: FreshnessCounts()].add(freshness)
      }
      cells = merged
    }
    self.total = total
    // Large cells come first, so that small ones are drawn over them.
    self.cells = cells.map { Cell(tile: $0.key, freshness: $0.value) }
      .sorted { ($0.tile.zoom, $0.tile) < ($1.tile.zoom, $1.tile) }
  }

  func write(to writer: inout JSONWriter) {
    writer.member("tiles", total)
    writer.list("cells", cells) { writer, cell in
      writer.member("z", cell.tile.zoom)
      writer.member("x", cell.tile.x)
      writer.member("y", cell.tile.y)
      cell.freshness.write(to: &writer)
    }
  }
}

extension FreshnessCounts {
  mutating func add(_ other: FreshnessCounts) {
    fresh += other.fresh
    usable += other.usable
    stale += other.stale
    unknown += other.unknown
  }
}
