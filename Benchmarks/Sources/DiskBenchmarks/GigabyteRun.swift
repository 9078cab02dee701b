import Bars
import BothyCache
import Foundation

/// A store of a gigabyte: the cost of a tile that is stored with others, and the time to open the store.
struct GigabyteRun {
  private let options: Options
  private let folder: String
  private let names = ["file store", "SQLite store"]

  init(_ folder: String, _ options: Options) {
    self.options = options
    self.folder = folder + "/gigabyte"
  }

  private func open(_ which: Int) throws -> any DiskCache.Store {
    let tier =
      which == 0
      ? DiskCache.folder(URL(filePath: folder + "/files"))
      : .sqliteFile(in: URL(filePath: folder + "/database"))
    return try tier.open(limits: DiskCache.Limits(bytes: nil))
  }

  func bars() throws -> [Bar] {
    let count = options.megabytes << 20 / Tiles.size
    let batches = try batches(count)
    var openings: [[Double]] = [[], []]
    for round in 0..<9 {
      for which in [round % 2, 1 - round % 2] {
        var opened: (any DiskCache.Store)?
        openings[which].append(
          try seconds {
            opened = try open(which)
            guard try opened?.entry(Tiles.key(count / 2)) != nil else {
              throw BenchmarkError("a tile is missing")
            }
          } * 1000)
        try opened?.close()
      }
    }
    return batches
      + (0..<2).map { which in
        Bar(
          claim: "\(names[which]): opening \(options.megabytes) MB and the first hit",
          measured: openings[which].median ?? 0, limit: 20, unit: "ms")
      }
  }

  /// Stores batches of 64 in each store in turn, and for the first part also as bare writes. The mean counts, not the
  /// median, because moving the log into the file is part of the cost.
  private func batches(_ count: Int) throws -> [Bar] {
    let stores = try [open(0), open(1)]
    let bare = try Floor(folder + "/bare", size: Tiles.size)
    let bareCount = min(count, 16_384)
    try bare.makeFolders(bareCount)
    var totals = [0.0, 0.0]
    var beside = [0.0, 0.0]
    var floors = [0.0, 0.0]
    for start in stride(from: 0, to: count, by: 64) {
      let size = min(64, count - start)
      let batch = (start..<start + size).map { (key: Tiles.key($0), entry: Tiles.entry($0)) }
      for which in 0..<2 {
        let time = try seconds { try stores[which].store(batch) }
        totals[which] += time
        if start < bareCount { beside[which] += time }
      }
      if start < bareCount {
        floors[0] += try seconds { try bare.writeFiles(start, size, batch[0].entry.body) }
        floors[1] += try seconds { try bare.writeRows(start, size, batch[0].entry.body) }
      }
    }
    for store in stores { try store.close() }
    let ratios = (0..<2).map { beside[$0] / floors[$0] }
    for which in 0..<2 {
      print(
        "\(names[which]): \((totals[which] / Double(count) * 1e6).short) us a tile in batches, bare writes",
        "\((floors[which] / Double(bareCount) * 1e6).short) us; beside them \(ratios[which].short)")
    }
    // Bare rows are written to a log that is forced to the disk, and on many disks they take longer than the limit. So
    // only the SQLite store, which isn't the default, is compared with them.
    return [
      Bar(
        claim: "file store: storing in batches of 64, a tile", measured: totals[0] / Double(count) * 1e6,
        limit: 100, unit: "us"),
      Bar(claim: "SQLite store: storing in batches of 64 / bare rows", measured: ratios[1], limit: 1.25),
    ]
  }
}
