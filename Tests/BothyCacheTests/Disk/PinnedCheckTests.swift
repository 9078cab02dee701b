import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("The check of pinned entries after a kill", .timeLimit(.minutes(5)))
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
    _ kind: StoreKind, _ folder: TemporaryFolder, _ clock: VirtualClock
  ) throws -> ResourceCache {
    let place = folder.url("store")
    return try ResourceCache(
      disk: kind == .files ? .folder(place) : .sqliteFile(in: place), clock: LoadClock(clock))
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
