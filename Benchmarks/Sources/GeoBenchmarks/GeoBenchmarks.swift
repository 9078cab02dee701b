import Bars
import Foundation

/// `scripts/bench-geo`: what a large tile costs to read, how fast tiles become places, and how long the nearest of a
/// million take, beside SpatiaLite with the same ones; of places, and of records of a type of one's own.
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
  /// How many positions are asked about.
  var questions = 2000
  /// How often the large tile is read.
  var rounds = 15
  var only: String?

  static let parts = ["decode", "places", "entities"]
  static var numbers: [String: WritableKeyPath<Options, Int>] {
    ["--places": \.places, "--questions": \.questions, "--rounds": \.rounds]
  }

  mutating func quicken() { (places, questions, rounds) = (100_000, 500, 5) }
}
