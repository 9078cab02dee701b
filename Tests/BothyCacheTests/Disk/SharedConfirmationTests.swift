import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Confirmations that share a transaction", .timeLimit(.minutes(5)))
struct SharedConfirmationTests {
  /// A cache on disk whose server confirms every stored tile, that of the column 0 behind a latch.
  private struct Rig {
    let folder: TemporaryFolder
    let store: any DiskCache.Store
    let cache: ResourceCache
    let keys: [ResourceKey]
    let gate = Latch()
    let time = VirtualTime()
    /// The time at which the tiles came.
    let start: Int64

    init(_ kind: StoreKind, tiles: Int) async throws {
      folder = try TemporaryFolder()
      let (store, gate) = (try kind.open(folder), gate)
      self.store = store
      let loader = ScriptedLoader { request in
        guard request.fields[.ifNoneMatch] != nil else {
          return .init(200, fields: [.eTag: "\"1\""], request.url)
        }
        if request.url.hasSuffix("/16/0/0.json") { await gate.pass() }
        return .init(304)
      }
      let source = try CacheRig.source("tiles")
      cache = try ResourceCache(
        sources: [source], disk: DiskCache { _ in store }, loader: loader,
        clock: LoadClock(VirtualClock(), wall: time.reader()))
      keys = try (0..<tiles).map { try source.key(zoom: 16, x: $0, y: 0) }
      start = time.now
      for key in keys { _ = try await cache.value(key) }
      time.advance(by: Duration.days(8).wholeMilliseconds)
    }

    /// Reads all tiles but the first, which the server confirms meanwhile. Returns the read of the first.
    func confirmed() async throws -> Task<CachedResource, any Error> {
      let slow = Task { try await cache.value(keys[0], policy: .remote) }
      await gate.reached()
      for key in keys.dropFirst() {
        #expect(try await cache.value(key, policy: .remote).origin == .confirmed)
      }
      return slow
    }

    /// The times of the last confirmation on the disk.
    func times() throws -> [Int64?] { try keys.map { try store.metadata($0)?.validatedAt } }
  }

  @Test("They wait for other requests, and no reader waits for them", arguments: StoreKind.allCases)
  func shared(_ kind: StoreKind) async throws {
    let rig = try await Rig(kind, tiles: 20)
    let slow = try await rig.confirmed()
    #expect(try rig.times().allSatisfy { $0 == rig.start })
    // Memory has them, so a reader needs no request.
    #expect(try await rig.cache.value(rig.keys[1]).isFresh)
    rig.gate.open()
    #expect(try await slow.value.origin == .confirmed)
    #expect(try rig.times().allSatisfy { $0 == rig.time.now })
    try await rig.cache.close()
  }

  @Test("A full batch, another write and a close don't wait", arguments: StoreKind.allCases)
  func unshared(_ kind: StoreKind) async throws {
    let many = try await Rig(kind, tiles: 258)
    var slow = try await many.confirmed()
    try await until { try many.times().count { $0 == many.time.now } >= 256 }
    many.gate.open()
    _ = try await slow.value
    try await many.cache.close()
    let few = try await Rig(kind, tiles: 5)
    slow = try await few.confirmed()
    try await few.cache.pin([few.keys[0]], by: "region")
    #expect(try few.times().count { $0 == few.time.now } == 4)
    few.gate.open()
    _ = try await slow.value
    try await few.cache.close()
    let closed = try await Rig(kind, tiles: 5)
    slow = try await closed.confirmed()
    try await closed.cache.close()
    let later = try kind.open(closed.folder)
    #expect(try closed.keys.count { try later.metadata($0)?.validatedAt == closed.time.now } == 4)
    closed.gate.open()
    _ = await slow.result
    try later.close()
  }

  @Test("A late one replaces no bytes that another process has stored", arguments: StoreKind.allCases)
  func newer(_ kind: StoreKind) async throws {
    let rig = try await Rig(kind, tiles: 3)
    let slow = try await rig.confirmed()
    let other = try kind.open(rig.folder)
    var entry = try #require(try other.entry(rig.keys[1]))
    entry.body = Data("newer bytes".utf8)
    (entry.metadata.receivedAt, entry.metadata.validatedAt) = (rig.time.now, rig.time.now)
    try other.store([(rig.keys[1], entry)])
    // One that the other process has removed is stored again.
    try other.remove([rig.keys[2]])
    rig.gate.open()
    _ = try await slow.value
    #expect(try rig.store.entry(rig.keys[1])?.body == entry.body)
    #expect(try rig.store.metadata(rig.keys[2])?.validatedAt == rig.time.now)
    try other.close()
    try await rig.cache.close()
  }

  @Test("One whose tile is removed meanwhile isn't stored", arguments: StoreKind.allCases)
  func removed(_ kind: StoreKind) async throws {
    let rig = try await Rig(kind, tiles: 3)
    let slow = try await rig.confirmed()
    try await rig.cache.remove(rig.keys[1])
    rig.gate.open()
    _ = try await slow.value
    #expect(try rig.store.metadata(rig.keys[1]) == nil)
    #expect(try rig.store.metadata(rig.keys[2])?.validatedAt == rig.time.now)
    try await rig.cache.close()
  }
}
