/// A square of the world map in Web Mercator: column, row and zoom.
///
/// Row 0 is the northernmost, column 0 begins at 180° west; zoom 0 has one tile, each further zoom four times as many.
/// A value of this type is always a tile that exists, so nothing that is made of it can name another one.
public struct Tile: Hashable, Sendable {
  /// The column, from 0 in the west to 2^zoom - 1.
  public let x: Int
  /// The row, from 0 in the north to 2^zoom - 1.
  public let y: Int
  /// The zoom, 0 to 29.
  public let zoom: Int

  /// The zooms a tile can have.
  public static let zooms = 0...29

  /// Throws `GeoError` `.invalidTile` when there is no such tile.
  public init(x: Int, y: Int, zoom: Int) throws(GeoError) {
    let side = try Self.side(zoom)
    guard x >= 0, x < side, y >= 0, y < side else {
      throw GeoError(
        .invalidTile,
        "There is no tile \(zoom)/\(x)/\(y): columns and rows of zoom \(zoom) go from 0 to \(side - 1).")
    }
    self.init(uncheckedX: x, y: y, zoom: zoom)
  }

  /// The tile in a column counted on around the world: column -1 is the last one, column 2^zoom the first.
  /// Throws `GeoError` `.invalidTile` when there is no such row or zoom.
  public init(wrappingX x: Int, y: Int, zoom: Int) throws(GeoError) {
    let side = try Self.side(zoom)
    try self.init(x: x & (side - 1), y: y, zoom: zoom)
  }

  /// The tile that is nearest: columns go around the world, rows and zoom stop at the edge.
  public init(normalizingX x: Int, y: Int, zoom: Int) {
    let zoom = min(max(zoom, Self.zooms.lowerBound), Self.zooms.upperBound)
    let last = 1 << zoom - 1
    self.init(uncheckedX: x & last, y: min(max(y, 0), last), zoom: zoom)
  }

  /// For numbers that are known to be within the zoom.
  init(uncheckedX x: Int, y: Int, zoom: Int) {
    self.x = x
    self.y = y
    self.zoom = zoom
  }

  /// The number of columns, and of rows, of a zoom. Throws `GeoError` `.invalidTile` for a zoom that no tile has.
  public static func side(_ zoom: Int) throws(GeoError) -> Int {
    guard zooms.contains(zoom) else {
      throw GeoError(.invalidTile, "There is no zoom \(zoom). Choose one from 0 to \(zooms.upperBound).")
    }
    return 1 << zoom
  }
}

extension Tile: Comparable {
  /// By zoom, then row by row from the north, each from the west.
  public static func < (left: Tile, right: Tile) -> Bool {
    (left.zoom, left.y, left.x) < (right.zoom, right.y, right.x)
  }
}

extension Tile: CustomStringConvertible {
  /// `zoom/x/y`.
  public var description: String { "\(zoom)/\(x)/\(y)" }
}

extension Tile: Codable {
  private enum CodingKeys: String, CodingKey { case x, y, zoom }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      x: container.decode(Int.self, forKey: .x), y: container.decode(Int.self, forKey: .y),
      zoom: container.decode(Int.self, forKey: .zoom))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(x, forKey: .x)
    try container.encode(y, forKey: .y)
    try container.encode(zoom, forKey: .zoom)
  }
}
