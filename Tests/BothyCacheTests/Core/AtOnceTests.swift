import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Stored pictures on a bad network", .timeLimit(.minutes(5)))
struct AtOnceTests {
  private struct Rig {
    let clock = VirtualClock()
    let time = VirtualTime()
    let store = StoreDouble()
    let loader: FickleLoader
    let cache: ResourceCache
    let key: ResourceKey

    init(network: AsyncStream<NetworkState>? = nil, freshness: FreshnessRule = .fixed(.days(7))) throws {
      loader = FickleLoader(
        .answers(.init(200, fields: [.contentType: "image/png", .eTag: "\"1\""], "\u{7F}PNG old")),
        network: network)
      let source = try ResourceSource(
        "hills", template: "https://hills.example/{z}/{x}/{y}.png", freshness: freshness,
        userAgent: "Tests/1 (tests.example)", content: ContentExpectation(mediaTypes: ["image/png"]))
      let store = store
      cache = try ResourceCache(
        sources: [source], disk: DiskCache { _ in store }, loader: loader,
        clock: LoadClock(clock, wall: time.reader()))
      key = try source.key(zoom: 3, x: 1, y: 2)
    }

    /// Stores the old picture, pins it if requested, and lets it become stale.
    func fill(isPinned: Bool = true) async throws {
      _ = try await cache.value(key)
      if isPinned { try await cache.pin([key], by: "region:test") }
      time.advance(by: Duration.days(30).wholeMilliseconds)
    }
  }

  @Test(
    "A stale picture, pinned or visible, is returned before a stuck server responds",
    arguments: [(true, true), (true, false), (false, true), (false, false)])
  func stuck(isPinned: Bool, hangs: Bool) async throws {
    let rig = try Rig()
    try await rig.fill(isPinned: isPinned)
    rig.loader.set(hangs ? .hangs : .drips)
    let priority: ResourceCache.Priority = isPinned ? .normal : .visible
    async let read = rig.cache.value(rig.key, priority: priority)
    await rig.loader.stuck.reached()
    // A read that waits for the server ends now at the latest, with another reason.
    await rig.clock.waitForSleepers(1)
    rig.clock.advance(by: .seconds(25))
    let answer = try await read
    #expect(answer.freshness == .stale(.refreshing))
    #expect(text(answer) == "\u{7F}PNG old")
    let entry = try #require(rig.store[rig.key])
    #expect(entry.metadata.fields[.eTag] == "\"1\"")
    try await rig.cache.close()
  }

  @Test("The background refresh loads the new bytes")
  func refreshed() async throws {
    let rig = try Rig()
    try await rig.fill()
    var events = rig.cache.events.makeAsyncIterator()
    rig.loader.set(.answers(.init(200, fields: [.contentType: "image/png"], "\u{7F}PNG new")))
    #expect(try await rig.cache.value(rig.key).freshness == .stale(.refreshing))
    while let event = await events.next() {
      if case .changed(rig.key, _) = event { break }
    }
    let now = try await rig.cache.value(rig.key)
    #expect(now.isFresh && text(now) == "\u{7F}PNG new")
    try await rig.cache.close()
  }

  @Test("The background refresh ends at a deadline, and the next read starts another")
  func deadline() async throws {
    let rig = try Rig()
    try await rig.fill()
    rig.loader.set(.hangs)
    let listener = Listener(rig.cache.events)
    #expect(try await rig.cache.value(rig.key).freshness == .stale(.refreshing))
    await rig.loader.stuck.reached()
    await rig.clock.waitForSleepers(2)
    var events = rig.cache.events.makeAsyncIterator()
    rig.clock.advance(by: .seconds(61))
    while let event = await events.next() {
      if case .failed = event { break }
      if case .cancelled = event { break }
    }
    // A read may still join the refresh that has ended.
    while rig.loader.requests < 3 {
      #expect(try await rig.cache.value(rig.key).freshness == .stale(.refreshing))
      await Task.yield()
    }
    let seen = try await listener.events(of: rig.cache)
    #expect(seen.count { $0 == .requested(rig.key) } == 2)
  }

  private static let new = ScriptedLoader.Answer(200, fields: [.contentType: "image/png"], "\u{7F}PNG new")

  /// Begins a read, and returns when it waits for the server. Its patience then has a sleeper, unless it has none.
  private func waiting(_ rig: Rig, _ options: ResourceCache.Options) async throws -> Task<
    CachedResource, any Error
  > {
    let read = Task { try await rig.cache.value(rig.key, options) }
    let patience: Duration = options.waitsForEnd ? .seconds(20) : .seconds(2)
    try await until { rig.clock.sleepers.contains(patience) }
    return read
  }

  @Test(
    "A read that can return a copy waits two seconds, even while bytes come",
    arguments: [ReadPolicy.localElseRemote, .remoteElseLocal], [true, false])
  func patience(policy: ReadPolicy, hangs: Bool) async throws {
    let rig = try Rig()
    try await rig.fill(isPinned: false)
    rig.loader.set(hangs ? .hangs : .drips)
    let read = try await waiting(rig, ResourceCache.Options(policy: policy))
    await rig.loader.stuck.reached()
    rig.clock.advance(by: .seconds(2))
    let answer = try await read.value
    #expect(answer.freshness == .stale(.refreshing) && text(answer) == "\u{7F}PNG old")
    try await rig.cache.close()
  }

  @Test("A late response is stored behind the reader, and is its second value")
  func late() async throws {
    let rig = try Rig()
    try await rig.fill(isPinned: false)
    let gate = Latch()
    rig.loader.set(.late(gate, Self.new))
    let readings = rig.cache.values(rig.key, ResourceCache.Options())
    let seen = Task {
      var values: [String] = []
      for try await reading in readings {
        values.append("\(text(reading) ?? "") \(reading.isFresh)")
        gate.open()
      }
      return values
    }
    try await until { rig.clock.sleepers.contains(.seconds(2)) }
    await gate.reached()
    rig.clock.advance(by: .seconds(2))
    #expect(try await seen.value == ["\u{7F}PNG old false", "\u{7F}PNG new true"])
    #expect(rig.store[rig.key].map { String(decoding: $0.body, as: UTF8.self) } == "\u{7F}PNG new")
    try await rig.cache.close()
  }

  @Test("Work that no user waits for gets the late response itself")
  func unhurried() async throws {
    let rig = try Rig()
    try await rig.fill(isPinned: false)
    let gate = Latch()
    rig.loader.set(.late(gate, Self.new))
    var options = ResourceCache.Options()
    options.waitsForEnd = true
    let read = try await waiting(rig, options)
    await gate.reached()
    rig.clock.advance(by: .seconds(3))
    gate.open()
    #expect(text(try await read.value) == "\u{7F}PNG new")
    try await rig.cache.close()
  }

  @Test("A reader that leaves while it waits ends the request")
  func leaving() async throws {
    let rig = try Rig()
    try await rig.fill(isPinned: false)
    rig.loader.set(.hangs)
    var events = rig.cache.events.makeAsyncIterator()
    let read = try await waiting(rig, ResourceCache.Options())
    await rig.loader.stuck.reached()
    read.cancel()
    let error = await #expect(throws: BothyError.self) { try await read.value }
    #expect(error?.code == .cancelled)
    while let event = await events.next() { if event == .cancelled(rig.key) { break } }
    try await rig.cache.close()
  }

  @Test("A picture that is neither pinned nor visible waits for the request")
  func others() async throws {
    let rig = try Rig()
    try await rig.fill(isPinned: false)
    rig.loader.set(.answers(.init(200, fields: [.contentType: "image/png"], "\u{7F}PNG new")))
    #expect(text(try await rig.cache.value(rig.key)) == "\u{7F}PNG new")
    try await rig.cache.close()
  }

  @Test("A stored entry causes no request while the device is offline")
  func offline() async throws {
    let (stream, network) = AsyncStream.makeStream(of: NetworkState.self)
    let rig = try Rig(network: stream)
    try await rig.fill()
    network.yield(NetworkState(isReachable: false, isExpensive: true))
    while !rig.cache.networkState.isExpensive { await Task.yield() }
    let asked = rig.loader.requests
    for policy in [ReadPolicy.localElseRemote, .localThenRemote, .remoteElseLocal] {
      #expect(try await rig.cache.value(rig.key, policy: policy).freshness == .stale(.noNetwork))
    }
    await #expect { try await rig.cache.value(rig.key, policy: .remote) } throws: {
      let remedy = "The device has no network: read it under another policy."
      return $0 as? BothyError == BothyError(.offline, "\(rig.key) can't be downloaded. \(remedy)")
    }
    #expect(rig.loader.requests == asked)
    try await rig.cache.close()
  }
}
