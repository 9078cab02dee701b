import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

/// Caches on one folder, as of several launches and processes of an app.
@Suite("Sources of one id in several launches and processes", .timeLimit(.minutes(5)))
struct SourceIdentityTests {
  private let folder: TemporaryFolder
  private let time = VirtualTime()

  init() throws { folder = try TemporaryFolder() }

  private func source(
    _ host: String = "old.example", ignored: Set<String> = [], secrets: [String: String] = [:]
  ) throws -> ResourceSource {
    var limits = SourceLimits()
    limits.attempts = 1
    return try ResourceSource(
      "tiles", template: "https://\(host)/{z}/{x}/{y}.json", freshness: .fixed(.days(7)),
      userAgent: "Tests/1 (tests.example)", limits: limits, content: ContentExpectation(),
      ignoredQueryItems: ignored, secrets: secrets)
  }

  private func cache(
    _ source: ResourceSource, _ kind: StoreKind,
    _ loader: ScriptedLoader = ScriptedLoader { .init(200, fields: [.eTag: "\"1\""], $0.url) }
  ) throws -> ResourceCache {
    let place = folder.url("store")
    return try ResourceCache(
      sources: [source], disk: kind == .files ? .folder(place) : .sqliteFile(in: place), loader: loader,
      clock: LoadClock(VirtualClock(), wall: time.reader()))
  }

  /// Stores a tile, as an earlier launch did.
  private func launch(_ source: ResourceSource, _ kind: StoreKind) async throws {
    let cache = try cache(source, kind)
    #expect(try await cache.value(source.key(zoom: 3, x: 1, y: 2)).notStored == nil)
    try await cache.close()
  }

  private func expectConflict(_ cache: ResourceCache, _ source: ResourceSource) async {
    for x in [1, 4] {
      await #expect {
        try await cache.value(source.key(zoom: 3, x: x, y: 2))
      } throws: {
        ($0 as? BothyError)?.code == .sourceConflict
      }
    }
  }

  /// Changes the index between two launches.
  private func change(_ kind: StoreKind, _ sql: String) throws {
    let queue = try DatabaseQueue(path: kind.index(in: folder))
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// Promises: R-11, B-31
  @Test("A later launch with another address reads no earlier tile", arguments: StoreKind.allCases)
  func later(_ kind: StoreKind) async throws {
    try await launch(try source(), kind)
    let loader = ScriptedLoader { .init(200, $0.url) }
    for other in [try source("new.example"), try source(ignored: ["v"]), try source(secrets: ["key": "1"])] {
      let cache = try cache(other, kind, loader)
      await expectConflict(cache, other)
      #expect(try cache.peek(other.key(zoom: 3, x: 1, y: 2)) == nil)
      try await cache.close()
    }
    #expect(loader.requests.isEmpty)
    var same = try source()
    (same.limits.attempts, same.hosts) = (7, ["moved.example"])
    let cache = try cache(same, kind, loader)
    let tile = try await cache.value(same.key(zoom: 3, x: 1, y: 2))
    #expect(tile.origin == .disk && text(tile) == "https://old.example/3/1/2.json")
    try await cache.close()
  }

  /// Promises: R-11, B-31
  @Test("A process with another address notices tiles stored since it began", arguments: StoreKind.allCases)
  func beside(_ kind: StoreKind) async throws {
    let (old, new) = (try source(), try source("new.example"))
    let (first, second) = (try cache(old, kind), try cache(new, kind))
    await #expect {
      try await second.value(new.key(zoom: 3, x: 1, y: 2), policy: .local)
    } throws: {
      ($0 as? BothyError)?.code == .notCached
    }
    _ = try await first.value(old.key(zoom: 3, x: 1, y: 2))
    await expectConflict(second, new)
    try await first.close()
    try await second.close()
  }

  /// Promises: B-31
  @Test("A response isn't stored if another source has taken its id", arguments: StoreKind.allCases)
  func during(_ kind: StoreKind) async throws {
    let (old, new) = (try source(), try source("new.example"))
    let gate = Latch()
    let slow = ScriptedLoader { request in
      await gate.pass()
      return .init(200, request.url)
    }
    let (first, second) = (try cache(old, kind), try cache(new, kind, slow))
    let reading = Task { try await second.value(new.key(zoom: 3, x: 1, y: 2)) }
    await gate.reached()
    _ = try await first.value(old.key(zoom: 3, x: 1, y: 2))
    gate.open()
    let read = try await reading.value
    #expect(text(read) == "https://new.example/3/1/2.json" && read.notStored == .otherSource)
    first.releaseMemory()
    #expect(text(try await first.value(old.key(zoom: 3, x: 1, y: 2))) == "https://old.example/3/1/2.json")
    let reload = try await second.value(new.key(zoom: 3, x: 1, y: 2), .reload)
    #expect(reload.notStored == .otherSource)
    try await first.close()
    try await second.close()
  }

  @Test(
    "A source gets an id whose tiles were removed, also with the pins left", arguments: StoreKind.allCases)
  func removed(_ kind: StoreKind) async throws {
    let (old, new) = (try source(), try source("new.example"))
    try await launch(old, kind)
    let second = try cache(new, kind)
    let key = try new.key(zoom: 3, x: 1, y: 2)
    try await second.pin([key], by: "region")
    await expectConflict(second, new)
    try await second.removeAll("tiles")
    #expect(try await second.value(key).notStored == nil)
    try await second.close()
    let first = try cache(old, kind)
    await expectConflict(first, old)
    try await first.close()
  }

  /// Promises: R-11, B-31
  @Test(
    "A process notices that another source has taken its id", arguments: StoreKind.allCases, [true, false])
  func taken(_ kind: StoreKind, byEviction: Bool) async throws {
    let (old, new) = (try source(), try source("new.example"))
    let (first, second) = (try cache(old, kind), try cache(new, kind))
    let (mine, other) = (try old.key(zoom: 3, x: 1, y: 2), try new.key(zoom: 3, x: 1, y: 2))
    _ = try await first.value(mine)
    first.releaseMemory()
    #expect(try await first.value(mine).origin == .disk)
    if byEviction {
      try await second.setDiskLimits(DiskCache.Limits(count: 0))
      try await second.setDiskLimits(DiskCache.Limits())
    } else {
      try await second.removeAll("tiles")
    }
    #expect(try await second.value(other).notStored == nil)
    await expectConflict(first, old)
    try await first.close()
    try await second.close()
  }

  @Test("Identities survive a damaged index", arguments: StoreKind.allCases)
  func salvaged(_ kind: StoreKind) async throws {
    try await launch(try source(), kind)
    try change(kind, "PRAGMA user_version = 1")
    let new = try source("new.example")
    let second = try cache(new, kind)
    await expectConflict(second, new)
    try await second.close()
    let old = try source()
    let first = try cache(old, kind)
    #expect(try await first.value(old.key(zoom: 3, x: 1, y: 2)).origin == .disk)
    try await first.close()
  }

  /// Promises: A-45
  @Test(
    "An index of the format without identities gets them, and keeps its tiles", arguments: StoreKind.allCases)
  func earlierFormat(_ kind: StoreKind) async throws {
    let (old, new) = (try source(), try source("new.example"))
    try await launch(old, kind)
    try change(kind, "DROP TABLE identity; PRAGMA user_version = 3")
    let first = try cache(old, kind)
    #expect(try await first.value(old.key(zoom: 3, x: 1, y: 2)).origin == .disk)
    let unknown: [SourceID: UInt64?] = ["tiles": nil]
    #expect(try await first.identities() == unknown)
    _ = try await first.value(old.key(zoom: 3, x: 5, y: 5))
    let known: [SourceID: UInt64?] = ["tiles": old.identity]
    #expect(try await first.identities() == known)
    try await first.close()
    let second = try cache(new, kind)
    await expectConflict(second, new)
    try await second.close()
  }

  @Test("Two sources have one identity if and only if their keys mean the same")
  func identities() throws {
    let tiles = "https://t.example/{z}/{x}/{y}{r}.png"
    let sources = [
      try ResourceSource("s", template: tiles),
      try ResourceSource("s", template: tiles, highResolution: true),
      try ResourceSource("s", template: "https://t.example/a"),
      try ResourceSource("s", template: "https://t.example/a", ignoredQueryItems: ["a", "b"]),
      try ResourceSource("s", template: "https://t.example/a", secrets: ["a": "1", "b": "2"]),
      try ResourceSource("s", address: .anywhere),
      try ResourceSource("s", address: .custom("a") { _, _ in "" }),
      try ResourceSource("s", address: .custom("anywhere") { _, _ in "" }),
    ]
    #expect(Set(sources.map(\.identity)).count == sources.count)
    let again = try ResourceSource(
      "other", template: "https://t.example/a", hosts: ["u.example"], secrets: ["b": "3", "a": "4"],
      zooms: 0...3)
    #expect(again.identity == sources[4].identity)
    // The number is on the disks of apps.
    #expect(try ResourceSource("s", template: "https://t.example/a").identity == 0x6F24_3EE5_177E_EE44)
  }

  @Test("Entries stored without a cache belong to their source alone", arguments: StoreKind.allCases)
  func imported(_ kind: StoreKind) async throws {
    let (old, place) = (try source(), folder.url("store"))
    let disk: DiskCache = kind == .files ? .folder(place) : .sqliteFile(in: place)
    let store = try disk.open(limits: DiskCache.Limits(), for: [old])
    #expect(try store.store(old.key(zoom: 3, x: 1, y: 2), makeEntry(1)).stored == 1)
    try store.close()
    let other = try cache(source("other.example"), kind)
    await expectConflict(other, old)
    try await other.close()
  }
}
