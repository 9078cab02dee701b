import Bars
import Foundation

/// `scripts/bench-geo`: what a large tile costs to read, how fast tiles become places, and how long the nearest of a
/// million take, beside SpatiaLite with the same ones.
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
    if options.only ?? "decode" == "decode" { bars += try DecodeRun(options).bars() }
    if options.only ?? "places" == "places" { bars += try PlacesRun(folder.path, options).bars() }
    printLoad("after")
    print()
    Bar.print(bars)
    return bars
  }
}

/// The arguments of `scripts/bench-geo`.
struct Options {
  var places = 1_000_000
  /// How many positions are asked about.
  var questions = 2000
  /// How often the large tile is read.
  var rounds = 15
  var only: String?

  init(_ arguments: some Sequence<String>) throws {
    var iterator = arguments.makeIterator()
    while let argument = iterator.next() {
      switch argument {
      case "--quick":
        places = 100_000
        questions = 500
        rounds = 5
      case "--only": only = iterator.next()
      case "--places": places = try Self.number(iterator.next(), argument)
      case "--questions": questions = try Self.number(iterator.next(), argument)
      case "--rounds": rounds = try Self.number(iterator.next(), argument)
      default: throw BenchmarkError("unknown argument \(argument)")
      }
    }
    if let only, !["decode", "places"].contains(only) { throw BenchmarkError("there is no part \(only)") }
  }

  private static func number(_ text: String?, _ argument: String) throws -> Int {
    guard let number = text.flatMap(Int.init), number > 0 else {
      throw BenchmarkError("\(argument) needs a positive number")
    }
    return number
  }
}
