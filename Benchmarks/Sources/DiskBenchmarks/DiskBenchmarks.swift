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
    if options.has("shape") { try ShapeRun(folder.path, options).table() }
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
struct Options {
  /// How many entries hits are read of.
  var entries = 4000
  /// How many short rounds take turns; figures are the rounds' median.
  var rounds = 60
  /// How large the store is that is filled in batches and opened.
  var megabytes = 1024
  /// After how many operations the cost of one is compared with that in the beginning.
  var operations = 1_000_000
  var only: String?

  init(_ arguments: some Sequence<String>) throws {
    var iterator = arguments.makeIterator()
    while let argument = iterator.next() {
      switch argument {
      case "--quick":
        rounds = 20
        megabytes = 64
        operations = 50_000
      case "--only": only = iterator.next()
      case "--entries": entries = try Self.number(iterator.next(), argument)
      case "--rounds": rounds = try Self.number(iterator.next(), argument)
      case "--megabytes": megabytes = try Self.number(iterator.next(), argument)
      case "--operations": operations = try Self.number(iterator.next(), argument)
      default: throw BenchmarkError("unknown argument \(argument)")
      }
    }
    if let only, !["memory", "hits", "gigabyte", "linear", "shape"].contains(only) {
      throw BenchmarkError("there is no part \(only)")
    }
  }

  private static func number(_ text: String?, _ argument: String) throws -> Int {
    guard let number = text.flatMap(Int.init), number > 0 else {
      throw BenchmarkError("\(argument) needs a positive number")
    }
    return number
  }

  /// The shape of the store is no promise, so it is measured only when asked for.
  func has(_ part: String) -> Bool { only.map { $0 == part } ?? (part != "shape") }
}
