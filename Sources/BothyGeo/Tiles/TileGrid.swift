public import BothyStore

/// The tiles of one zoom that an area touches, as ranges of columns and rows: counted without being listed.
///
/// It is a sequence of its tiles, row by row from the north, each from the west. An area across the antimeridian has
/// the columns west of it first. No tile comes twice.
public struct TileGrid: Hashable, Sendable {
  /// The zoom of its tiles.
  public let zoom: Int
  /// The rows, counted from the north.
  public let rows: ClosedRange<Int>
  /// One range, or the two sides of the antimeridian.
  public let columns: [ClosedRange<Int>]

  /// How many tiles may be listed unless a call says otherwise.
  public static let defaultLimit = 10_000

  /// The tiles that a box has a part of: one that only its eastern or southern edge touches is none of them, so the
  /// bounds of a tile cover that tile alone. A box without width or height has the tiles that it lies in. Beyond the
  /// edges of the map the nearest rows. Throws `GeoError` for values that
  /// make no box and for a zoom that no tile has.
  public init(covering box: GeoBox, zoom: Int) throws(GeoError) {
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

  /// Every tile that has a position within so many metres of the centre, and those that complete the rectangle. With a
  /// radius of zero or less it is the one tile that the centre is in. Throws `GeoError` for values that are no numbers
  /// and for a zoom that no tile has.
  public init(around center: Coordinate, radius: Double, zoom: Int) throws(GeoError) {
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

  /// How many tiles there are; costs nothing that grows with the number. Where that is more than an `Int` holds, which
  /// has 32 bits on some watches, it is the largest one.
  public var count: Int {
    let (count, overflow) = rows.count.multipliedReportingOverflow(by: columns.reduce(0) { $0 + $1.count })
    return overflow ? .max : count
  }

  /// Whether the tile is one of them; costs nothing that grows with their number.
  public func contains(_ tile: Tile) -> Bool {
    tile.zoom == zoom && rows.contains(tile.y) && columns.contains { $0.contains(tile.x) }
  }

  /// The tiles as a list. Throws `GeoError` `.tooManyTiles`, before anything is allocated, when there are more than
  /// `limit`.
  public func tiles(limit: Int = defaultLimit) throws(GeoError) -> [Tile] {
    guard count <= limit else { throw .tooManyTiles(count, zoom: zoom, limit: limit) }
    return Array(self)
  }

  /// The tiles with the one that a position is in first, then by their distance from it. Throws as `tiles(limit:)`.
  public func tiles(
    nearestTo position: Coordinate, limit: Int = defaultLimit
  ) throws(GeoError) -> [Tile] {
    let current = try Tile(containing: position, zoom: zoom)
    let measured = try tiles(limit: limit).map { tile in
      (tile: tile, distance: tile == current ? -1 : tile.bounds.distance(to: position))
    }
    return measured.sorted { ($0.distance, $0.tile) < ($1.distance, $1.tile) }.map(\.tile)
  }
}

extension TileGrid: Sequence {
  public struct Iterator: IteratorProtocol {
    private let grid: TileGrid
    private var row: Int
    private var range = 0
    private var column: Int

    fileprivate init(_ grid: TileGrid) {
      self.grid = grid
      row = grid.rows.lowerBound
      column = grid.columns[0].lowerBound
    }

    public mutating func next() -> Tile? {
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

  public func makeIterator() -> Iterator { Iterator(self) }

  public var underestimatedCount: Int { count }
}

extension GeoError {
  static func tooManyTiles(_ count: Int, zoom: Int, limit: Int) -> GeoError {
    GeoError(
      .tooManyTiles,
      "The area has \(count) tiles at zoom \(zoom), more than the \(limit) allowed. Choose a smaller area, a lower zoom "
        + "or a higher limit.")
  }
}
