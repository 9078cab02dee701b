import Bars
import Foundation

/// Decoding vector tiles of a town by Bothy and by vtzero, each in a process of its own. They take turns.
///
/// Both read all of a tile: its layers, shapes as lists of positions, keys, values and references to them.
struct VectorsRun {
  private static let tiles = 100
  private let options: Options
  private let file: String

  init(_ folder: String, _ options: Options) throws {
    self.options = options
    file = folder + "/tiles.bin"
    var bytes = Data()
    for seed in 0..<Self.tiles {
      var town = VectorTown(seed: UInt64(seed))
      let tile = town.tile()
      // Its length in four bytes, the lowest first.
      bytes.append(contentsOf: (0..<4).map { UInt8(tile.count >> (8 * $0) & 0xFF) })
      bytes.append(contentsOf: tile)
    }
    try bytes.write(to: URL(fileURLWithPath: file))
    let size = Double(bytes.count) / 1e3 / Double(Self.tiles)
    print("vector tiles to read: \(Self.tiles) of \(size.short) KB")
  }

  func table() throws {
    guard let decoder = options.decoder else {
      throw BenchmarkError("this part is for scripts/bench-geo, which builds the decoders")
    }
    let ours = try RoundProgram(decoder, ["decode", file])
    defer { ours.end() }
    guard let path = options.vtzero else {
      let times = try (0...options.rounds).map { _ in try ours.round("1")[0] }
      print("Bothy: \(rates(Array(times.dropFirst())).spread) tiles a second")
      print("vtzero can't be had on this machine, so the decoder is measured alone")
      return
    }
    let theirs = try RoundProgram(path, [file])
    defer { theirs.end() }
    let duel = try Duel(ours, theirs, rounds: options.rounds * 4) { _ in "1" }
    for (name, which) in [("Bothy", 0), ("vtzero", 1)] {
      print("\(name): \(rates(duel.seconds(of: which)).spread) tiles a second")
    }
    print("reading vector tiles, Bothy's time / vtzero's: \(duel.ratios.spread)")
  }

  private func rates(_ times: [Double]) -> [Double] { times.map { Double(Self.tiles) / $0 } }
}
