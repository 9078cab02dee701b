import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Removing, pinning and suspending", .timeLimit(.minutes(5)))
struct RemovalTests {
  /// Promises: R-26, T-41
  @Test(
    "A response in flight during its source's removal is returned but not stored",
    arguments: [true, false])
  func clearedInFlight(onlySource: Bool) async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      await gate.pass()
      return .init(200, request.url)
    }
    let tile = try rig.tile()
    let reading = Task { try await rig.cache.value(tile) }
    await gate.reached()
    try await rig.cache.removeAll(onlySource ? "tiles" : nil)
    gate.open()
    let answer = try await reading.value
    #expect(text(answer) != nil && answer.storage == .notStored(.removed))
    #expect(rig.cache.peek(tile) == nil && rig.store.keys.isEmpty)
    _ = try await rig.cache.value(tile)
    #expect(rig.store.keys == [tile])
  }

  /// Promises: R-26
  @Test("Removing one source empties its memory and disk and leaves other sources")
  func clearOneSource() async throws {
    let rig = try CacheRig()
    let other = try CacheRig.source("other")
    try rig.cache.register(other)
    let (mine, theirs) = (try rig.tile(), try other.key(zoom: 16, x: 1, y: 2))
    for key in [mine, theirs] { _ = try await rig.cache.value(key) }
    try await rig.cache.removeAll("tiles")
    #expect(rig.cache.peek(mine) == nil && rig.cache.peek(theirs) != nil)
    #expect(rig.store.keys == [theirs])
    try await rig.cache.remove(theirs)
    #expect(rig.cache.peek(theirs) == nil && rig.store.keys.isEmpty)
  }

  @Test("A removed key does not delay the load of another")
  func removeOneInFlight() async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      await gate.pass()
      return .init(200, request.url)
    }
    let (a, b) = (try rig.tile(1), try rig.tile(2))
    let both = [a, b].map { key in Task { try await rig.cache.value(key) } }
    try await until { rig.loader.requests.count == 2 }
    try await rig.cache.remove(a)
    gate.open()
    for task in both { _ = try await task.value }
    #expect(rig.store.keys == [b] && rig.cache.peek(a) == nil && rig.cache.peek(b) != nil)
  }

  /// Promises: R-27
  @Test("Entries before a date are removed, and pinned ones stay")
  func before() async throws {
    let rig = try CacheRig()
    let (old, pinned, new) = (try rig.tile(1), try rig.tile(2), try rig.tile(3))
    for key in [old, pinned] { _ = try await rig.cache.value(key) }
    try await rig.cache.pin([pinned], by: "region")
    rig.pass(.hours(1))
    let date = Date(timeIntervalSince1970: Double(rig.time.now) / 1000)
    _ = try await rig.cache.value(new)
    try await rig.cache.remove(before: date)
    #expect(rig.store.keys == [pinned, new])
    #expect(rig.cache.peek(old) == nil && rig.cache.peek(new) != nil)
    #expect(try await rig.cache.value(pinned).origin == .disk)
  }

  /// Promises: B-43
  @Test("Stale entries can be removed at once, and otherwise the limits suffice")
  func expired() async throws {
    let rig = try CacheRig(freshness: .fixed(.hours(1)))
    let (old, pinned, new) = (try rig.tile(1), try rig.tile(2), try rig.tile(3))
    for key in [old, pinned] { _ = try await rig.cache.value(key) }
    try await rig.cache.pin([pinned], by: "region")
    rig.pass(.hours(1))
    _ = try await rig.cache.value(new)
    #expect(try await rig.cache.removeExpired() == 1)
    #expect(rig.store.keys == [pinned, new])
    try await rig.cache.setDiskLimits(DiskCache.Limits(count: 2))
    for x in 10..<20 { _ = try await rig.cache.value(rig.tile(x)) }
    #expect(rig.store.keys.count == 2)
    #expect(rig.cache.counters["tiles"]?.evictedFromDisk == 10)
  }

  /// Promises: E-29
  @Test("A reader keeps the bytes of an entry after its eviction, removal or replacement")
  func evictedWhileRead() async throws {
    var settings = CacheSettings()
    settings.memory = MemoryLimits(count: 1)
    let rig = try CacheRig(settings: settings)
    _ = try await rig.cache.value(rig.tile(1))
    let held = try #require(rig.cache.peek(rig.tile(1)))
    _ = try await rig.cache.value(rig.tile(2))
    try await rig.cache.removeAll()
    #expect(rig.cache.peek(try rig.tile(1)) == nil)
    #expect(text(held) == "https://tiles.example/16/1/2.json")
    #expect(rig.cache.counters["tiles"]?.evictedFromMemory == 1)
  }

  /// Promises: R-33, B-21, R-41
  @Test("A suspended network serves stored entries alone, and loads follow after it resumes")
  func suspended() async throws {
    let rig = try CacheRig()
    let (known, unknown) = (try rig.tile(1), try rig.tile(2))
    _ = try await rig.cache.value(known)
    rig.pass(.days(8))
    let listener = rig.listen()
    rig.cache.suspendNetwork()
    #expect(rig.cache.isNetworkSuspended)
    let served = try await rig.cache.value(known)
    #expect(served.freshness == .stale(.noNetwork))
    await #expect { try await rig.cache.value(unknown) } throws: {
      let remedy = "The cache's network is suspended: call `resumeNetwork()`."
      return $0 as? BothyError == BothyError(.offline, "\(unknown) can't be downloaded. \(remedy)")
    }
    #expect(rig.cache.peek(unknown) == nil && rig.store.keys == [known])
    var states: [String] = []
    for await state in rig.cache.states(unknown) { states.append("\(state)") }
    #expect(states == ["loading", "suspended"])
    #expect(rig.loader.requests.count == 1)
    rig.cache.resumeNetwork()
    #expect(text(try await rig.cache.value(unknown)) == "https://tiles.example/16/2/2.json")
    #expect(try await rig.cache.value(known).isFresh)
    let events = try await listener.events(of: rig.cache)
    #expect(events.first == .networkSuspended && events.contains(.networkResumed))
  }

  /// Promises: T-29
  @Test("Without a network any stored entry is served, marked as stale, however old")
  func offline() async throws {
    let rig = try CacheRig { request in
      if request.url.hasSuffix("/9/9.json") { return .init(200, "never asked again") }
      return .init(200, request.url)
    }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    let store = rig.store
    let loader = ScriptedLoader { _ in throw LoadFailure(.unreachable, "No network.") }
    let cache = try ResourceCache(
      sources: [rig.source], disk: DiskCache { _ in store }, loader: loader,
      clock: LoadClock(VirtualClock(), wall: rig.time.reader(skew: 4000 * 86_400_000)))
    let served = try await cache.value(tile)
    #expect(text(served) == "https://tiles.example/16/1/2.json" && served.origin == .disk)
    guard case .stale(.refreshFailed(let error)) = served.freshness else {
      Issue.record("served as \(served.freshness)")
      return
    }
    #expect(error.code == .unreachable)
    let alone = try ResourceCache(
      sources: [rig.source], disk: DiskCache { _ in store },
      clock: LoadClock(VirtualClock(), wall: rig.time.reader(skew: 4000 * 86_400_000)))
    #expect(try await alone.value(tile).freshness == .stale(.noNetwork))
  }

  /// Promises: R-31
  @Test("A screen receives a state for each situation")
  func states() async throws {
    let status = Answering(200)
    let rig = try CacheRig { _ in .init(status.value, "tile") }
    func states(_ x: Int) async throws -> [String] {
      var states: [String] = []
      for await state in rig.cache.states(try rig.tile(x)) {
        switch state {
        case .loading: states.append("loading")
        case .loaded(let resource): states.append(resource.isFresh ? "fresh" : "stale")
        case .absent: states.append("absent")
        case .suspended: states.append("suspended")
        case .failed: states.append("failed")
        }
      }
      return states
    }
    #expect(try await states(1) == ["loading", "fresh"])
    #expect(try await states(1) == ["fresh"])
    rig.pass(.days(8))
    #expect(try await states(1) == ["stale", "fresh"])
    status.value = 500
    #expect(try await states(2) == ["loading", "failed"])
    rig.pass(.days(8))
    #expect(try await states(1) == ["stale", "stale"])
    status.value = 404
    #expect(try await states(3) == ["loading", "absent"])
  }

  @Test("A cancelled reader ends at once, and other readers receive the response")
  func cancelled() async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      await gate.pass()
      return .init(200, request.url)
    }
    let tile = try rig.tile()
    let (staying, leaving) = (
      Task { try await rig.cache.value(tile) }, Task { try await rig.cache.value(tile) }
    )
    try await until { rig.cache.counters["tiles"]?.coalesced == 1 }
    leaving.cancel()
    await #expect { try await leaving.value } throws: { ($0 as? BothyError)?.code == .cancelled }
    gate.open()
    #expect(text(try await staying.value) == "https://tiles.example/16/1/2.json")
    #expect(rig.loader.requests.count == 1)
  }
}
