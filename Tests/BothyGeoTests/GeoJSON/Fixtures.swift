import BothyGeo
import Foundation

/// Real documents beside the checkout, in `../shared/fixtures`, or in `BOTHY_FIXTURES`. The tests cover everything
/// without them too.
enum Fixtures {
  static let folder: String? = {
    if let folder = ProcessInfo.processInfo.environment["BOTHY_FIXTURES"] { return folder }
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let folder = root.appending(path: "../shared/fixtures").standardized.path
    return FileManager.default.fileExists(atPath: folder) ? folder : nil
  }()

  /// Returns the bytes of a file below the folder, or `nil` with a note if the folder doesn't exist.
  static func data(_ path: String) throws -> Data? {
    guard let folder else {
      print(
        "There are no fixtures beside the checkout, and BOTHY_FIXTURES is not set: \(path) is not looked at.")
      return nil
    }
    return try Data(contentsOf: URL(fileURLWithPath: folder).appending(path: path))
  }

  /// Returns the names of the files of a subfolder, or none if the folder doesn't exist.
  static func names(_ path: String) throws -> [String] {
    guard let folder else {
      print(
        "There are no fixtures beside the checkout, and BOTHY_FIXTURES is not set: \(path) is not looked at.")
      return []
    }
    return try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(path)").sorted()
  }

  /// Returns the real tiles of towns with all features, or none if the folder doesn't exist.
  static func townTiles() throws -> [(tile: Tile, data: Data)] {
    var found: [(Tile, Data)] = []
    for name in try names("soundscape-tiles") where name.hasSuffix(".json") {
      let numbers = name.dropLast(5).split(separator: "_").compactMap { Int($0) }
      guard numbers.count == 3, let data = try data("soundscape-tiles/\(name)") else { continue }
      found.append((try Tile(x: numbers[1], y: numbers[2], zoom: numbers[0]), data))
    }
    return found
  }

  /// Returns the nine real tiles of a walk, which have only places, or none if the folder doesn't exist.
  static func walkTiles() throws -> [(tile: Tile, data: Data)] {
    var found: [(Tile, Data)] = []
    for name in try names("grid3x3") where name.hasSuffix(".json") && !name.hasPrefix("merged") {
      guard let data = try data("grid3x3/\(name)") else { continue }
      found.append((try Tile(quadkey: String(name.dropLast(5))), data))
    }
    return found
  }

  /// Returns all of these tiles, each once.
  static func placeTiles() throws -> [(tile: Tile, data: Data)] {
    let towns = try townTiles()
    let known = Set(towns.map(\.tile))
    return towns + (try walkTiles().filter { !known.contains($0.tile) })
  }
}
