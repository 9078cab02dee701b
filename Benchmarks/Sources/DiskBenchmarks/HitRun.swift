import Bars
import BothyCache
import CDisk
import Foundation

/// Hits of 15 KB, checksum and freshness included. They are compared with an open, a read and a close, and with one
/// SELECT whose bytes are copied. All files are in the system's disk cache.
struct HitRun {
  private let options: Options
  private let bare: Floor
  private let files: any DiskCache.Store
  private let database: any DiskCache.Store
  private let order: [Int]

  init(_ folder: String, _ options: Options) throws {
    self.options = options
    let tiers = [
      DiskCache.folder(URL(filePath: folder + "/files")),
      .sqliteFile(in: URL(filePath: folder + "/database")),
    ]
    let limits = DiskCache.Limits(bytes: nil)
    bare = try Floor("\(folder)/tiledb", size: Tiles.size)
    try bare.fill(options.entries)
    let filled = try tiers.map { try $0.open(limits: limits) }
    for start in stride(from: 0, to: options.entries, by: 64) {
      let count = min(64, options.entries - start)
      let batch = (start..<start + count).map { (key: Tiles.key($0), entry: Tiles.entry($0)) }
      for store in filled { try store.store(batch) }
    }
    // Closing moves the log into the file, as any use does after a while.
    for store in filled { try store.close() }
    files = try tiers[0].open(limits: limits)
    database = try tiers[1].open(limits: limits)
    order = (0..<options.entries).map { $0 &* 7919 % options.entries }
  }

  func bars() throws -> [Bar] {
    let perRound = min(500, options.entries)
    var ratios: [[Double]] = [[], [], []]
    var times: [[Double]] = [[], [], [], []]
    var work: [[Double]] = [[], []]
    for round in 0..<options.rounds {
      let part = (0..<perRound).map { order[(round * perRound + $0) % order.count] }
      var marks = [processorSeconds()]
      let file = try seconds { for number in part { try bare.readFile(number) } }
      marks.append(processorSeconds())
      let ours = try seconds { for number in part { try hit(files, number) } }
      marks.append(processorSeconds())
      let row = try seconds { for number in part { try bare.readRow(number) } }
      marks.append(processorSeconds())
      let theirs = try seconds { for number in part { try hit(database, number) } }
      marks.append(processorSeconds())
      for which in 0..<2 {
        let place = which * 2
        work[which].append((marks[place + 2] - marks[place + 1]) / (marks[place + 1] - marks[place]))
      }
      ratios[0].append(ours / file)
      ratios[1].append(theirs / row)
      ratios[2].append(theirs / ours)
      for (place, time) in [file, ours, row, theirs].enumerated() {
        times[place].append(time / Double(perRound) * 1e6)
      }
    }
    for (name, time) in zip(["bare file", "file store", "bare row", "SQLite store"], times) {
      print("hit of 15 KB, \(name): \((time.median ?? 0).short) us")
    }
    print(
      "the same by processor time: file store \((work[0].median ?? 0).short), SQLite store",
      (work[1].median ?? 0).short)
    print("hit, SQLite store / file store: \((ratios[2].median ?? 0).short)")
    return [
      Bar(claim: "file store: hit / open, read, close", measured: ratios[0].median ?? 0, limit: 1.5),
      Bar(claim: "SQLite store: hit / SELECT and copy", measured: ratios[1].median ?? 0, limit: 2),
    ]
  }

  private func hit(_ store: some DiskCache.Store, _ number: Int) throws {
    guard let found = try store.entry(Tiles.key(number)), found.body.count == Tiles.size,
      found.metadata.validatedAt + Tiles.lifetime > Tiles.now
    else { throw BenchmarkError("tile \(number) is not there") }
  }
}
