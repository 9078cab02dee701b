/// A square of the world map in Web Mercator: column, row and zoom.
///
/// Row 0 is the northernmost, and column 0 begins at 180° west. Zoom 0 has one tile, and each further zoom four times
/// as many. A value is always an existing tile, so everything that is created from it is valid too.
public struct Tile: Hashable, Sendable {
  /// The column, from 0 in the west to 2^zoom - 1. The last column ends at 180° east.
  public let x: Int
  /// The row, from 0 in the north to 2^zoom - 1. Some servers count from the south, which a source's `{-y}` covers.
  public let y: Int
  /// The zoom, 0 to 29. Each zoom halves the width of a tile.
  public let zoom: Int

  /// The zooms that a tile can have.
  package static let zooms = 0...29

  /// Creates a tile.
  ///
  /// - Throws: `BothyError` `invalidTile` if the tile doesn't exist. Columns don't wrap around the world here, as they
  ///   do in `init(containing:zoom:)`.
  public init(x: Int, y: Int, zoom: Int) throws(BothyError) {
    let side = try Self.side(zoom)
    guard x >= 0, x < side, y >= 0, y < side else {
      throw BothyError(
        .invalidTile,
        "The tile \(zoom)/\(x)/\(y) does not exist: columns and rows of the zoom go from 0 to \(side - 1).")
    }
    self.init(uncheckedX: x, y: y, zoom: zoom)
  }

  /// Creates a tile with a column that wraps around the world: column -1 is the last one, column 2^zoom the first.
  /// Throws `BothyError` `invalidTile` if the row or zoom doesn't exist.
  package init(wrappingX x: Int, y: Int, zoom: Int) throws(BothyError) {
    let side = try Self.side(zoom)
    try self.init(x: x & (side - 1), y: y, zoom: zoom)
  }

  /// Creates the nearest tile: columns wrap around the world, rows and zoom are clamped.
  package init(normalizingX x: Int, y: Int, zoom: Int) {
    let zoom = min(max(zoom, Self.zooms.lowerBound), Self.zooms.upperBound)
    let last = 1 << zoom - 1
    self.init(uncheckedX: x & last, y: min(max(y, 0), last), zoom: zoom)
  }

  /// Creates a tile of numbers that are known to be valid.
  init(uncheckedX x: Int, y: Int, zoom: Int) {
    self.x = x
    self.y = y
    self.zoom = zoom
  }

  /// Returns the number of columns, and of rows, of a zoom. Throws `BothyError` `invalidTile` for a zoom that no tile
  /// has.
  package static func side(_ zoom: Int) throws(BothyError) -> Int {
    guard zooms.contains(zoom) else {
      throw BothyError(.invalidTile, "Zoom \(zoom) does not exist. Choose one from 0 to \(zooms.upperBound).")
    }
    return 1 << zoom
  }
}

extension Tile: Comparable {
  /// Orders by zoom, then by row from the north, then by column from the west.
  public static func < (left: Tile, right: Tile) -> Bool {
    (left.zoom, left.y, left.x) < (right.zoom, right.y, right.x)
  }
}

extension Tile: CustomStringConvertible {
  /// The text `zoom/x/y`.
  public var description: String { "\(zoom)/\(x)/\(y)" }
}

extension Tile: Codable {
  private enum CodingKeys: String, CodingKey { case x, y, zoom }

  /// Decodes `x`, `y` and `zoom`. Throws `BothyError` `invalidTile` if no tile has them.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      x: container.decode(Int.self, forKey: .x), y: container.decode(Int.self, forKey: .y),
      zoom: container.decode(Int.self, forKey: .zoom))
  }

  /// Encodes `x`, `y` and `zoom` as whole numbers.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(x, forKey: .x)
    try container.encode(y, forKey: .y)
    try container.encode(zoom, forKey: .zoom)
  }
}
