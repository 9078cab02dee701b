import Bars
import Foundation

/// `scripts/bench`: runs the contenders and prints ratios, each with its limit.
@main
struct Benchmarks {
  static func main() async {
    do {
      if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "--serve" {
        return try await ServerProcess.serve(CommandLine.arguments[2])
      }
      let options = try Options(CommandLine.arguments.dropFirst())
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bothy-bench-\(getpid())")
        .path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { removeFolder(folder) }
      let missed = try await run(options, in: folder)
      if missed > 0 && options.isStrict { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func run(_ options: Options, in folder: String) async throws -> Int {
    var bars: [Bar] = []
    if options.has("memory") {
      // This run comes first, because the system reports the peak of the process's whole life.
      bars.append(try await MemoryRun(rows: options.memoryRows, folder: folder).bar())
    }
    if options.has("store") {
      print(
        """
        \(options.rows) rows, median of \(options.repetitions) interleaved repetitions on fresh files.
        The same for all: write-ahead log, synchronous = FULL, 8 MB page cache for a connection, UUIDv7 text ids,
        dates as integer milliseconds (GRDB: its own text), STRICT tables. C and Swift are hand-written on kept statements with one
        connection; Bothy and GRDB run with a writer and a pool of readers, Bothy tells other processes too.
        Times divided by C's:

        """)
      var run = StoreRun(
        options.contenders, rows: options.rows, repetitions: options.repetitions, folder: folder)
      try run.run()
      run.printTable(floor: options.contenders.contains(.c) ? .c : options.contenders[0])
      print()
      bars += run.bars
    }
    if options.hasCurve || options.only == "curve" { try curve(options, in: folder) }
    if options.has("sync") {
      bars += try await SyncRun(rows: options.rows, repetitions: options.repetitions, folder: folder).bars()
    }
    if options.has("observers") {
      let ratio = try await ObserverRun(folder: folder, repetitions: options.repetitions).ratio(
        observers: 100)
      bars.append(Bar(claim: "one write: with 100 observers / with none", measured: ratio, limit: 3))
    }
    if options.has("questions") {
      bars += try QuestionRun(rows: options.rows, repetitions: options.repetitions, folder: folder).bars()
    }
    Bar.print(bars)
    return bars.count { !$0.holds }
  }

  /// Prints the ratio of Bothy to hand-written Swift at sizes from 10^3 to 10^6 rows. A rising ratio is a cost that
  /// grows faster than SQLite's own.
  private static func curve(_ options: Options, in folder: String) throws {
    var runs: [StoreRun] = []
    for rows in [1000, 10_000, 100_000, 1_000_000] where rows <= options.curveLimit {
      let repetitions = rows < 100_000 ? max(5, options.repetitions) : max(1, min(3, options.repetitions))
      var run = StoreRun([.c, .swift, .local, .synced], rows: rows, repetitions: repetitions, folder: folder)
      try run.run()
      runs.append(run)
    }
    for (contender, floor) in [(Contender.local, Contender.swift), (.synced, .c)] {
      print("\(contender.rawValue) / \(floor.rawValue) by number of rows:\n")
      let width = Workload.allCases.map(\.rawValue.count).max() ?? 0
      print("".padded(width), runs.map { "\($0.data.items.count)".leftPadded(9) }.joined())
      for workload in Workload.allCases {
        let cells = runs.map { ($0.ratio(workload, contender, to: floor)?.short ?? "-").leftPadded(9) }
        print(workload.rawValue.padded(width), cells.joined())
      }
      print()
    }
  }

  private static func removeFolder(_ folder: String) {
    try? FileManager.default.removeItem(atPath: folder)  // the system cleans it up on failure
  }
}

/// The arguments of `scripts/bench`.
struct Options: BenchmarkOptions {
  var rows = 100_000
  var repetitions = 5
  var curveLimit = 1_000_000
  var memoryRows = 1_000_000
  var only: String?
  var hasCurve = false
  var isStrict = false
  var contenders = Contender.allCases

  static let parts = ["store", "observers", "questions", "sync", "memory", "curve"]
  static var numbers: [String: WritableKeyPath<Options, Int>] {
    ["--rows": \.rows, "--repetitions": \.repetitions, "--curve-limit": \.curveLimit]
  }

  mutating func quicken() {
    (rows, repetitions) = (20_000, 3)
    (curveLimit, memoryRows) = (10_000, 100_000)
  }

  mutating func take(_ argument: String, _ value: () throws -> String) throws -> Bool {
    switch argument {
    case "--curve": hasCurve = true
    case "--strict": isStrict = true
    case "--contender":
      let name = try value()
      contenders = Contender.allCases.filter { "\($0)" == name }
      if contenders.isEmpty { throw BenchmarkError("there is no contender \(name)") }
    default: return false
    }
    return true
  }
}
