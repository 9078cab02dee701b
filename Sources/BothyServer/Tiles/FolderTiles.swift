import BothyGeo
import BothyStore
import Foundation

/// Tiles as single files: `16/18109/23965.json`, `16_18109_23965.json`, or by quadkey `0302231230133303.json`.
///
/// A tile is found by its possible names. So serving a tile lists no folder, new files are served at once, and no
/// address can lead out of the folder.
struct FolderTiles: ServedTiles {
  let path: String
  let surveys: FolderSurveys

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
    let top = contents(of: path, at: .top) { Tile(filePath: $0) }
    var survey = TileSurvey()
    for zoom in top.numbers where Tile.zooms.contains(zoom) {
      for x in contents(of: "\(path)/\(zoom)", at: .zoom, { _ in nil }).numbers {
        let column = contents(of: "\(path)/\(zoom)/\(x)", at: .column) { name in
          // Other numbers aren't a tile's file.
          Self.number(Self.parts(name).stem).flatMap { y in try? Tile(x: x, y: y, zoom: zoom) }
        }
        survey.add(column.survey)
      }
    }
    survey.add(top.survey)
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

  /// Returns the contents of a folder, whose files are tiles if `tile` says so.
  private func contents(
    of path: String, at level: FolderLevel, _ tile: (String) -> Tile?
  ) -> FolderContents {
    surveys.contents(of: path, at: level) { names in
      var found = FolderContents()
      for name in names {
        if let number = Self.number(name) {
          found.numbers.append(number)
        } else if let format = Self.parts(name).format, let tile = tile(name) {
          found.survey.add(TileSurvey(tile, format))
        }
      }
      return found
    }
  }

  /// Returns the names in a folder, or none if the folder can't be listed.
  static func contents(_ path: String) -> [String] { listing(path) ?? [] }

  /// Returns the names in a folder, or `nil` if the folder can't be listed.
  static func listing(_ path: String) -> [String]? {
    (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted()
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
}
