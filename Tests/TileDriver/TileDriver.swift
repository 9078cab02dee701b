import BothyGeo
import Foundation

/// Decodes vector tiles and writes archives of tiles, for the benchmarks. They use public names alone, and these calls
/// have none.
///
///     TileDriver decode FILE             decodes the tiles in rounds; `Benchmarks/Beside/vtzero.cpp` does so with vtzero
///     TileDriver write KIND PATH NAME    writes an archive of PNG tiles, `mbtiles` or `pmtiles`, and prints their number
///
/// FILE has the tiles, each behind its length. A line of the standard input is a number of passes over all tiles. The
/// answer is the seconds of the passes, then the sums of one pass: features, positions, coordinates, properties, bytes of
/// text.
///
/// For an archive the standard input has the tiles, each behind its column, row, zoom and length. Numbers have four bytes,
/// the lowest first.
@main
struct TileDriver {
  static func main() async {
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      switch (arguments.first, arguments.count) {
      case ("decode", 2): try decode(arguments[1])
      case ("write", 4): try await write(kind: arguments[1], path: arguments[2], name: arguments[3])
      default: throw Failure("see the comment at the top of TileDriver.swift")
      }
    } catch {
      FileHandle.standardError.write(Data("TileDriver: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func decode(_ path: String) throws {
    let tiles = try read(path)
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
  }

  private static func read(_ path: String) throws -> [[UInt8]] {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? file.close() }  // nothing was written
    var frames = Frames(file)
    var tiles: [[UInt8]] = []
    while let length = try frames.number() { tiles.append(Array(try frames.rest(length))) }
    return tiles
  }

  /// Prints the number of tiles that the finished file has, so that the caller needn't count them.
  private static func write(kind: String, path: String, name: String) async throws {
    guard let container = TileArchiveInfo.Container(rawValue: kind) else {
      throw Failure("there is no kind \(kind)")
    }
    let writer = try TileArchives.writer(to: path, as: container)
    do {
      var frames = Frames(FileHandle.standardInput)
      while let x = try frames.number() {
        guard let y = try frames.number(), let zoom = try frames.number(), let length = try frames.number()
        else {
          throw Failure("the input ends within a tile")
        }
        try writer.add(try Tile(x: x, y: y, zoom: zoom), Data(try frames.rest(length)))
      }
      try writer.finish(TileArchiveInfo(container: container, name: name, tileFormat: "png"))
    } catch {
      try? writer.cancel()  // the first error is the one to report
      throw error
    }
    guard let count = try await TileArchives.open(path: path).counted().tileCount else {
      throw Failure("\(path) doesn't tell its number of tiles")
    }
    FileHandle.standardOutput.write(Data("\(count)\n".utf8))
  }
}

/// The frames of a file or of the standard input. Few large reads cost less than one for each frame.
struct Frames {
  private let file: FileHandle
  private var bytes: [UInt8] = []
  /// The place of the first byte that wasn't taken.
  private var place = 0

  init(_ file: FileHandle) { self.file = file }

  /// Returns a number of four bytes, the lowest first, or `nil` at the end.
  mutating func number() throws -> Int? {
    try take(4)?.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns the bytes of a tile.
  mutating func rest(_ length: Int) throws -> ArraySlice<UInt8> {
    guard let bytes = try take(length) else { throw Failure("the input ends within a tile") }
    return bytes
  }

  private mutating func take(_ count: Int) throws -> ArraySlice<UInt8>? {
    while bytes.count - place < count {
      guard let more = try file.read(upToCount: 1 << 20), !more.isEmpty else {
        guard place == bytes.count else { throw Failure("the input ends within a tile") }
        return nil
      }
      bytes.removeFirst(place)
      place = 0
      bytes += more
    }
    defer { place += count }
    return bytes[place..<place + count]
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
