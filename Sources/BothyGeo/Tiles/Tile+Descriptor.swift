package import BothyCore

extension Tile {
  /// Reads the description of a tile that older apps store: `{"X","Y","ZoomLevel","QuadKey","Id"}`. The quadkey and the
  /// id, which are equal, are optional.
  ///
  /// Throws `BothyError` if a number is missing, the tile doesn't exist, or the quadkey or id names another tile.
  package init(descriptor json: JSONValue) throws(BothyError) {
    guard let x = json["X"]?.intValue, let y = json["Y"]?.intValue, let zoom = json["ZoomLevel"]?.intValue
    else {
      throw BothyError(
        .invalidTile, "\(json.canonicalText) describes no tile: X, Y and ZoomLevel must be whole numbers.")
    }
    let tile = try Tile(
      x: Int(clamping: x), y: Int(clamping: y), zoom: Int(clamping: zoom))
    for name in ["QuadKey", "Id"] {
      guard let key = json[name], !key.isNull else { continue }
      guard key.stringValue == tile.quadkey else {
        throw BothyError(
          .invalidKey,
          "\(name) is \(key.canonicalText), but the tile \(tile) has the quadkey \"\(tile.quadkey)\".")
      }
    }
    self = tile
  }
}
