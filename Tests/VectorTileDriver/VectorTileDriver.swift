import BothyGeo
import Foundation

/// Decodes vector tiles in rounds, for `scripts/bench-geo`. `Benchmarks/Beside/vtzero.cpp` does the same with vtzero.
///
///     VectorTileDriver FILE
///
/// FILE has the tiles, each behind its length in four bytes, the lowest first. A line of the standard input is a number of
/// passes over all tiles. The answer is the seconds of the passes, then the sums of one pass: features, positions,
/// coordinates, properties, bytes of text.
@main
struct VectorTileDriver {
  static func main() {
    do {
      guard CommandLine.arguments.count == 2 else {
        throw Failure("see the comment at the top of VectorTileDriver.swift")
      }
      let tiles = try read(CommandLine.arguments[1])
      var sums = Sums()
      for tile in tiles { try sums.add(try VectorTile(decoding: tile)) }
      while let line = readLine() {
        guard let passes = Int(line) else { throw Failure("the request \(line) is no number") }
        var layers = 0
        let start = ContinuousClock.now
        for _ in 0..<passes {
          for tile in tiles { layers += try VectorTile(decoding: tile).layers.count }
        }
        let spent = start.duration(to: .now) / .seconds(1)
        guard layers > 0 else { throw Failure("the tiles have no layers") }
        FileHandle.standardOutput.write(Data("\(spent) \(sums.line)\n".utf8))
      }
    } catch {
      FileHandle.standardError.write(Data("VectorTileDriver: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func read(_ path: String) throws -> [[UInt8]] {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var tiles: [[UInt8]] = []
    var place = 0
    while place + 4 <= bytes.count {
      let length = (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
      guard length <= bytes.count - place - 4 else { throw Failure("\(path) ends within a tile") }
      tiles.append(Array(bytes[place + 4..<place + 4 + length]))
      place += 4 + length
    }
    return tiles
  }
}

struct Failure: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// The sums over all features of tiles. Another decoder that did the same work has equal ones.
struct Sums {
  private var features = 0
  private var positions = 0
  private var coordinates: Int64 = 0
  private var properties = 0
  private var text = 0

  var line: String { "\(features) \(positions) \(coordinates) \(properties) \(text)" }

  mutating func add(_ tile: VectorTile) throws {
    if let problem = tile.problems.first { throw Failure("a feature was left out: \(problem.reason)") }
    for layer in tile.layers {
      features += layer.features.count
      for feature in layer.features {
        let points = feature.shape?.points ?? []
        positions += points.count
        for point in points { coordinates += point.x + point.y }
        for (key, value) in layer.properties(of: feature) {
          properties += 1
          text += key.utf8.count
          if case .string(let string) = value { text += string.utf8.count }
        }
      }
    }
  }
}
