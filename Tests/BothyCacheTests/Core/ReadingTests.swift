import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("Reading resources", .timeLimit(.minutes(5)))
struct ReadingTests {
  /// Promises
  @Test("A missing resource is in memory after its first read")
  func missThenHit() async throws {
    let rig = try CacheRig()
    let tile = try rig.tile()
    #expect(rig.cache.peek(tile) == nil)
    let loaded = try await rig.cache.value(tile)
    #expect(text(loaded) == "https://tiles.example/16/1/2.json")
    #expect(loaded.origin == .network && loaded.freshness == .fresh && loaded.storage == .stored)
    let hit = rig.cache.peek(tile)
    #expect(text(hit) == text(loaded) && hit?.origin == .memory && hit?.isFresh == true)
    #expect(rig.loader.requests.count == 1)
  }

  /// Promises: T-22
  @Test("A fresh tile sends no request, and a missing or stale one does")
  func onlyWhatIsNeeded() async throws {
    let rig = try CacheRig(freshness: .fixed(.days(7)))
    let (expired, fresh, missing) = (try rig.tile(1), try rig.tile(2), try rig.tile(3))
    _ = try await rig.cache.value(expired)
    rig.pass(.days(5))
    _ = try await rig.cache.value(fresh)
    rig.pass(.days(2))
    var origins: [CachedResource.Origin] = []
    for tile in [expired, fresh, missing] {
      let resource = try await rig.cache.value(tile)
      #expect(resource.isFresh)
      origins.append(resource.origin)
    }
    #expect(origins == [.network, .memory, .network])
    #expect(
      rig.loader.requests.map(\.url) == [1, 2, 1, 3].map { "https://tiles.example/16/\($0)/2.json" })
  }

  /// Promises: R-3
  @Test("A hit in memory posts no event and uses neither disk nor network")
  func silentHit() async throws {
    let rig = try CacheRig()
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    let (reads, listener) = (rig.store.reads, rig.listen())
    for _ in 0..<10 {
      #expect(rig.cache.peek(tile) != nil)
      #expect(try await rig.cache.value(tile).origin == .memory)
    }
    #expect(rig.store.reads == reads)
    #expect(rig.loader.requests.count == 1)
    #expect(try await listener.events(of: rig.cache) == [])
  }

  /// Promises: R-4, E-12
  @Test("Any number of callers share one request, and each receives one response")
  func sharedRequest() async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      await gate.pass()
      return .init(200, request.url)
    }
    let tile = try rig.tile()
    let answers = try await withThrowingTaskGroup(of: CachedResource.self) { group in
      for _ in 0..<20 { group.addTask { try await rig.cache.value(tile) } }
      try await until { (rig.cache.counters["tiles"]?.coalesced ?? 0) == 19 }
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.count == 20)
    #expect(Set(answers.map { text($0) }) == ["https://tiles.example/16/1/2.json"])
    #expect(rig.loader.requests.count == 1)
    #expect(rig.cache.peek(tile) != nil)
  }

  /// Promises: B-20, R-29
  @Test("An entry found on disk is copied to memory for the second read")
  func promotion() async throws {
    let rig = try CacheRig()
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    rig.cache.relieve(.warning)
    let reads = rig.store.reads
    #expect(try await rig.cache.value(tile).origin == .disk)
    #expect(try await rig.cache.value(tile).origin == .memory)
    #expect(rig.store.reads == reads + 1)
  }

  /// Promises: R-25
  @Test("Memory pressure empties memory and leaves the disk")
  func pressure() async throws {
    let rig = try CacheRig()
    for x in 0..<10 { _ = try await rig.cache.value(rig.tile(x)) }
    #expect(rig.cache.memoryUse.count == 10)
    rig.cache.relieve(.warning)
    #expect(rig.cache.memoryUse.count == 0)
    #expect(rig.store.keys.count == 10)
    #expect(rig.cache.peek(try rig.tile(3)) == nil)
    #expect(try await rig.cache.value(rig.tile(3), policy: .local).origin == .disk)
  }

  @Test("A source of memory pressure reports to the cache")
  func pressureSource() async throws {
    let report = Mutex<(@Sendable (MemoryPressure) -> Void)?>(nil)
    let source = MemoryPressureSource { new in report.withLock { $0 = new } }
    let store = StoreDouble()
    let tiles = try CacheRig.source("tiles")
    let loader = ScriptedLoader { _ in .init(200, "x") }
    let cache = try ResourceCache(
      sources: [tiles], disk: DiskCache { _ in store }, loader: loader, pressure: source)
    _ = try await cache.value(tiles.key(zoom: 1, x: 0, y: 0))
    report.withLock { $0 }?(.warning)
    #expect(cache.memoryUse.count == 0)
  }

  /// Promises
  @Test("A disk that does not respond delays no other task")
  func blockedDisk() async throws {
    let gate = DispatchSemaphore(value: 0)
    let rig = try CacheRig(store: StoreDouble { gate.wait() })
    let tiles = try (0..<16).map { try rig.tile($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for tile in tiles { group.addTask { _ = try await rig.cache.value(tile) } }
      // If all threads of the program wait for the disk, these tasks never end.
      for _ in 0..<64 { await Task { for _ in 0..<10 { await Task.yield() } }.value }
      // A look-up without a result reads every variant.
      for _ in tiles.flatMap(\.variants) { gate.signal() }
      try await group.waitForAll()
    }
    #expect(rig.loader.requests.count == 16)
  }

  @Test("A slow read of the disk leaves a newer entry in memory")
  func overtaken() async throws {
    let calls = Locked(0)
    let rig = try CacheRig { _ in
      calls.change { $0 += 1 }
      return .init(200, "version \(calls.value)")
    }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    rig.cache.releaseMemory()
    let (isRead, gate) = (Latch(), DispatchSemaphore(value: 0))
    rig.store.change { state in
      state.afterReading = {
        Task { await isRead.pass() }
        gate.wait()
      }
    }
    let reading = Task { try await rig.cache.value(tile, policy: .local) }
    await isRead.reached()
    isRead.open()
    #expect(try await text(rig.cache.value(tile, .reload)) == "version 2")
    gate.signal()
    _ = try await reading.value
    #expect(text(rig.cache.peek(tile)) == "version 2")
    rig.cache.releaseMemory()
    #expect(try await text(rig.cache.value(tile, policy: .local)) == "version 2")
  }

  /// Promises: B-26, R-5, R-41
  @Test("Sources are separate: a tile of two sources is two resources")
  func twoSources() async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      if request.url.contains("other.example") { await gate.pass() }
      try Task.checkCancellation()
      return .init(200, request.url)
    }
    let other = try CacheRig.source("other")
    try rig.cache.register(other)
    let (mine, theirs) = (try rig.tile(), try other.key(zoom: 16, x: 1, y: 2))
    let listener = rig.listen()
    _ = try await rig.cache.value(mine)
    let loading = Task { try await rig.cache.value(theirs) }
    await gate.reached()
    loading.cancel()
    await #expect(throws: BothyError.self) { try await loading.value }
    gate.open()
    #expect(rig.cache.peek(mine) != nil)
    try await until { rig.cache.counters["other"]?.failed ?? 0 == 0 }
    let events = try await listener.events(of: rig.cache)
    #expect(events.filter { $0.source == "tiles" } == [.requested(mine), .changed(mine, bytes: 33)])
    #expect(events.filter { $0.source == "other" }.first == .requested(theirs))
    #expect(events.allSatisfy { $0.key != nil })
  }

  @Test("A key of an unregistered source is an error that names it")
  func unknownSource() async throws {
    let rig = try CacheRig()
    let key = ResourceKey("nobody", path: "x")
    #expect(rig.cache.peek(key) == nil)
    await #expect { try await rig.cache.value(key) } throws: { ($0 as? BothyError)?.code == .unknownSource }
  }

  /// Promises: R-13
  @Test("The bundle is read after the disk, and a newer response replaces its entry")
  func bundled() async throws {
    let bundle = StoreDouble()
    let rig = try CacheRig(freshness: .fixed(.days(1)), bundled: [bundle]) { _ in .init(200, "new") }
    let tile = try rig.tile()
    bundle[tile] = CacheEntry(
      metadata: EntryMetadata(
        status: 200, fields: [:], requestedAt: rig.time.now, receivedAt: rig.time.now,
        validatedAt: rig.time.now,
        freshness: FreshnessMetadata(lifetime: 0)), body: Data("brought along".utf8))
    let first = try await rig.cache.value(tile)
    #expect(first.origin == .bundled && text(first) == "brought along")
    rig.pass(.days(2))
    #expect(text(try await rig.cache.value(tile)) == "new")
    rig.cache.relieve(.warning)
    let again = try await rig.cache.value(tile)
    #expect(again.origin == .disk && text(again) == "new")
    #expect(bundle[tile].map { String(decoding: $0.body, as: UTF8.self) } == "brought along")
  }

  @Test("Uses of entries reach the disk in one batch, and at the end")
  func recency() async throws {
    let rig = try CacheRig()
    let (a, b) = (try rig.tile(1), try rig.tile(2))
    _ = try await rig.cache.value(a)
    _ = try await rig.cache.value(b)
    rig.pass(.seconds(5))
    for _ in 0..<100 { _ = rig.cache.peek(a) }
    #expect(rig.store.change { $0.uses }.isEmpty)
    try await rig.cache.close()
    #expect(rig.store.change { $0.uses } == [a: rig.time.now])
    #expect(rig.store.change { $0.isClosed })
    await #expect { try await rig.cache.value(a) } throws: { ($0 as? BothyError)?.code == .closed }
  }

  @Test("Inspecting does not count as use")
  func inspecting() async throws {
    let rig = try CacheRig()
    _ = try await rig.cache.value(rig.tile())
    rig.pass(.days(8))
    let entries = try await rig.cache.inspect()
    #expect(entries.map(\.key) == [try rig.tile()])
    #expect(entries.first?.usability?.isFresh == false)
    #expect(try await rig.cache.totals()["tiles"]?.count == 1)
    try await rig.cache.flush()
    #expect(rig.store.change { $0.uses }.isEmpty)
  }
}
