import BothyGeo

/// A tile as an address names it: zoom, column, and row with or without an ending.
struct TileAddress {
  var tile: Tile
  /// What the ending says; nil without one.
  var format: TileFormat?

  /// Throws `ServerProblem` 400 for what names no tile.
  init(_ names: [String: String]) throws {
    let row = names["y"] ?? ""
    let parts = row.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let zoom = TileFolder.number(names["z"] ?? ""), let x = TileFolder.number(names["x"] ?? ""),
      let y = TileFolder.number(parts[0])
    else {
      throw ServerProblem.badRequest(
        "A tile's address ends in zoom, column and row: /16/18109/23965.json.", code: "invalidTile")
    }
    do { tile = try Tile(x: x, y: y, zoom: zoom) } catch {
      throw ServerProblem.badRequest(error.message, code: "invalidTile")
    }
    guard parts.count > 1 else { return }
    guard let format = TileFormat(name: parts[1]) else {
      let known = TileFormat.allCases.map { "." + $0.ending }.joined(separator: ", ")
      throw ServerProblem.badRequest("There are no tiles that end in .\(parts[1]). There are \(known).")
    }
    self.format = format
  }
}
