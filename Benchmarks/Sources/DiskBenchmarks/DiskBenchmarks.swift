import BothyCache
import Foundation
import GRDBSQLite
import HTTPTypes

/// `scripts/bench-disk`: hits, batches and openings of the cache's stores, each beside what the machine needs for the
/// bare reads and writes, in the same run.
@main
struct DiskBenchmarks {
  static let size = 15_360

  static func main() throws {
    let arguments = CommandLine.arguments
    let count = arguments.count > 1 ? Int(arguments[1]) ?? 4000 : 4000
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bothy-disk-\(getpid())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }  // left to the system's own clean-up
    var run = try DiskRun(folder, count)
    try run.fill()
    try run.hits()
    try run.openings()
  }
}

struct DiskRun {
  let folder: String
  let count: Int
  let limits = BlobStoreLimits(bytes: nil)
  let bare: BareReads
  var files: FileBlobStore
  var database: SQLiteBlobStore

  init(_ folder: String, _ count: Int) throws {
    self.folder = folder
    self.count = count
    bare = try BareReads(folder + "/bare", count)
    files = try FileBlobStore(folder: folder + "/files", options: BlobStoreOptions(limits: limits))
    database = try SQLiteBlobStore(path: folder + "/cache.sqlite", options: BlobStoreOptions(limits: limits))
  }

  func key(_ number: Int) -> ResourceKey { ResourceKey("osm", zoom: 16, x: number / 256, y: number % 256) }

  func entry(_ number: Int) -> CacheEntry {
    let fields: HTTPFields = [
      .eTag: "\"5e1f-\(number)\"", .contentType: "image/png", .cacheControl: "max-age=604800",
      .date: "Tue, 15 Nov 1994 12:45:26 GMT", .lastModified: "Tue, 15 Nov 1994 12:45:26 GMT",
      .server: "nginx",
    ]
    return CacheEntry(
      metadata: EntryMetadata(
        status: 200, fields: fields, requestedAt: 0, receivedAt: 0, validatedAt: 0,
        freshness: FreshnessTerms(lifetime: 604_800_000)), body: BareReads.body(number))
  }

  /// Stores everything in batches of 64.
  mutating func fill() throws {
    try bare.fill()
    let batches = stride(from: 0, to: count, by: 64).map { start in
      (start..<min(start + 64, count)).map { (key: key($0), entry: entry($0)) }
    }
    for (name, store) in [("file store", files), ("SQLite store", database)] as [(String, any BlobStore)] {
      var slowest = 0.0
      let time = try seconds {
        for batch in batches { slowest = max(slowest, try seconds { try store.store(batch) }) }
      }
      report("\(name): batched store, us a tile", time / Double(count) * 1e6, 100)
      let halves = try [batches.prefix(batches.count / 2), batches.suffix(batches.count / 2)].map { half in
        try seconds { for batch in half { try store.store(batch) } }
      }
      report("\(name): replacing, second half / first half", halves[1] / halves[0], 1.5)
    }
  }

  func hits() throws {
    let order = (0..<count).map { $0 &* 7919 % count }
    var ratios: [[Double]] = [[], []]
    var times: [[Double]] = [[], [], [], []]
    for _ in 0..<7 {
      let file = try seconds {
        for number in order where try bare.file(number) != Self.size {
          throw CocoaError(.fileReadCorruptFile)
        }
      }
      let ours = try seconds { for number in order { try hit(files, number) } }
      let row = try seconds {
        for number in order where try bare.row(number) != Self.size { throw CocoaError(.fileReadCorruptFile) }
      }
      let theirs = try seconds { for number in order { try hit(database, number) } }
      ratios[0].append(ours / file)
      ratios[1].append(theirs / row)
      for (place, time) in [file, ours, row, theirs].enumerated() {
        times[place].append(time / Double(count) * 1e6)
      }
    }
    report("file store: hit / open, fstat, read, close", ratios[0].sorted()[3], 1.5)
    report("SQLite store: hit / one bare SELECT and copy", ratios[1].sorted()[3], 2)
    for (name, time) in zip(["bare file", "file store", "bare row", "SQLite store"], times) {
      print("  \(name): \(short(time.sorted()[3])) us")
    }
  }

  static let size = DiskBenchmarks.size

  private func hit(_ store: some BlobStore, _ number: Int) throws {
    let found = try store.entry(key(number))
    guard let found, found.body.count == Self.size else { throw CocoaError(.fileReadCorruptFile) }
    precondition(found.metadata.validatedAt + found.metadata.freshness.lifetime > 1000)
  }

  mutating func openings() throws {
    try files.close()
    try database.close()
    let options = BlobStoreOptions(limits: limits)
    var times: [[Double]] = [[], []]
    for _ in 0..<5 {
      times[0].append(try seconds { files = try FileBlobStore(folder: folder + "/files", options: options) })
      times[1].append(
        try seconds { database = try SQLiteBlobStore(path: folder + "/cache.sqlite", options: options) })
      _ = try (files.totals(), database.totals())
      try files.close()
      try database.close()
    }
    let megabytes = count * Self.size >> 20
    report("file store: opening \(megabytes) MB, ms", times[0].sorted()[2] * 1000, 20)
    report("SQLite store: opening \(megabytes) MB, ms", times[1].sorted()[2] * 1000, 20)
  }

  private func seconds(_ work: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try work()
    return (ContinuousClock.now - start) / .seconds(1)
  }

  private func report(_ claim: String, _ measured: Double, _ limit: Double) {
    print("\(claim): \(short(measured)) <= \(short(limit)) \(measured <= limit ? "pass" : "MISSED")")
  }

  private func short(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }
}
