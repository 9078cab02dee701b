import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("The check of pinned entries", .timeLimit(.minutes(5)))
struct PinnedCheckTests {
  /// Four pauses are needed for them, as one follows a megabyte.
  private static let keys = (0..<40).map { tile($0) }

  /// Returns a folder with a store of pinned entries, as a killed process leaves it.
  private func killed(_ kind: StoreKind) throws -> TemporaryFolder {
    let (folder, copy) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try kind.open(folder)
    try store.pin(Self.keys, by: "region")
    try store.store(Self.keys.enumerated().map { ($1, makeEntry($0, size: 90_000)) })
    try FileManager.default.copyItem(atPath: folder.file("store"), toPath: copy.file("store"))
    try store.close()
    return copy
  }

  private func cache(
    _ kind: StoreKind, _ folder: TemporaryFolder, _ clock: VirtualClock, _ time: VirtualTime = VirtualTime()
  ) throws -> ResourceCache {
    let place = folder.url("store")
    return try ResourceCache(
      disk: kind == .files ? .folder(place) : .sqliteFile(in: place),
      clock: LoadClock(clock, wall: time.reader()))
  }

  /// Lets the check run to its end. Returns the number of its pauses.
  private func pauses(_ cache: ResourceCache, _ clock: VirtualClock) async throws -> Int {
    let isDone = Locked(false)
    let end = Task {
      await cache.checked()
      isDone.value = true
    }
    var count = 0
    while true {
      try await until { isDone.value || !clock.sleepers.isEmpty }
      if isDone.value { break }
      count += 1
      clock.advance(by: .seconds(1))
    }
    await end.value
    return count
  }

  @Test("It is slow, ends with the cache, and continues at the next opening", arguments: StoreKind.allCases)
  func continued(_ kind: StoreKind) async throws {
    let folder = try killed(kind)
    let clock = VirtualClock()
    let first = try cache(kind, folder, clock)
    try await until { !clock.sleepers.isEmpty }
    #expect(clock.sleepers.allSatisfy { $0 > .milliseconds(100) && $0 < .milliseconds(200) })
    try await first.close()
    #expect(clock.sleepers.isEmpty)
    for expected in [3, 0] {
      let next = try cache(kind, folder, clock)
      #expect(try await pauses(next, clock) == expected)
      try await next.close()
    }
  }

  @Test("It is repeated a month after its end, whatever happened to the clock", arguments: StoreKind.allCases)
  func monthly(_ kind: StoreKind) async throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    try store.pin(Self.keys, by: "region")
    try store.store(Self.keys.enumerated().map { ($1, makeEntry($0, size: 90_000)) })
    try store.close()
    let (clock, time) = (VirtualClock(), VirtualTime())
    for (days, expected) in [(0, 0), (29, 0), (1, 4), (0, 0), (29, 0), (1, 4), (-40, 4), (29, 0)] {
      time.advance(by: Int64(days) * 86_400_000)
      let cache = try cache(kind, folder, clock, time)
      // Another process leaves it to the first one.
      let other = try self.cache(kind, folder, clock, time)
      await other.checked()
      #expect(try await pauses(cache, clock) == expected, "\(days)")
      try await other.close()
      try await cache.close()
    }
  }

  @Test("A bit that a medium has changed is found without a kill")
  func changedBit() async throws {
    let folder = try TemporaryFolder()
    let store = try StoreKind.files.open(folder)
    try store.pin(Self.keys, by: "region")
    try store.store(Self.keys.enumerated().map { ($1, makeEntry($0, size: 90_000)) })
    try store.close()
    let (clock, time) = (VirtualClock(), VirtualTime())
    try await self.cache(.files, folder, clock, time).close()
    let file = URL(filePath: folder.file("store/tiledb/osm/16/0/7%t"))
    var bytes = try Data(contentsOf: file)
    bytes[500] ^= 0x10
    try bytes.write(to: file)
    time.advance(by: Duration.days(30).wholeMilliseconds)
    let cache = try cache(.files, folder, clock, time)
    #expect(try await pauses(cache, clock) == 4)
    #expect(cache.counters["osm"]?.corrupt == 1)
    try await cache.close()
  }

  @Test("A damaged entry is removed and counted")
  func damaged() async throws {
    let folder = try killed(.files)
    let path = folder.file("store/tiledb/osm/16/0/7%t")
    var bytes = try Data(contentsOf: URL(filePath: path))
    bytes[500] ^= 0x10
    try bytes.write(to: URL(filePath: path))
    let clock = VirtualClock()
    let cache = try cache(.files, folder, clock)
    #expect(try await pauses(cache, clock) == 4)
    #expect(cache.counters["osm"]?.corrupt == 1)
    #expect(try await cache.totals()["osm"]?.count == Self.keys.count - 1)
    #expect(!FileManager.default.fileExists(atPath: path))
    try await cache.close()
  }

  /// Makes the check due, as a kill does, of a store that was closed.
  private func makeDue(_ index: String) throws {
    try Data("\(Int64.min)".utf8).write(to: URL(filePath: index + "-use"))
  }

  @Test("It waits while the index is read without its log", arguments: StoreKind.allCases)
  func withoutLog(_ kind: StoreKind) async throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    try store.pin(Self.keys, by: "region")
    try store.store(Self.keys.enumerated().map { ($1, makeEntry($0, size: 90_000)) })
    try store.close()
    let index = kind.index(in: folder)
    try makeDue(index)
    // As on a full disk, SQLite can't make the log.
    try FileManager.default.createDirectory(atPath: index + "-wal", withIntermediateDirectories: false)
    let clock = VirtualClock()
    for expected in [0, 4] {
      let cache = try cache(kind, folder, clock)
      #expect(try await pauses(cache, clock) == expected)
      try await cache.close()
      if expected == 0 { try FileManager.default.removeItem(atPath: index + "-wal") }
    }
  }

  @Test("A damaged index doesn't end it")
  func damagedIndex() async throws {
    let folder = try TemporaryFolder()
    let store = try StoreKind.files.open(folder)
    let keys = (0..<400).map { tile($0) }
    try store.pin(keys, by: "region")
    try store.store(keys.enumerated().map { ($1, makeEntry($0, size: 3000)) })
    var last: ResourceKey?
    try store.forEach(nil) { key, _, _ in last = key }
    try store.close()
    let index = StoreKind.files.index(in: folder)
    try makeDue(index)
    var pages = try Data(contentsOf: URL(filePath: index))
    let leaves = stride(from: 4096, to: pages.count, by: 4096).filter { pages[$0] == 0x0D }
    let leaf = try #require(leaves.last)
    pages.replaceSubrange(leaf..<leaf + 4096, with: Data(repeating: 0xA5, count: 4096))
    try pages.write(to: URL(filePath: index))
    let content = makeEntry(try #require(keys.firstIndex { $0 == last }), size: 3000).body
    for name in try folder.files().keys where name.contains("/tiledb/") {
      let file = URL(filePath: folder.path + "/" + name)
      var bytes = try Data(contentsOf: file)
      guard bytes.starts(with: content) else { continue }
      bytes[500] ^= 0x10
      try bytes.write(to: file)
    }
    let clock = VirtualClock()
    let cache = try cache(.files, folder, clock)
    _ = try await pauses(cache, clock)
    #expect(cache.counters["osm"]?.corrupt == 1)
    try await cache.close()
  }

  @Test("A store that another process uses, or that was closed, isn't checked", arguments: StoreKind.allCases)
  func unneeded(_ kind: StoreKind) async throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    try store.pin(Self.keys, by: "region")
    try store.store(Self.keys.enumerated().map { ($1, makeEntry($0)) })
    let clock = VirtualClock()
    for isOpen in [true, false] {
      if !isOpen { try store.close() }
      let cache = try cache(kind, folder, clock)
      #expect(try await pauses(cache, clock) == 0)
      try await cache.close()
    }
  }
}
