import Bars
import BothyGeo
import Foundation

/// Opening a PMTiles file of a million small tiles, and reading tiles of it. Its directories have two levels.
///
/// The file stays in the system's disk cache. A file of ten thousand tiles alternates with it.
struct OpeningRun {
  private struct Archive {
    let path: String
    /// The number of tiles along an edge.
    let side: Int

    var count: Int { side * side }

    func tile(_ number: Int) throws -> Tile { try Tile(x: number % side, y: number / side, zoom: 10) }

    func content(_ number: Int) -> Data { Noise.bytes(number, size: 32 + number % 32) }
  }

  /// The number of tiles that one round reads.
  private static let perRound = 200
  private let options: Options
  private let large: Archive
  private let small: Archive

  init(_ folder: String, _ options: Options) throws {
    self.options = options
    large = Archive(path: folder + "/large.pmtiles", side: 1000)
    small = Archive(path: folder + "/small.pmtiles", side: 100)
    let program = try ArchiveProgram(options)
    for archive in [large, small] {
      let spent = try seconds {
        try program.write(archive.count, to: archive.path, as: "pmtiles", named: "Many") { number in
          (tile: try archive.tile(number), body: archive.content(number))
        }
      }
      print(
        "writing a PMTiles file of \(archive.count) tiles, with the start of its program: \((spent / Double(archive.count) * 1e6).short) us each"
      )
    }
  }

  func bars() async throws -> [Bar] {
    // Each opening has an object of its own, so that nothing of an earlier one is in memory.
    var openings: [[Double]] = [[], []]
    var firsts: [Double] = []
    for round in 0...options.rounds * 5 {
      for which in [round % 2, 1 - round % 2] {
        let archive = which == 0 ? large : small
        let number = round &* 7919 % archive.count
        let start = ContinuousClock.now
        let opened = try await TileArchives.open(path: archive.path)
        let spent = start.duration(to: .now) / .milliseconds(1)
        guard try await opened.data(of: try archive.tile(number)) == archive.content(number) else {
          throw BenchmarkError("\(archive.path) has other tiles")
        }
        // The first round is for one-time work.
        guard round > 0 else { continue }
        openings[which].append(spent)
        if which == 0 { firsts.append(start.duration(to: .now) / .milliseconds(1)) }
      }
    }
    print("opening \(large.count) tiles: \(openings[0].spread) ms; with the first tile: \(firsts.spread) ms")
    try await reads()
    let ratios = zip(openings[0], openings[1]).map { $0 / $1 }
    return [
      Bar(
        claim: "PMTiles: opening \(large.count) tiles", measured: openings[0].median ?? 0, limit: 10,
        unit: "ms"),
      Bar(
        claim: "PMTiles: opening \(large.count) tiles / \(small.count)", measured: ratios.median ?? 0,
        limit: 2),
    ]
  }

  /// Reads random tiles of the whole map and of a neighbourhood, beside a bare read of as many bytes.
  private func reads() async throws {
    let opened = try await TileArchives.open(path: large.path)
    let file = open(large.path, O_RDONLY)
    guard file >= 0 else { throw BenchmarkError("\(large.path) cannot be opened") }
    defer { close(file) }
    let size = try FileManager.default.attributesOfItem(atPath: large.path)[.size] as? Int ?? 0
    var chance: UInt64 = 1
    func random(below limit: Int) -> Int {
      chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(chance >> 33) % limit
    }
    var times: [[Double]] = [[], [], []]
    var ratios: [[Double]] = [[], []]
    for round in 0...options.rounds {
      let anywhere = (0..<Self.perRound).map { _ in random(below: large.count) }
      let corner = random(below: large.side - 32) * large.side + random(below: large.side - 32)
      let near = (0..<Self.perRound).map { _ in corner + random(below: 32) * large.side + random(below: 32) }
      let offsets = (0..<Self.perRound).map { _ in random(below: size - 64) }
      let spent = [
        try await time(anywhere, of: opened), try await time(near, of: opened), try bare(offsets, file),
      ]
      guard round > 0 else { continue }
      for which in 0..<3 { times[which].append(spent[which] / Double(Self.perRound) * 1e6) }
      for which in 0..<2 { ratios[which].append(spent[which] / spent[2]) }
    }
    for (name, which) in [("anywhere", 0), ("in a neighbourhood", 1)] {
      print("reading tiles \(name): \(times[which].spread) us each, \(ratios[which].spread) of a bare read")
    }
    print("a bare read: \(times[2].spread) us")
  }

  /// Returns the seconds that reads of tiles take. Compares their bytes afterwards.
  private func time(_ numbers: [Int], of archive: any TileArchive) async throws -> Double {
    let tiles = try numbers.map(large.tile)
    var found: [Data?] = []
    found.reserveCapacity(tiles.count)
    let start = ContinuousClock.now
    for tile in tiles { found.append(try await archive.data(of: tile)) }
    let spent = start.duration(to: .now) / .seconds(1)
    guard found == numbers.map(large.content) else { throw BenchmarkError("other tiles were read") }
    return spent
  }

  private func bare(_ offsets: [Int], _ file: Int32) throws -> Double {
    var bytes = [UInt8](repeating: 0, count: 48)
    return try seconds {
      for offset in offsets {
        guard pread(file, &bytes, bytes.count, off_t(offset)) == bytes.count else {
          throw BenchmarkError("\(large.path) cannot be read")
        }
      }
    }
  }
}
