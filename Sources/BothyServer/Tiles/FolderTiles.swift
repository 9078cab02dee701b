import BothyGeo
import BothyStore
import Foundation

/// Tiles as single files: `16/18109/23965.json`, `16_18109_23965.json`, or by quadkey `0302231230133303.json`.
///
/// A tile is found by its possible names. So serving a tile lists no folder, new files are served at once, and no
/// address can lead out of the folder.
struct FolderTiles: ServedTiles {
  let path: String

  /// Returns the possible files of a tile, in the order in which they are tried.
  private func names(of tile: Tile) -> [String] {
    let (z, x, y) = (tile.zoom, tile.x, tile.y)
    return ["\(z)/\(x)/\(y)", "\(z)_\(x)_\(y)"] + (z > 0 ? [tile.quadkey] : [])
  }

  func locate(_ tile: Tile, as format: TileFormat?) -> TilePlace? {
    for format in format.map({ [$0] }) ?? TileFormat.allCases {
      for name in names(of: tile) {
        for ending in format.endings {
          let file = "\(path)/\(name).\(ending)"
          if let stamp = FileVersion(path: file) {
            return TilePlace(file: file, stamp: stamp, format: format)
          }
        }
      }
    }
    return nil
  }

  func read(_ tile: Tile, at place: TilePlace) async throws -> StoredTile? {
    // A file deleted since it was found counts as missing.
    guard let data = FileManager.default.contents(atPath: place.file) else { return nil }
    return StoredTile(
      data: data, format: place.format, packing: StoredTile.isGzip(data) ? .gzip : .none,
      stamp: FileVersion(path: place.file))
  }

  func summary() async throws -> TileSummary? {
    var survey = Survey()
    for name in Self.contents(path) {
      if let zoom = Self.number(name), Tile.zooms.contains(zoom) {
        visit(zoom: zoom, &survey)
      } else {
        survey.note(name: name)
      }
    }
    guard let zooms = survey.zooms, let format = survey.format else { return nil }
    let notes = notes()
    return TileSummary(
      name: notes["name"]?.stringValue, attribution: notes["attribution"]?.stringValue,
      about: notes["description"]?.stringValue, format: format, zooms: zooms, bounds: survey.bounds)
  }

  /// Returns the description of the tiles from a file `tiles.json` or `metadata.json` beside them.
  private func notes() -> JSONValue {
    for name in ["tiles.json", "metadata.json"] {
      // A file that isn't JSON is ignored.
      if let data = FileManager.default.contents(atPath: "\(path)/\(name)"),
        let notes = try? JSONValue(parsing: data)
      {
        return notes
      }
    }
    return [:]
  }

  /// Surveys the files of `zoom/column/row.ending`.
  private func visit(zoom: Int, _ survey: inout Survey) {
    for column in Self.contents("\(path)/\(zoom)") {
      guard let x = Self.number(column) else { continue }
      for file in Self.contents("\(path)/\(zoom)/\(column)") {
        let parts = Self.parts(file)
        guard let y = Self.number(parts.stem), let format = parts.format,
          let tile = try? Tile(x: x, y: y, zoom: zoom)  // other numbers aren't a tile's file
        else { continue }
        survey.note(tile, format)
      }
    }
  }

  /// Returns the names in a folder, or none if the folder doesn't exist.
  static func contents(_ path: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? []
  }

  private static func parts(_ name: String) -> (stem: Substring, format: TileFormat?) {
    guard let dot = name.lastIndex(of: ".") else { return (name[...], nil) }
    return (name[..<dot], TileFormat(name: name[name.index(after: dot)...]))
  }

  /// Returns a number in the form that addresses have: only digits, without leading zeros.
  static func number(_ text: some StringProtocol) -> Int? {
    guard let number = Int(text), String(number) == text, number >= 0 else { return nil }
    return number
  }

  /// The facts that the names of all files yield together.
  private struct Survey {
    private(set) var format: TileFormat?
    private(set) var zooms: ZoomRange?
    /// The bounds of the tiles of the highest zoom. Tiles of lower zooms reach beyond the content.
    private(set) var bounds = TileArchiveInfo.wholeMap

    mutating func note(_ tile: Tile, _ format: TileFormat) {
      self.format = self.format ?? format
      let box = tile.bounds
      guard let known = zooms else {
        bounds = box
        zooms = try? ZoomRange(tile.zoom, tile.zoom)  // a tile's zoom is valid
        return
      }
      if tile.zoom > known.highest {
        bounds = box
      } else if tile.zoom == known.highest {
        bounds = GeoBox(
          west: min(bounds.west, box.west), south: min(bounds.south, box.south),
          east: max(bounds.east, box.east), north: max(bounds.north, box.north))
      }
      zooms = try? ZoomRange(min(known.lowest, tile.zoom), max(known.highest, tile.zoom))  // both are valid
    }

    /// Adds a file whose name alone identifies its tile.
    mutating func note(name: String) {
      if let format = FolderTiles.parts(name).format, let tile = Tile(filePath: name) { note(tile, format) }
    }
  }
}
