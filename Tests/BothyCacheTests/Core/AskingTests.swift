import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("Requests to the server", .timeLimit(.minutes(5)))
struct AskingTests {
  /// Promises: T-24
  @Test("A 304 renews fields and times of an entry without a change event")
  func notModified() async throws {
    let rig = try CacheRig { request in
      request.fields[.ifNoneMatch] == "\"v1\""
        ? .init(304, fields: [.cacheControl: "max-age=9", .eTag: "\"v1\""])
        : .init(200, fields: [.eTag: "\"v1\"", .contentType: "text/plain"], "body")
    }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    rig.pass(.days(8))
    let listener = rig.listen()
    let renewed = try await rig.cache.value(tile)
    #expect(renewed.origin == .confirmed && renewed.freshness == .fresh && text(renewed) == "body")
    #expect(renewed.fields[.cacheControl] == "max-age=9" && renewed.fields[.contentType] == "text/plain")
    #expect(rig.store[tile]?.metadata.validatedAt == rig.time.now)
    #expect(rig.store[tile]?.metadata.receivedAt == rig.time.now - 8 * 86_400_000)
    #expect(try await rig.cache.value(tile).origin == .memory)
    #expect(try await listener.events(of: rig.cache) == [.requested(tile), .confirmed(tile)])
  }

  /// Promises: T-25
  @Test("A 200 replaces the stored entry and sends a change event")
  func replaced() async throws {
    let version = Atomic(1)
    let rig = try CacheRig { _ in
      .init(
        200, fields: [.eTag: "\"\(version.load(ordering: .relaxed))\""],
        "v\(version.load(ordering: .relaxed))")
    }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    version.store(2, ordering: .relaxed)
    rig.pass(.days(7))
    let listener = rig.listen()
    #expect(text(try await rig.cache.value(tile)) == "v2")
    #expect(rig.lastSent(.ifNoneMatch) == "\"1\"")
    #expect(rig.store[tile]?.metadata.fields[.eTag] == "\"2\"")
    #expect(try await listener.events(of: rig.cache) == [.requested(tile), .changed(tile, bytes: 2)])
  }

  /// Promises: T-26
  @Test("Requests without an ETag are unconditional, and unchanged bytes renew the entry")
  func noETag() async throws {
    let rig = try CacheRig()
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    #expect(rig.lastSent(.ifNoneMatch) == nil && rig.lastSent(.ifModifiedSince) == nil)
    rig.pass(.days(8))
    let listener = rig.listen()
    let again = try await rig.cache.value(tile)
    #expect(again.isFresh && again.origin == .network)
    #expect(rig.lastSent(.ifNoneMatch) == nil && rig.lastSent(.ifModifiedSince) == nil)
    #expect(rig.store[tile]?.metadata.fields[.eTag] == nil)
    #expect(rig.store[tile]?.metadata.validatedAt == rig.time.now)
    #expect(try await listener.events(of: rig.cache) == [.requested(tile), .confirmed(tile)])
  }

  /// Promises: T-27
  @Test(
    "Any other response does not change the entry", arguments: [500, 503, 400, 401, 403, 418, 302, 206])
  func otherStatus(status: Int) async throws {
    let isWell = Atomic(true)
    let rig = try CacheRig { _ in
      isWell.load(ordering: .relaxed) ? .init(200, "good") : .init(status, "bad")
    }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    let stored = rig.store[tile]
    isWell.store(false, ordering: .relaxed)
    rig.pass(.days(8))
    let served = try await rig.cache.value(tile)
    #expect(text(served) == "good")
    guard case .stale(.refreshFailed(let error)) = served.freshness else {
      Issue.record("served as \(served.freshness)")
      return
    }
    #expect(error.status == status || status == 302 || status == 206)
    #expect(rig.store[tile] == stored)
    await #expect(throws: BothyError.self) { try await rig.cache.value(tile, .reload) }
    #expect(rig.store[tile] == stored)
  }

  /// Promises: T-27
  @Test(
    "Statuses 404, 410 and 204 are stored as negative, with their own lifetime", arguments: [404, 410, 204])
  func absent(status: Int) async throws {
    var rule = FreshnessRule.fixed(.days(7))
    rule.negativeLifetime = .hours(6)
    let rig = try CacheRig(freshness: rule) { _ in .init(status, "nothing here") }
    let tile = try rig.tile()
    let first = try await rig.cache.value(tile)
    #expect(first.isAbsent && first.bytes == nil && first.isFresh)
    #expect(try await rig.cache.value(tile).isAbsent)
    #expect(rig.loader.requests.count == 1)
    #expect(rig.store[tile]?.body == Data())
    rig.pass(.hours(6))
    _ = try await rig.cache.value(tile)
    #expect(rig.loader.requests.count == 2)
    let states = await rig.cache.states(tile).reduce(into: [String]()) {
      $0.append("\($1)".prefix(6).description)
    }
    #expect(states == ["absent"])
  }

  /// Promises: B-9
  @Test("A 304 for a removed entry is followed by one unconditional request")
  func phantom() async throws {
    let gate = Latch()
    let rig = try CacheRig { request in
      guard request.fields[.ifNoneMatch] != nil else { return .init(200, fields: [.eTag: "\"1\""], "tile") }
      await gate.pass()
      return .init(304)
    }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    rig.pass(.days(8))
    let reading = Task { try await rig.cache.value(tile) }
    await gate.reached()
    try await rig.cache.removeAll("tiles")
    gate.open()
    #expect(text(try await reading.value) == "tile")
    #expect(rig.loader.requests.map { $0.fields[.ifNoneMatch] } == [nil, "\"1\"", nil])
    #expect(rig.store.keys == [tile])
  }

  /// Promises: B-25
  @Test("A failure isn't stored, so the next read sends a request")
  func failureIsNotKept() async throws {
    let calls = Atomic(0)
    let rig = try CacheRig { _ in
      calls.wrappingAdd(1, ordering: .relaxed).newValue == 1 ? .init(500, "broken") : .init(200, "tile")
    }
    let tile = try rig.tile()
    await #expect { try await rig.cache.value(tile) } throws: { ($0 as? BothyError)?.status == 500 }
    #expect(rig.cache.peek(tile) == nil && rig.store.keys.isEmpty)
    #expect(text(try await rig.cache.value(tile)) == "tile")
  }

  /// Promises: E-11, B-30
  @Test(
    "With a full or failing disk the caller receives bytes that are not stored",
    arguments: [true, false])
  func diskFull(isFull: Bool) async throws {
    let rig = try CacheRig()
    let tile = try rig.tile()
    rig.store.change { state in
      if isFull { state.refusal = .diskFull } else { state.failure = BothyError(.database, "disk I/O error") }
    }
    let listener = rig.listen()
    let loaded = try await rig.cache.value(tile)
    #expect(text(loaded) == "https://tiles.example/16/1/2.json")
    let obstacle = isFull ? CachedResource.StorageObstacle.diskFull : .failed("disk I/O error")
    #expect(loaded.storage == .notStored(obstacle))
    #expect(rig.store.keys.isEmpty)
    #expect(rig.cache.peek(tile) != nil)
    #expect(rig.cache.counters["tiles"]?.notStored == 1)
    rig.store.change { $0.failure = nil }
    #expect(
      try await listener.events(of: rig.cache)
        == [.requested(tile), .notStored(tile, obstacle), .changed(tile, bytes: 33)])
  }

  @Test("A response that must not be stored is returned only to its readers")
  func noStore() async throws {
    let rig = try CacheRig(freshness: .http) { _ in .init(200, fields: [.cacheControl: "no-store"], "secret")
    }
    let tile = try rig.tile()
    let loaded = try await rig.cache.value(tile)
    #expect(text(loaded) == "secret" && loaded.storage == .notStored(.forbidden(.answerForbids)))
    #expect(rig.cache.peek(tile) == nil && rig.store.keys.isEmpty)
  }

  @Test("A sign-in page instead of a tile is rejected without effect")
  func portal() async throws {
    let isCaught = Atomic(false)
    let rig = try CacheRig { _ in
      isCaught.load(ordering: .relaxed)
        ? .init(200, fields: [.contentType: "text/html"], "<html>Welcome to the hotel") : .init(200, "{}")
    }
    var source = rig.source
    source.content = .json
    try rig.cache.register(source)
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    let stored = rig.store[tile]
    isCaught.store(true, ordering: .relaxed)
    rig.pass(.days(8))
    let served = try await rig.cache.value(tile)
    #expect(text(served) == "{}")
    guard case .stale(.refreshFailed(let error)) = served.freshness else {
      Issue.record("served as \(served.freshness)")
      return
    }
    #expect(error.code == .unexpectedContent)
    #expect(rig.store[tile] == stored)
  }

  @Test("The old version comes at once, then the new version or the failure")
  func localThenRemote() async throws {
    let version = Atomic(1)
    let rig = try CacheRig { _ in
      let number = version.load(ordering: .relaxed)
      return number == 0 ? .init(500) : .init(200, "v\(number)")
    }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    version.store(2, ordering: .relaxed)
    rig.pass(.days(8))
    var seen: [String] = []
    for try await resource in rig.cache.values(tile) {
      seen.append("\(text(resource) ?? "-") \(resource.isFresh)")
    }
    #expect(seen == ["v1 false", "v2 true"])
    for try await resource in rig.cache.values(tile) { seen.append(text(resource) ?? "-") }
    #expect(seen.count == 3)
    version.store(0, ordering: .relaxed)
    rig.pass(.days(8))
    seen = []
    await #expect {
      for try await resource in rig.cache.values(tile) { seen.append(text(resource) ?? "-") }
    } throws: { ($0 as? BothyError)?.status == 500 }
    #expect(seen == ["v2"])
  }

  @Test("An entry that may be used during a refresh is returned at once")
  func staleWhileRevalidate() async throws {
    var rule = FreshnessRule.fixed(.days(1))
    rule.staleWhileRevalidating = .days(1)
    let version = Atomic(1)
    let rig = try CacheRig(freshness: rule) { _ in .init(200, "v\(version.load(ordering: .relaxed))") }
    let tile = try rig.tile()
    _ = try await rig.cache.value(tile)
    version.store(2, ordering: .relaxed)
    rig.pass(.hours(25))
    let served = try await rig.cache.value(tile)
    #expect(text(served) == "v1" && served.freshness == .stale(.refreshing))
    try await until { text(rig.cache.peek(tile)) == "v2" }
    #expect(rig.loader.requests.count == 2)
  }

  @Test("A request that changes resources removes their entries from the cache")
  func unsafe() async throws {
    let rig = try CacheRig { request in
      request.method == .get ? .init(200, "x") : .init(201, fields: [.location: "/16/9/9.json"])
    }
    let files = try ResourceSource(
      "files", template: "https://f.example", userAgent: "Tests/1 (tests.example)")
    try rig.cache.register(files)
    let (list, item) = (try files.key(path: "todos"), try files.key(path: "16/9/9.json"))
    for key in [list, item] { _ = try await rig.cache.value(key) }
    let reply = try await rig.cache.send(.post, to: list, body: Data("{}".utf8))
    #expect(reply.status == 201)
    #expect(rig.cache.peek(list) == nil && rig.cache.peek(item) == nil && rig.store.keys.isEmpty)
    _ = try await rig.cache.value(list)
    _ = try await rig.cache.send(.head, to: list)
    #expect(rig.cache.peek(list) != nil)
  }
}
