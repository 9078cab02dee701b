import Bars
import BothyPacks
import BothyStore
import Foundation

/// `scripts/bench-packs`: the cost of a year of prayer times in twelve cities, to build, to look up by id and to query
/// a day.
///
/// The pack is split by city or in one file. The floor is a bare prepared statement of SQLite on that file.
@main
struct PackBenchmarks {
  static func main() {
    do {
      let bars = try run(Options(CommandLine.arguments.dropFirst()))
      exit(bars.allSatisfy(\.holds) ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("bench-packs: \(error)\n".utf8))
      exit(2)
    }
  }

  private static func run(_ options: Options) throws -> [Bar] {
    let folder = try RunFolder("bothy-packs")
    defer { folder.remove() }
    printLoad("before")
    var bars: [Bar] = []
    if options.has("build") { bars += try BuildRun(folder.path, options).bars() }
    if options.has("reads") { bars += try LookUpRun(folder.path, options).bars() }
    printLoad("after")
    print()
    Bar.print(bars)
    return bars
  }
}

/// The arguments of `scripts/bench-packs`.
struct Options: BenchmarkOptions {
  var lookUps = 20_000
  var rounds = 5
  var only: String?
  /// The path of a release build of the tool, whose `pack build` is timed too.
  var tool: String?

  static let parts = ["build", "reads"]
  static var numbers: [String: WritableKeyPath<Options, Int>] {
    ["--look-ups": \.lookUps, "--rounds": \.rounds]
  }

  mutating func quicken() { (lookUps, rounds) = (5000, 3) }

  mutating func take(_ argument: String, _ value: () throws -> String) throws -> Bool {
    guard argument == "--bothy" else { return false }
    tool = try value()
    return true
  }
}
