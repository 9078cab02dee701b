import BothyStore

/// The numbering and naming of tiles by a provider. Everything else in this library uses `xyz`.
package enum TileScheme: Sendable {
  /// The path `zoom/x/y`, with rows from the north.
  case xyz
  /// The path `zoom/x/y`, with rows from the south (OSGeo Tile Map Service). MBTiles uses these rows too.
  case tms
  /// The quadkey.
  case quadkey
  /// The folders of TileCache: the zoom with two digits, then column and southern row with nine digits in groups of
  /// three.
  case tileCache
  /// The result of a closure for the tile.
  case custom(@Sendable (Tile) -> String)

  /// Returns the path of a tile, without an extension.
  package func path(of tile: Tile) -> String {
    switch self {
    case .xyz: "\(tile)"
    case .tms: "\(tile.zoom)/\(tile.x)/\(tile.southernRow)"
    case .quadkey: tile.quadkey
    case .tileCache:
      "\(tile.zoom.padded(to: 2))/\(Self.groups(tile.x))/\(Self.groups(tile.southernRow))"
    case .custom(let name): name(tile)
    }
  }

  private static func groups(_ number: Int) -> String {
    [number / 1_000_000, number / 1000 % 1000, number % 1000].map { $0.padded(to: 3) }.joined(separator: "/")
  }
}

extension Tile {
  /// The row counted from the south, as in TMS and MBTiles.
  package var southernRow: Int { 1 << zoom - 1 - y }

  /// Creates the tile with a row counted from the south. Throws `BothyError` `invalidTile` if the tile doesn't exist.
  package init(x: Int, southernRow: Int, zoom: Int) throws(BothyError) {
    let side = try Self.side(zoom)
    guard southernRow >= 0, southernRow < side else {
      throw BothyError(
        .invalidTile, "The row \(southernRow) does not exist at zoom \(zoom): rows go from 0 to \(side - 1).")
    }
    try self.init(x: x, y: side - 1 - southernRow, zoom: zoom)
  }

  /// The edges in metres of the projection (EPSG:3857) for a WMS request: west, south, east, north.
  package var projectedBounds: (west: Double, south: Double, east: Double, north: Double) {
    let half = Double.pi * Mercator.earthRadius
    let edge = 2 * half / Double(1 << zoom)
    return (
      Double(x) * edge - half, half - Double(y + 1) * edge, Double(x + 1) * edge - half,
      half - Double(y) * edge
    )
  }
}
