import Bars
import BothyCache
import Foundation

/// Checks that an operation costs no more after many others. 10^4 operations on a store with 10^6 earlier ones
/// alternate in short rounds with 10^4 on one with 2 × 10^4. Every batch has to evict, in both.
///
/// A store with fewer entries isn't comparable: all of it is on fewer pages than one batch changes in a large one.
struct LinearRun {
  private let options: Options
  private let folder: String
  private static let bodySize = 600
  /// The number of earlier operations of the younger store, in whole batches.
  private static let first = 20_480

  init(_ folder: String, _ options: Options) {
    self.options = options
    self.folder = folder + "/linear"
  }

  func bars() throws -> [Bar] {
    let operations = (options.operations + 63) / 64 * 64
    return try [("file store", true), ("SQLite store", false)].map { name, isFiles in
      let old = try open(isFiles, "old", limit: options.operations / 2)
      let spent = try seconds {
        for start in stride(from: 0, to: operations, by: 64) { try operate(old, start) }
      }
      let beside = try open(isFiles, "new", limit: Self.first / 2)
      for start in stride(from: 0, to: Self.first, by: 64) { try operate(beside, start) }
      var ratios: [Double] = []
      for round in 0..<79 {
        let new = try seconds {
          for part in 0..<2 { try operate(beside, Self.first + (round * 2 + part) * 64) }
        }
        let late = try seconds {
          for part in 0..<2 { try operate(old, operations + (round * 2 + part) * 64) }
        }
        ratios.append(late / new)
      }
      var totals = 0
      try old.forEach(Tiles.source) { _, _, _ in totals += 1 }
      guard totals <= options.operations / 2 else { throw BenchmarkError("\(name): \(totals) entries") }
      print(
        "\(name): \(options.operations) operations, \((spent / Double(options.operations) * 1e6).short) us each,",
        "\(totals) entries at the end")
      try old.close()
      try beside.close()
      return Bar(
        claim: "\(name): 10^4 operations after \(options.operations) / after \(Self.first)",
        measured: ratios.median ?? 0, limit: 2)
    }
  }

  private func open(_ isFiles: Bool, _ name: String, limit: Int) throws -> any DiskCache.Store {
    let tier =
      isFiles
      ? DiskCache.folder(URL(filePath: "\(folder)/files-\(name)"))
      : .sqliteFile(in: URL(filePath: "\(folder)/database-\(name)"))
    return try tier.open(limits: DiskCache.Limits(bytes: nil, count: limit))
  }

  /// Stores 64 new entries in one batch, and reads as many that were stored a little earlier.
  private func operate(_ store: any DiskCache.Store, _ start: Int) throws {
    try store.store(
      (start..<start + 64).map { (key: Tiles.key($0), entry: Tiles.entry($0, size: Self.bodySize)) })
    for number in start..<start + 64 where number >= 1000 {
      guard try store.entry(Tiles.key(number - 1000)) != nil else {
        throw BenchmarkError("entry \(number - 1000) is missing")
      }
    }
  }
}
