import Bars
import BothyPacks
import BothyStore
import Foundation

/// Builds of a pack: from rows in memory, and by the tool from CSV.
struct BuildRun {
  private let folder: String
  private let options: Options

  init(_ folder: String, _ options: Options) {
    self.folder = folder
    self.options = options
  }

  func bars() throws -> [Bar] {
    let times = Year.times
    let split = try (0..<options.rounds).map { _ in
      try seconds { try build("split", times, ["PrayerTime": "city"]) }
    }
    let whole = try (0..<options.rounds).map { _ in try seconds { try build("whole", times, [:]) } }
    var bars = [
      Bar(
        claim: "\(times.count) rows into 12 shards and an index", measured: split.median ?? .infinity,
        limit: 2, unit: "s"),
      Bar(
        claim: "\(times.count) rows into one file", measured: whole.median ?? .infinity, limit: 2, unit: "s"),
    ]
    if let tool = options.tool {
      try Data(Year.csv.utf8).write(to: URL(filePath: folder + "/PrayerTime.csv"))
      let runs = try (0..<options.rounds).map { _ in try seconds { try run(tool) } }
      bars.append(
        Bar(
          claim: "`bothy pack build` of the same as CSV", measured: runs.median ?? .infinity, limit: 2,
          unit: "s"))
    }
    return bars
  }

  private func build(_ name: String, _ times: [PrayerTime], _ shardBy: [String: String]) throws {
    let builder = PackBuilder(
      name: "times", version: "1", schema: StoreSchema(PrayerTime.self), shardBy: shardBy)
    try builder.build(at: URL(filePath: folder + "/" + name)) { pack in
      for time in times { try pack.add(time) }
    }
  }

  private func run(_ tool: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: tool)
    process.arguments = [
      "pack", "build", folder + "/tool", folder + "/PrayerTime.csv", "--shard-by", "city", "--index", "day",
    ]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkError("bothy pack build failed") }
  }
}
