import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Typed resources", .timeLimit(.minutes(5)))
struct TypedResourceTests {
  struct Menu: Codable, Sendable, Equatable { var dish: String }
  struct Price: Codable, Sendable, Equatable { var cents: Int }

  private func api(_ rig: CacheRig) throws -> ResourceSource {
    var limits = SourceLimits()
    limits.attempts = 1
    let source = try ResourceSource(
      "api", template: "https://api.example", userAgent: "Tests/1 (tests.example)", limits: limits)
    try rig.cache.register(source)
    return source
  }

  private static func json(_ dish: String) -> String { #"{"dish":"\#(dish)"}"# }

  /// Promises: K-13, K-14, K-15, K-16
  @Test("An update requests only missing and expired values")
  func updateIfNeeded() async throws {
    let rig = try CacheRig { _ in
      .init(200, fields: [.eTag: "W/\"a\"", .contentType: "application/json"], Self.json("soup"))
    }
    let menu = try Resource<Menu>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1))
    #expect(try await menu.updateIfNeeded() == .changed)
    #expect(try await menu.updateIfNeeded() == .notNeeded)
    rig.pass(.hours(1) - .milliseconds(1))
    #expect(try await menu.updateIfNeeded() == .notNeeded)
    rig.pass(.milliseconds(1))
    #expect(try await menu.updateIfNeeded() == .confirmed)
    rig.time.advance(by: -3_600_000)
    #expect(try await menu.updateIfNeeded() == .confirmed)
    #expect(rig.loader.requests.count == 3)
    #expect(try await menu.value().value == Menu(dish: "soup"))
    let metadata = try #require(rig.store[menu.key]).metadata
    #expect(metadata.receivedAt == rig.time.now && metadata.fields[.eTag] == "W/\"a\"")
    #expect(metadata.valueType?.hasSuffix("Menu") == true && metadata.formatVersion == 0)
  }

  /// Promises: K-14
  @Test("A negative interval is rejected, and without one the server's fields apply")
  func interval() async throws {
    let rig = try CacheRig { _ in .init(200, fields: [.cacheControl: "max-age=60"], Self.json("soup")) }
    let key = try api(rig).key(path: "menu")
    #expect { try Resource<Menu>(key, in: rig.cache, expirationInterval: .seconds(-1)) } throws: {
      ($0 as? BothyError)?.code == .invalidConfiguration
    }
    let menu = try Resource<Menu>(key, in: rig.cache)
    _ = try await menu.updateIfNeeded()
    rig.pass(.seconds(59))
    #expect(try await menu.updateIfNeeded() == .notNeeded)
    rig.pass(.seconds(1))
    #expect(try await menu.updateIfNeeded() == .confirmed)
  }

  /// Promises: K-15
  @Test("A value of another type under the key counts as not stored")
  func otherType() async throws {
    let rig = try CacheRig { _ in .init(200, fields: [.eTag: "\"1\""], #"{"dish":"soup","cents":350}"#) }
    let key = try api(rig).key(path: "menu")
    _ = try await Resource<Menu>(key, in: rig.cache).updateIfNeeded()
    let price = try Resource<Price>(key, in: rig.cache)
    await #expect { try await price.value(policy: .local) } throws: {
      let remedy = "Read it under another policy to download it."
      return $0 as? BothyError == BothyError(.notCached, "\(key) is not in the cache. \(remedy)")
    }
    #expect(try await price.value().value == Price(cents: 350))
    #expect(rig.lastSent(.ifNoneMatch) == nil)
  }

  @Test("A value is decoded once if its bytes fit the limit", arguments: [1 << 20, 16 << 20])
  func large(limit: Int) async throws {
    let dish = String(repeating: "a", count: 5 << 20)
    let decodings = Locked(0)
    let rig = try CacheRig(settings: CacheSettings(decodedBytes: limit)) { _ in .init(200, Self.json(dish)) }
    let size = try Resource<Int>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1)
    ) { bytes in
      decodings.change { $0 += 1 }
      return bytes.count
    }
    for _ in 0..<2 { #expect(try await size.value().value > dish.count) }
    #expect((decodings.value == 1) == (limit > dish.count))
  }

  /// Promises: K-17
  @Test("A stored change is reported, and unchanged bytes only renew the time")
  func changes() async throws {
    let dish = Locked("soup")
    let rig = try CacheRig { _ in .init(200, Self.json(dish.value)) }
    let menu = try Resource<Menu>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1))
    let (changes, listener) = (menu.changes, rig.listen())
    let store = rig.store
    let told = Received<String>()
    let listening = Task {
      for await change in changes {
        #expect(
          store[menu.key].map { String(decoding: $0.body, as: UTF8.self) } == Self.json(change.value.dish))
        told.append(change.value.dish)
        if change.value.dish == "stew" { break }
      }
    }
    _ = try await menu.updateIfNeeded()
    // The value that a change brings is read later, and is then the newest.
    try await until { told.values == ["soup"] }
    rig.pass(.hours(2))
    #expect(try await menu.updateIfNeeded() == .confirmed)
    #expect(rig.store[menu.key]?.metadata.validatedAt == rig.time.now)
    dish.change { $0 = "stew" }
    rig.pass(.hours(2))
    #expect(try await menu.updateIfNeeded() == .changed)
    await listening.value
    #expect(told.values == ["soup", "stew"])
    let events = try await listener.events(of: rig.cache)
    #expect(events.filter { if case .confirmed = $0 { true } else { false } }.count == 1)
  }

  /// Promises: B-41, K-19
  @Test("Errors of the server and broken JSON change neither value nor time")
  func failures() async throws {
    let answer = Locked((200, Self.json("soup")))
    let rig = try CacheRig { _ in .init(answer.value.0, answer.value.1) }
    let menu = try Resource<Menu>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1))
    _ = try await menu.updateIfNeeded()
    let stored = rig.store[menu.key]
    for (status, body, code) in [(500, "", BothyError.Code.refused), (200, #"{"dish": 7"#, .undecodable)] {
      answer.change { $0 = (status, body) }
      rig.pass(.hours(2))
      await #expect { try await menu.updateIfNeeded() } throws: { ($0 as? BothyError)?.code == code }
      #expect(rig.store[menu.key] == stored)
      let served = try await menu.value()
      #expect(served.value == Menu(dish: "soup") && !served.isFresh)
    }
    answer.change { $0 = (200, Self.json("stew")) }
    #expect(try await menu.updateIfNeeded() == .changed)
  }

  /// Promises: B-42, E-12
  @Test("Readers of the bytes and of values of several types share one request")
  func sharedByAllReaders() async throws {
    for (body, isMenu, isPrice) in [
      (#"{"dish":"soup","cents":350}"#, true, true), (#"{"cents":350}"#, false, true), ("soup", false, false),
    ] {
      let gate = Latch()
      let rig = try CacheRig { _ in
        await gate.pass()
        return .init(200, fields: [.eTag: "\"1\""], body)
      }
      let key = try api(rig).key(path: "menu")
      let (menu, price) = (try Resource<Menu>(key, in: rig.cache), try Resource<Price>(key, in: rig.cache))
      let bytes = Task { try await rig.cache.value(key) }
      try await until { rig.loader.requests.count == 1 }
      let menus = Task { try? await menu.value().value }
      try await until { rig.cache.counters["api"]?.coalesced == 1 }
      let prices = Task { try? await price.value().value }
      try await until { rig.cache.counters["api"]?.coalesced == 2 }
      gate.open()
      #expect(text(try await bytes.value) == body)
      #expect(await menus.value == (isMenu ? Menu(dish: "soup") : nil))
      #expect(await prices.value == (isPrice ? Price(cents: 350) : nil))
      #expect(rig.loader.requests.count == 1)
      let isValue = isMenu || isPrice
      #expect((rig.store[key] != nil) == isValue, "what nobody can read is not stored")
      #expect(try await bytes.value.storage == (isValue ? .stored : .notStored(.undecodable)))
      #expect(rig.store[key]?.metadata.valueType.map { $0.hasSuffix(isMenu ? "Menu" : "Price") } != false)
    }
  }

  /// Promises: B-42, K-18
  @Test("Two tasks for one value share a download, and its bytes are decoded once")
  func sharedDownload() async throws {
    let gate = Latch()
    let decoded = Locked(0)
    let rig = try CacheRig { _ in
      await gate.pass()
      return .init(200, Self.json("soup"))
    }
    let menu = try Resource<Menu>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1)
    ) { bytes in
      decoded.change { $0 += 1 }
      return try JSONDecoder().decode(Menu.self, from: bytes)
    }
    let reads = (0..<4).map { _ in Task { try await menu.value().value } }
    let updates = (0..<4).map { _ in Task { try await menu.updateIfNeeded() } }
    try await until { rig.cache.counters["api"]?.coalesced == 7 }
    gate.open()
    for task in reads { #expect(try await task.value == Menu(dish: "soup")) }
    for task in updates { #expect(try await task.value == .changed) }
    #expect(rig.loader.requests.count == 1)
    rig.cache.relieve(.elevated)
    for _ in 0..<10 { _ = try await menu.value() }
    rig.pass(.hours(2))
    #expect(try await menu.updateIfNeeded() == .confirmed)
    _ = try await menu.value()
    #expect(decoded.value <= 2)
  }

  @Test("Another version of the format decodes stored bytes again without a request")
  func formatVersion() async throws {
    let rig = try CacheRig { _ in .init(200, Self.json("soup")) }
    let key = try api(rig).key(path: "menu")
    let first = try Resource<String>(key, in: rig.cache, version: 1) { String(decoding: $0, as: UTF8.self) }
    _ = try await first.value()
    let second = try Resource<String>(key, in: rig.cache, version: 2) { "\($0.count) bytes" }
    #expect(try await second.value(policy: .local).value == "15 bytes")
    #expect(try await first.value(policy: .local).value == Self.json("soup"))
    #expect(rig.loader.requests.count == 1)
  }

  /// Promises: B-43
  @Test("A value can be removed")
  func removing() async throws {
    let rig = try CacheRig { _ in .init(200, Self.json("soup")) }
    let menu = try Resource<Menu>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1))
    _ = try await menu.value()
    try await menu.remove()
    #expect(rig.store.keys.isEmpty)
    await #expect(throws: BothyError.self) { try await menu.value(policy: .local) }
  }

  @Test("The old value comes at once, and a confirmation adds no value")
  func values() async throws {
    let dish = Locked("soup")
    let rig = try CacheRig { _ in .init(200, Self.json(dish.value)) }
    let menu = try Resource<Menu>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1))
    func read() async throws -> [String] {
      try await menu.values().reduce(into: []) { $0.append($1.value.dish) }
    }
    #expect(try await read() == ["soup"])
    rig.pass(.hours(2))
    #expect(try await read() == ["soup"])
    dish.change { $0 = "stew" }
    rig.pass(.hours(2))
    #expect(try await read() == ["soup", "stew"])
  }

  @Test("A missing resource is an error of its own")
  func absent() async throws {
    let rig = try CacheRig { _ in .init(404, "") }
    let menu = try Resource<Menu>(try api(rig).key(path: "menu"), in: rig.cache)
    await #expect { try await menu.value() } throws: {
      ($0 as? BothyError)?.code == .absent && ($0 as? BothyError)?.status == 404
    }
  }

  @Test("A value that exists again comes after an answer that it doesn't")
  func existsAgain() async throws {
    let status = Locked(404)
    let rig = try CacheRig { _ in .init(status.value, Self.json("soup")) }
    let menu = try Resource<Menu>(
      try api(rig).key(path: "menu"), in: rig.cache, expirationInterval: .hours(1))
    func all() async throws -> [String] {
      try await menu.values().reduce(into: []) { $0.append($1.value.dish) }
    }
    await #expect { try await all() } throws: { ($0 as? BothyError)?.code == .absent }
    status.change { $0 = 200 }
    rig.pass(.days(30))
    #expect(try await all() == ["soup"])
  }

  @Test("A closed cache sends no request for an update")
  func closed() async throws {
    let rig = try CacheRig { _ in .init(200, Self.json("soup")) }
    let menu = try Resource<Menu>(try api(rig).key(path: "menu"), in: rig.cache)
    try await rig.cache.close()
    await #expect { try await menu.updateIfNeeded() } throws: { ($0 as? BothyError)?.code == .closed }
    #expect(rig.loader.requests.isEmpty)
  }
}
