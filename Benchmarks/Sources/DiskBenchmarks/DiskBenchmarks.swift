import Bars
import Foundation

/// `scripts/bench-disk`: what the cache's memory and its stores on disk cost, beside what the machine needs for the
/// bare work, in the same run.
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
    // The shape of the store is no promise, so it is measured only when asked for.
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
  /// How many entries hits are read of.
  var entries = 4000
  /// How many short rounds take turns; figures are the rounds' median.
  var rounds = 60
  /// How large the store is that is filled in batches and opened.
  var megabytes = 1024
  /// After how many operations the cost of one is compared with that in the beginning.
  var operations = 1_000_000
  var only: String?

  static let parts = ["memory", "hits", "gigabyte", "linear", "shape"]
  static var numbers: [String: WritableKeyPath<Options, Int>] {
    [
      "--entries": \.entries, "--rounds": \.rounds, "--megabytes": \.megabytes,
      "--operations": \.operations,
    ]
  }

  mutating func quicken() { (rounds, megabytes, operations) = (20, 64, 50_000) }
}
