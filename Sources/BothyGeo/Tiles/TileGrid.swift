public import BothyStore

/// The tiles of one zoom that an area touches, as ranges of columns and rows. They are counted without being listed.
///
/// It is a sequence of its tiles, row by row from the north, each row from the west. In an area across the
/// antimeridian, the columns west of it come first. Each tile occurs once.
package struct TileGrid: Hashable, Sendable {
  /// The zoom of its tiles.
  package let zoom: Int
  /// The rows, counted from the north.
  package let rows: ClosedRange<Int>
  /// The columns, as one range or as the two sides of the antimeridian.
  package let columns: [ClosedRange<Int>]

  /// The default limit for the number of listed tiles.
  package static let defaultLimit = 10_000

  /// Creates the grid of the tiles that a box has a part of.
  ///
  /// A tile that only the eastern or southern edge touches isn't included, so the bounds of a tile cover that tile
  /// alone. A box without width or height has the tiles that contain it. Beyond the edges of the map, the nearest rows
  /// are used.
  ///
  /// Throws `BothyError` for an invalid box and for a zoom that no tile has.
  package init(covering box: GeoBox, zoom: Int) throws(BothyError) {
    try box.checked()
    let last = try Tile.side(zoom) - 1
    self.zoom = zoom
    let north = Mercator.row(box.north, zoom: zoom)
    var south = Mercator.row(box.south, zoom: zoom)
    if south > north, Mercator.north(row: south, zoom: zoom) == box.south { south -= 1 }
    rows = north...south
    let west = Mercator.column(box.west, zoom: zoom)
    var east = Mercator.column(box.east, zoom: zoom)
    if box.east != box.west, Mercator.west(column: east, zoom: zoom) == box.east { east -= 1 }
    if !box.crossesAntimeridian {
      columns = [west...Swift.max(west, east)]
    } else if east < 0 {  // It ends at the antimeridian.
      columns = [west...last]
    } else if east + 1 >= west {
      columns = [0...last]
    } else {
      columns = [west...last, 0...east]
    }
  }

  /// Creates the grid of every tile with a position within a radius of the center, and those that complete the
  /// rectangle.
  ///
  /// With a radius of zero or less, it is the one tile that contains the center. Throws `BothyError` for values that
  /// aren't numbers and for a zoom that no tile has.
  package init(around center: Coordinate, radius: Double, zoom: Int) throws(BothyError) {
    guard radius > 0 || !radius.isFinite else {
      let tile = try Tile(containing: center, zoom: zoom)
      self.init(zoom: zoom, rows: tile.y...tile.y, columns: [tile.x...tile.x])
      return
    }
    try self.init(covering: GeoBox(around: center, radius: radius), zoom: zoom)
  }

  private init(zoom: Int, rows: ClosedRange<Int>, columns: [ClosedRange<Int>]) {
    self.zoom = zoom
    self.rows = rows
    self.columns = columns
  }

  /// The number of tiles, at constant cost. A number above the largest `Int`, which has 32 bits on some watches, is
  /// clamped to it.
  package var count: Int {
    let (count, overflow) = rows.count.multipliedReportingOverflow(by: columns.reduce(0) { $0 + $1.count })
    return overflow ? .max : count
  }

  /// Returns true if the grid contains the tile, at constant cost.
  package func contains(_ tile: Tile) -> Bool {
    tile.zoom == zoom && rows.contains(tile.y) && columns.contains { $0.contains(tile.x) }
  }

  /// Returns the tiles as a list. If there are more than `limit`, throws `BothyError` `tooManyTiles` before any
  /// allocation.
  package func tiles(limit: Int = defaultLimit) throws(BothyError) -> [Tile] {
    guard count <= limit else { throw .tooManyTiles(count, zoom: zoom, limit: limit) }
    return Array(self)
  }

  /// Returns the tiles by distance from a position, first the one that contains it. Throws like `tiles(limit:)`.
  package func tiles(
    nearestTo position: Coordinate, limit: Int = defaultLimit
  ) throws(BothyError) -> [Tile] {
    let current = try Tile(containing: position, zoom: zoom)
    let measured = try tiles(limit: limit).map { tile in
      (tile: tile, distance: tile == current ? -1 : tile.bounds.distance(to: position))
    }
    return measured.sorted { ($0.distance, $0.tile) < ($1.distance, $1.tile) }.map(\.tile)
  }
}

extension Tile {
  /// Returns the tiles of a zoom that a box has a part of, row by row from the north.
  ///
  /// A tile that only the eastern or southern edge touches isn't included. A box whose west is greater than its east
  /// crosses the antimeridian. Beyond the edges of the map, the nearest rows are used. Never empty.
  ///
  /// - Parameter limit: the maximum number of tiles.
  /// - Throws: `BothyError`: `invalidCoordinate`, `invalidTile` for a zoom that no tile has, and `tooManyTiles` before
  ///   any allocation. Choose a smaller box or a lower zoom then.
  public static func covering(
    _ box: GeoBox, zoom: Int, limit: Int = 10_000
  ) throws(BothyError) -> [Tile] {
    try TileGrid(covering: box, zoom: zoom).tiles(limit: limit)
  }

  /// Returns the tiles of a zoom with every position within a radius in metres, the nearest first.
  ///
  /// They complete a rectangle. With a radius of zero or less, it is the one tile that contains the center. Measures
  /// and sorts the whole rectangle. Throws like `covering`.
  public static func around(
    _ center: Coordinate, radius: Double, zoom: Int, limit: Int = 10_000
  ) throws(BothyError) -> [Tile] {
    try TileGrid(around: center, radius: radius, zoom: zoom).tiles(nearestTo: center, limit: limit)
  }
}

extension TileGrid: Sequence {
  package struct Iterator: IteratorProtocol {
    private let grid: TileGrid
    private var row: Int
    private var range = 0
    private var column: Int

    fileprivate init(_ grid: TileGrid) {
      self.grid = grid
      row = grid.rows.lowerBound
      column = grid.columns[0].lowerBound
    }

    package mutating func next() -> Tile? {
      guard row <= grid.rows.upperBound else { return nil }
      let tile = Tile(uncheckedX: column, y: row, zoom: grid.zoom)
      if column < grid.columns[range].upperBound {
        column += 1
      } else {
        range += 1
        if range == grid.columns.count {
          range = 0
          row += 1
        }
        column = grid.columns[range].lowerBound
      }
      return tile
    }
  }

  package func makeIterator() -> Iterator { Iterator(self) }

  package var underestimatedCount: Int { count }
}

extension BothyError {
  static func tooManyTiles(_ count: Int, zoom: Int, limit: Int) -> BothyError {
    BothyError(
      .tooManyTiles,
      "The area has \(count) tiles at zoom \(zoom), more than the \(limit) allowed. Choose a smaller area, a lower zoom "
        + "or a higher limit.")
  }
}
