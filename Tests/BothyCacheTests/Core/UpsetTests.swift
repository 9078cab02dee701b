import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

/// Tests of wrong clocks and damaged files, as readers of a cache see them.
@Suite("Upsets", .timeLimit(.minutes(5)))
struct UpsetTests {
  private static func server(_ request: ResourceRequest) -> ScriptedLoader.Answer {
    if request.fields[.ifNoneMatch] == "\"1\"" { return .init(304, fields: [.eTag: "\"1\""]) }
    return .init(200, fields: [.eTag: "\"1\"", .cacheControl: "max-age=604800"], "hut")
  }

  /// Promises: E-6, B-19d
  @Test(
    "A clock set back causes a request, and offline the entry is stale")
  func clockBack() async throws {
    for rule in [FreshnessRule.fixed(.days(7)), .http] {
      let rig = try CacheRig(freshness: rule, Self.server)
      let tile = try rig.tile()
      _ = try await rig.cache.value(tile)
      rig.time.advance(by: -4 * 60_000)
      #expect(try await rig.cache.value(tile).isFresh, "clocks are set by minutes all the time")
      rig.time.advance(by: -30 * 86_400_000)
      rig.cache.suspendNetwork()
      let offline = try await rig.cache.value(tile)
      #expect(text(offline) == "hut" && offline.freshness == .stale(.noNetwork) && offline.age >= 0)
      rig.cache.resumeNetwork()
      let confirmed = try await rig.cache.value(tile)
      #expect(confirmed.origin == .confirmed && confirmed.isFresh)
      #expect(rig.lastSent(.ifNoneMatch) == "\"1\"" && rig.loader.requests.count == 2)
      #expect(try await rig.cache.value(tile).isFresh && rig.loader.requests.count == 2)
      rig.pass(.days(7))
      #expect(try await rig.cache.value(tile).origin == .confirmed, "it is not immortal")
    }
  }

  /// Promises: E-7
  @Test("A clock far ahead causes confirmations, no downloads and no losses")
  func clockAhead() async throws {
    let rig = try CacheRig(freshness: .http, Self.server)
    let tiles = try (0..<20).map { try rig.tile($0) }
    for tile in tiles { _ = try await rig.cache.value(tile) }
    rig.pass(.days(20 * 365))
    rig.cache.suspendNetwork()
    for tile in tiles { #expect(try await rig.cache.value(tile).freshness == .stale(.noNetwork)) }
    rig.cache.resumeNetwork()
    for tile in tiles {
      let resource = try await rig.cache.value(tile)
      #expect(resource.origin == .confirmed && resource.isFresh && text(resource) == "hut")
    }
    #expect(rig.store.keys == Set(tiles) && rig.loader.requests.count == 40)
    #expect(rig.cache.counters["tiles"]?.loaded == 20 && rig.cache.counters["tiles"]?.confirmed == 20)
  }

  /// Promises: E-8
  @Test("A damaged entry counts as missing, is reported once and is loaded again")
  func damage() async throws {
    let folder = try TemporaryFolder()
    let source = try CacheRig.source("tiles")
    let body = String(repeating: "hut ", count: 1000)
    let loader = ScriptedLoader { _ in .init(200, body) }
    let cache = try ResourceCache(
      sources: [source], disk: .folder(URL(filePath: folder.path)), loader: loader)
    let listener = Listener(cache.events)
    let tiles = try (0..<2).map { try source.key(zoom: 16, x: $0, y: 2) }
    for tile in tiles { _ = try await cache.value(tile) }
    cache.relieve(.warning)
    for name in try folder.files().keys where name.hasPrefix("tiledb/") {
      let handle = try FileHandle(forUpdating: URL(filePath: folder.path + "/" + name))
      try handle.seek(toOffset: 1234)
      try handle.write(contentsOf: Data([0]))
      try handle.close()
    }
    let again = try await cache.value(tiles[0])
    #expect(text(again) == body && again.origin == .network && loader.requests.count == 3)
    cache.relieve(.warning)
    #expect(try await cache.value(tiles[0]).origin == .disk)
    cache.suspendNetwork()
    await #expect { try await cache.value(tiles[1]) } throws: { ($0 as? BothyError)?.code == .offline }
    #expect(cache.counters["tiles"]?.corrupt == 2)
    let events = try await listener.events(of: cache)
    #expect(events.filter { if case .corrupt = $0 { true } else { false } } == tiles.map { .corrupt($0) })
  }

  /// Promises: K-18
  @Test("A reader on the main thread has its values decoded on another thread")
  @MainActor
  func decoding() async throws {
    let rig = try CacheRig { _ in .init(200, "7") }
    let source = try ResourceSource(
      "api", template: "https://api.example", userAgent: "Tests/1 (tests.example)")
    try rig.cache.register(source)
    let threads = Locked<[Bool]>([])
    let number = try Resource<Int>(try source.key(path: "n"), in: rig.cache, expirationInterval: .hours(1)) {
      bytes in
      threads.change { $0.append(Thread.isMainThread) }
      return Int(String(decoding: bytes, as: UTF8.self)) ?? 0
    }
    #expect(try await number.updateIfNeeded() == .changed)
    for _ in 0..<2 {
      #expect(try await number.value(policy: .local).value == 7)
      rig.cache.relieve(.warning)
    }
    rig.pass(.hours(2))
    for try await value in number.values() { #expect(value.value == 7) }
    #expect(!threads.value.isEmpty && !threads.value.contains(true))
  }
}
