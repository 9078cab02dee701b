import Bars
import Foundation

/// Hits and imports beside those of an earlier version. Each version has a process of its own, and they take turns.
struct BesideRun {
  /// The number of hits of one round: on disk, and in memory, where they take a hundredth of the time.
  private static let perRound = (disk: 500, memory: 20_000)
  private let options: Options
  private let folder: String
  private let archives: [(name: String, path: String)]

  init(_ folder: String, _ options: Options) throws {
    self.options = options
    self.folder = folder + "/beside"
    try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
    var archives = try Coast(options.tiles).write(in: self.folder, by: ArchiveProgram(options))
    if let path = options.archive {
      archives.append((name: URL(filePath: path).lastPathComponent, path: path))
    }
    self.archives = archives
  }

  func bars() throws -> [Bar] {
    guard let now = options.now, let then = options.then else {
      throw BenchmarkError("this part is for scripts/bench-disk --beside COMMIT")
    }
    let paths = archives.map(\.path)
    let programs = try [now, then].enumerated().map { place, path in
      try RoundProgram(path, ["\(folder)/\(place)", "\(options.entries)"] + paths)
    }
    defer { for program in programs { program.end() } }
    var bars = [
      try hits("hit in memory", programs, Self.perRound.memory, "memory"),
      try hits("hit of 15 KB, file store", programs, Self.perRound.disk, "hits files"),
      try hits("hit of 15 KB, SQLite store", programs, Self.perRound.disk, "hits database"),
    ]
    for (place, archive) in archives.enumerated() {
      for (name, kind) in [("file store", "files"), ("SQLite store", "database")] {
        bars.append(try importing("\(archive.name) into the \(name)", programs, "import \(kind) \(place)"))
      }
    }
    return bars
  }

  private func hits(
    _ name: String, _ programs: [RoundProgram], _ count: Int, _ request: String
  ) throws -> Bar {
    let duel = try Duel(programs[0], programs[1], rounds: options.rounds) {
      "\(request) \($0 * count) \(count)"
    }
    let times = (0..<2).map { which in duel.seconds(of: which).map { $0 / Double(count) * 1e6 } }
    print("\(name): now \(times[0].spread) us, then \(times[1].spread) us; now / then \(duel.ratios.spread)")
    return Bar(claim: "\(name): now / then", measured: duel.ratios.median ?? 0, limit: 1.05)
  }

  private func importing(_ name: String, _ programs: [RoundProgram], _ request: String) throws -> Bar {
    let duel = try Duel(programs[0], programs[1], rounds: max(3, options.rounds / 12)) { _ in request }
    let rates = (0..<2).map { which in duel.answers[which].map { $0[1] / $0[0] } }
    let ratios = duel.ratios.map { 1 / $0 }
    print(
      "importing \(name): now \(rates[0].spread) tiles a second, then \(rates[1].spread); now / then \(ratios.spread)"
    )
    return Bar(
      claim: "importing \(name), tiles a second: now / then", measured: ratios.median ?? 0, limit: 5,
      isMinimum: true)
  }
}
