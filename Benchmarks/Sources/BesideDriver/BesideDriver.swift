import Bars
import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// Measures one version of Bothy in rounds, for `scripts/bench-disk --beside`. It is compiled with an earlier version too.
///
///     BesideDriver FOLDER ENTRIES ARCHIVE...
///
/// It reads one request from each line of its standard input, and answers it with the seconds that the work took:
///
///     memory FIRST COUNT                 hits in memory
///     hits files|database FIRST COUNT    hits in a store of so many entries
///     import files|database NUMBER       copies the archive of that number into an empty store; also answers its tiles
@main
struct BesideDriver {
  static func main() async {
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      guard arguments.count >= 2, let entries = Int(arguments[1]) else {
        throw BenchmarkError("see the comment at the top of BesideDriver.swift")
      }
      let folder = arguments[0]
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let memory = try await MemoryHits()
      let disk = try DiskHits(folder, entries)
      let imports = Imports(folder: folder, archives: Array(arguments.dropFirst(2)))
      while let line = readLine() {
        let words = line.split(separator: " ").map(String.init)
        let numbers = words.compactMap { Int($0) }
        switch (words.first ?? "", numbers.count) {
        case ("memory", 2): RoundProgram.answer([try memory.round(numbers[0], numbers[1])])
        case ("hits", 2): RoundProgram.answer([try disk.round(words[1], numbers[0], numbers[1])])
        case ("import", 1): RoundProgram.answer(try await imports.round(words[1], numbers[0]))
        default: throw BenchmarkError("the request \(line) is unknown")
        }
      }
    } catch {
      FileHandle.standardError.write(Data("BesideDriver: \(error)\n".utf8))
      exit(2)
    }
  }
}

/// Hits of tiles in memory, with their keys.
struct MemoryHits {
  private static let count = 2000
  private let source: ResourceSource
  private let cache: ResourceCache

  init() async throws {
    source = try ResourceSource(
      Entries.source, template: "https://tile.example/{z}/{x}/{y}.png", userAgent: "bench")
    cache = try ResourceCache(
      sources: [source], bundled: [Entries()], clock: LoadClock(ContinuousClock(), wall: { Entries.now }))
    for number in 0..<Self.count { try await Calls.load(Entries.key(number), into: cache) }
  }

  func round(_ first: Int, _ count: Int) throws -> Double {
    var found = 0
    let spent = try seconds {
      for number in first..<first + count {
        let number = number &* 769 % Self.count
        let key = try source.key(zoom: 16, x: number / 256, y: number % 256)
        if let tile = cache.peek(key), tile.isFresh, tile.bytes?.count == Entries.size { found += 1 }
      }
    }
    guard found == count else { throw BenchmarkError("\(count - found) tiles were not in memory") }
    return spent
  }
}

/// Hits of tiles in both kinds of store.
struct DiskHits {
  private let entries: Int
  private let stores: [String: any DiskCache.Store]

  init(_ folder: String, _ entries: Int) throws {
    self.entries = entries
    var stores: [String: any DiskCache.Store] = [:]
    for kind in ["files", "database"] {
      let filled = try Calls.open(kind, folder + "/hits-" + kind)
      for start in stride(from: 0, to: entries, by: 64) {
        try filled.store(
          (start..<min(start + 64, entries)).map { (key: Entries.key($0), entry: Entries.entry($0)) })
      }
      // Closing moves the log into the file, as any use does after a while.
      try filled.close()
      stores[kind] = try Calls.open(kind, folder + "/hits-" + kind)
    }
    self.stores = stores
  }

  func round(_ kind: String, _ first: Int, _ count: Int) throws -> Double {
    guard let store = stores[kind] else { throw BenchmarkError("the store \(kind) isn't open") }
    return try seconds {
      for number in first..<first + count {
        guard try store.entry(Entries.key(number &* 7919 % entries))?.body.count == Entries.size else {
          throw BenchmarkError("tile \(number) is not there")
        }
      }
    }
  }
}

/// Imports of archives, each into an empty store.
struct Imports {
  let folder: String
  let archives: [String]

  func round(_ kind: String, _ number: Int) async throws -> [Double] {
    guard archives.indices.contains(number) else { throw BenchmarkError("archive \(number) wasn't written") }
    let path = folder + "/import-" + kind
    try? FileManager.default.removeItem(atPath: path)  // the first round has none
    let store = try Calls.open(kind, path)
    let start = ContinuousClock.now
    let archive = try await TileArchives.open(path: archives[number])
    let time = Timestamp(milliseconds: Entries.now)
    let written = try await Calls.copy(archive, into: store, at: time)
    // Closing moves the log into the file.
    try store.close()
    return [start.duration(to: .now) / .seconds(1), Double(written)]
  }
}
