import Bars
import Foundation

/// `scripts/bench-geo`: the cost of a large tile, the time until tiles are places, and the time of the nearest of a
/// million.
///
/// vtzero runs with equal vector tiles beside it, and SpatiaLite with equal places. The nearest are measured for places
/// and for records of an app's own type.
@main
struct GeoBenchmarks {
  static func main() {
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      let bars = try run(options)
      exit(bars.allSatisfy(\.holds) ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("bench-geo: \(error)\n".utf8))
      exit(2)
    }
  }

  private static func run(_ options: Options) throws -> [Bar] {
    let folder = try RunFolder("bothy-geo")
    defer { folder.remove() }
    var bars: [Bar] = []
    printLoad("before")
    // Which decoder is better isn't a promise, so this part has no bars. The script builds the decoders.
    if options.has("vectors", isOffered: options.decoder != nil) {
      try VectorsRun(folder.path, options).table()
    }
    if options.has("decode") { bars += try DecodeRun(options).bars() }
    if options.has("places") { bars += try PlacesRun(folder.path, options).bars() }
    if options.has("entities") { bars += try EntitiesRun(folder.path, options).bars() }
    printLoad("after")
    print()
    Bar.print(bars)
    return bars
  }
}

/// The arguments of `scripts/bench-geo`.
struct Options: BenchmarkOptions {
  var places = 1_000_000
  /// The number of positions to search near.
  var questions = 2000
  /// The number of times that the large tile is read.
  var rounds = 15
  /// The programs that decode vector tiles: Bothy's, and one with vtzero.
  var decoder: String?
  var vtzero: String?
  var only: String?

  static let parts = ["vectors", "decode", "places", "entities"]
  static var numbers: [String: WritableKeyPath<Options, Int>] {
    ["--places": \.places, "--questions": \.questions, "--rounds": \.rounds]
  }

  mutating func take(_ argument: String, _ value: () throws -> String) throws -> Bool {
    switch argument {
    case "--decoder": decoder = try value()
    case "--vtzero": vtzero = try value()
    default: return false
    }
    return true
  }

  mutating func quicken() { (places, questions, rounds) = (100_000, 500, 5) }
}
