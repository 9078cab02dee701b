import BothyGeo

/// The address of a tile: zoom, column, and row with or without an extension.
struct TileAddress {
  var tile: Tile
  /// The format of the extension, or `nil` without one.
  var format: TileFormat?

  /// Parses the names of a path. Throws `HTTPFailure` 400 if they aren't a tile.
  init(_ names: [String: String]) throws {
    let row = names["y"] ?? ""
    let parts = row.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let zoom = FolderTiles.number(names["z"] ?? ""), let x = FolderTiles.number(names["x"] ?? ""),
      let y = FolderTiles.number(parts[0])
    else {
      throw HTTPFailure.badRequest(
        "A tile's address ends in zoom, column and row: /16/18109/23965.json.", code: "invalidTile")
    }
    do { tile = try Tile(x: x, y: y, zoom: zoom) } catch {
      throw HTTPFailure.badRequest(error.message, code: "invalidTile")
    }
    guard parts.count > 1 else { return }
    guard let format = TileFormat(name: parts[1]) else {
      let known = TileFormat.allCases.map { "." + $0.ending }.joined(separator: ", ")
      throw HTTPFailure.badRequest("The server has no tiles that end in .\(parts[1]). There are \(known).")
    }
    self.format = format
  }
}
