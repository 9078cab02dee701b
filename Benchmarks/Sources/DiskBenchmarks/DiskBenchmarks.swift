import Bars
import Foundation

/// `scripts/bench-disk`: the cost of the cache's memory and of its stores on disk, and the machine's time for the bare
/// work in the same run.
@main
struct DiskBenchmarks {
  private static func run(_ options: Options) async throws -> [Bar] {
    let folder = try RunFolder("bothy-disk")
    defer { folder.remove() }
    var bars: [Bar] = []
    printLoad("before")
    if options.has("memory") { bars += try await MemoryRun(options).bars() }
    if options.has("hits") { bars += try HitRun(folder.path, options).bars() }
    if options.has("gigabyte") { bars += try GigabyteRun(folder.path, options).bars() }
    if options.has("linear") { bars += try LinearRun(folder.path, options).bars() }
    if options.has("size") {
      bars += try await SizeRun(folder.path, options).bars()
      bars += try await RefreshRun(folder.path, options).bars()
    }
    if options.has("archives") {
      bars += try await OpeningRun(folder.path, options).bars()
      var run = try ImportRun(folder.path, options)
      bars += try await run.bars()
    }
    // An earlier version is beside this one only if the script has built it.
    if options.has("beside", isOffered: false) { bars += try BesideRun(folder.path, options).bars() }
    // The shape of the store isn't a promise, so it is measured only on request.
    if options.has("shape", isOffered: false) { try ShapeRun(folder.path, options).table() }
    printLoad("after")
    print()
    Bar.print(bars)
    return bars
  }

  static func main() async {
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      let bars = try await run(options)
      exit(bars.allSatisfy(\.holds) ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("bench-disk: \(error)\n".utf8))
      exit(2)
    }
  }
}

/// The arguments of `scripts/bench-disk`.
struct Options: BenchmarkOptions {
  /// The number of entries that hits are read from.
  var entries = 4000
  /// The number of short alternating rounds. Figures are the rounds' median.
  var rounds = 60
  /// The size of the store that is filled in batches and opened.
  var megabytes = 1024
  /// The number of operations after which the cost of one is compared with that at the beginning.
  var operations = 1_000_000
  /// The number of raster tiles of the region whose size is measured, and of the archives that are imported. The region
  /// that is refreshed has as many at least.
  var tiles = 20_000
  /// A PMTiles archive whose tiles are stored too.
  var archive: String?
  /// The program that writes archives of tiles.
  var tilesDriver: String?
  /// The drivers of this version and of an earlier one.
  var now: String?
  var then: String?
  var only: String?

  static let parts = ["memory", "hits", "gigabyte", "linear", "size", "archives", "beside", "shape"]
  static var numbers: [String: WritableKeyPath<Options, Int>] {
    [
      "--entries": \.entries, "--rounds": \.rounds, "--megabytes": \.megabytes,
      "--operations": \.operations, "--tiles": \.tiles,
    ]
  }

  mutating func take(_ argument: String, _ value: () throws -> String) throws -> Bool {
    switch argument {
    case "--archive": archive = try value()
    case "--tiles-driver": tilesDriver = try value()
    case "--now": now = try value()
    case "--then": then = try value()
    default: return false
    }
    return true
  }

  mutating func quicken() { (rounds, megabytes, operations, tiles) = (20, 64, 50_000, 4000) }
}
