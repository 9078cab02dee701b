import BothyCache
import Foundation
import HTTPTypes

/// The program that `scripts/test-cache-store` starts and kills. It writes, reads and checks entries that prove
/// themselves.
///
///     CacheStoreDriver write files|sqlite FOLDER SEED LIMIT    stores for ever, one line for each acknowledged entry
///     CacheStoreDriver race files|sqlite FOLDER SEED COUNT     stores and reads a few keys that others store as well
///     CacheStoreDriver fill files|sqlite FOLDER                stores until the disk is full, and goes on
///     CacheStoreDriver check files|sqlite FOLDER LIMIT         looks at everything; one line of JSON
@main
struct CacheStoreDriver {
  static func main() {
    do {
      let arguments = CommandLine.arguments
      guard arguments.count >= 4 else {
        throw Failure("see the comment at the top of CacheStoreDriver.swift")
      }
      let number = { (place: Int) in arguments.count > place ? Int(arguments[place]) ?? 0 : 0 }
      let driver = Driver(isSQLite: arguments[2] == "sqlite", folder: arguments[3])
      switch arguments[1] {
      case "write": try driver.write(seed: number(4), limit: number(5))
      case "race": try driver.race(seed: number(4), count: number(5))
      case "fill": try driver.fill()
      case "check": try driver.check(limit: number(4))
      default: throw Failure("unknown command \(arguments[1])")
      }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }
}

/// Prints one line at once.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

struct Failure: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

struct Driver {
  let isSQLite: Bool
  let folder: String

  func open(limit: Int) throws -> any DiskCache.Store {
    let limits = DiskCache.Limits(bytes: limit == 0 ? nil : Int64(limit), largestEntry: 1 << 20)
    let options = DiskCache.Options(limits: limits, busyTimeout: .seconds(60)) { event in
      FileHandle.standardError.write(Data("event: \(event)\n".utf8))
    }
    return isSQLite
      ? try DiskStore(path: folder + "/cache.sqlite", options: options)
      : try DiskStore(folder: folder, options: options)
  }

  func key(_ number: Int) -> ResourceKey {
    number % 2 == 0
      ? ResourceKey("osm", zoom: 16, x: number / 64, y: number % 64) : ResourceKey("api", path: "a/\(number)")
  }

  /// Returns an entry whose bytes follow from its key and version. Every third version has one of eight contents that
  /// all keys share.
  func entry(_ number: Int, _ version: Int) -> CacheEntry {
    let isShared = version % 3 == 0
    let content = isShared ? version / 3 % 8 : version
    let size = [100, 3000, 15_360, 40_000, 130_000][content % 5]
    var state = isShared ? UInt64(content) : UInt64(number) << 32 | UInt64(version)
    var body = Data(isShared ? "shared \(content)\n".utf8 : "\(number) \(version)\n".utf8)
    body.reserveCapacity(size)
    while body.count < size {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      withUnsafeBytes(of: state) { body.append(contentsOf: $0) }
    }
    let time = Int64(version)
    return CacheEntry(
      metadata: EntryMetadata(
        status: 200, fields: [:], requestedAt: time, receivedAt: time, validatedAt: time,
        freshness: FreshnessMetadata(lifetime: Int64(number))),
      body: body)
  }

  /// Returns the version of a found entry. Throws if its bytes differ from those stored under the key.
  func version(_ found: CacheEntry, _ number: Int) throws -> Int {
    let version = Int(found.metadata.receivedAt)
    guard found == entry(number, version) else { throw Failure("torn: key \(number), version \(version)") }
    return version
  }

  func write(seed: Int, limit: Int) throws {
    let store = try open(limit: limit)
    var state = UInt64(seed)
    var version = seed * 1_000_000
    while true {
      var batch: [(number: Int, version: Int)] = []
      for _ in 0..<(1 + version % 7) {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        version += 1
        batch.append((Int(state >> 33) % 300, version))
      }
      let report = try store.store(batch.map { (key($0.number), entry($0.number, $0.version)) })
      guard report.refused.isEmpty else { throw Failure("refused: \(report.refused)") }
      say(batch.map { "\($0.number) \($0.version)" }.joined(separator: "\n"))
      if version % 11 == 0 { try store.touch([(key(version % 300), Int64(version))]) }
      if version % 13 == 0 { try store.remove([key(301)]) }
      if version % 17 == 0 { try confirm(store, version % 300) }
    }
  }

  /// Stores an entry again as it was read, as a confirmation by the server does.
  private func confirm(_ store: any DiskCache.Store, _ number: Int) throws {
    guard let known = try store.entry(key(number)) else { return }
    try store.store([(key(number), known)])
  }

  func race(seed: Int, count: Int) throws {
    let store = try open(limit: 0)
    for step in 0..<count {
      let number = step % 3
      try store.store([(key(number), entry(number, seed * 1_000_000 + step))])
      guard let found = try store.entry(key((step + 1) % 3)) else {
        if step > 2 { throw Failure("a key was gone") }
        continue
      }
      _ = try version(found, (step + 1) % 3)
    }
    say("done")
  }

  func fill() throws {
    let store = try open(limit: 0)
    var refused = 0
    var stored: [Int] = []
    for number in 0..<400 {
      let report = try store.store([(key(number), entry(number, number * 5 + 2))])
      refused += report.refused.count
      if report.stored == 1 { stored.append(number) }
      for number in [number, number / 2] {
        let found = try store.entry(key(number))
        if let found { _ = try version(found, number) }
        guard try (store.metadata(key(number)) == nil) == (found == nil) else {
          throw Failure("key \(number) is claimed and not there")
        }
      }
      let isThere = try store.entry(key(number)) != nil
      guard isThere || report.stored == 0 else {
        throw Failure("key \(number) was acknowledged and is not there")
      }
    }
    say("{\"stored\": \(stored.count), \"refused\": \(refused)}")
  }

  func check(limit: Int) throws {
    let store = try open(limit: limit)
    var versions: [String: Int] = [:]
    for number in 0..<400 {
      guard let found = try store.entry(key(number)) else {
        guard try store.metadata(key(number)) == nil else {
          throw Failure("key \(number) is claimed and not there")
        }
        continue
      }
      versions["\(number)"] = try version(found, number)
    }
    let counted = try total(store)
    let report = try store.verify { _ in }
    guard report.damaged.isEmpty else { throw Failure("damaged: \(report.damaged)") }
    let garbage = try store.collectGarbage()
    if isSQLite, garbage.removedFiles > 0 { throw Failure("\(garbage.removedFiles) files were left over") }
    let real = try total(store)
    guard counted.bytes >= real.bytes else { throw Failure("\(counted) was counted, \(real) is there") }
    guard real.count == versions.count else {
      throw Failure("\(real.count) counted, \(versions.count) found")
    }
    try store.close()
    let json = try JSONSerialization.data(withJSONObject: [
      "versions": versions, "counted": counted.bytes, "real": real.bytes, "garbage": garbage.removedFiles,
    ])
    say(String(decoding: json, as: UTF8.self))
  }

  private func total(_ store: any DiskCache.Store) throws -> (count: Int, bytes: Int64) {
    try store.totals().values.reduce((0, 0)) { ($0.0 + $1.count, $0.1 + $1.bytes) }
  }
}
