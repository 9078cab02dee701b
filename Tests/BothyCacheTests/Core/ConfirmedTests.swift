import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("New versions of tiles over plain HTTP", .timeLimit(.minutes(5)))
struct ConfirmedTests {
  private struct Rig {
    let time = VirtualTime()
    let store = StoreDouble()
    /// The text of every response, or `nil` for a text of its own for each address.
    let page = Locked<String?>(nil)
    let version = Locked(1)
    let cache: ResourceCache
    let keys: [ResourceKey]

    init(scheme: String) throws {
      let (page, version, store) = (page, version, store)
      let loader = ScriptedLoader { request in
        .init(
          200, fields: [.eTag: "\"\(version.value)\""], page.value ?? "\(request.url) v\(version.value)")
      }
      let source = try ResourceSource(
        "hills", template: "\(scheme)://hills.example/{z}/{x}/{y}", freshness: .fixed(.days(7)),
        userAgent: "Tests/1 (tests.example)", content: ContentExpectation())
      cache = try ResourceCache(
        sources: [source], disk: DiskCache { _ in store }, loader: loader,
        clock: LoadClock(VirtualClock(), wall: time.reader()))
      keys = try (0..<4).map { try source.key(zoom: 4, x: $0, y: 1) }
    }

    /// Stores all tiles, pins them, and lets them become stale.
    func fill() async throws {
      for key in keys { _ = try await cache.value(key) }
      try await cache.pin(keys, by: "region:test")
      time.advance(by: Duration.days(30).wholeMilliseconds)
    }

    /// Reads a tile as a screen does, and waits for the refresh behind it. Returns true if that was stored.
    func read(_ key: ResourceKey) async throws -> Bool {
      var events = cache.events.makeAsyncIterator()
      let shown = try await cache.value(key, priority: .visible)
      #expect(shown.freshness == .stale(.refreshing))
      while let event = await events.next() {
        if case .changed(key, _) = event { return true }
        if case .notStored(key, _) = event { return false }
      }
      return false
    }

    func bodies() -> [String?] { keys.map { store[$0].map { String(decoding: $0.body, as: UTF8.self) } } }
  }

  @Test("A network that answers all tiles with one picture replaces none")
  func portal() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    let old = rig.bodies()
    rig.page.value = "hotel"
    for key in rig.keys { #expect(try await !rig.read(key)) }
    #expect(rig.bodies() == old)
    #expect(rig.keys.allSatisfy { rig.store[$0]?.metadata.fields[.eTag] == "\"1\"" })
    try await rig.cache.close()
  }

  @Test("Two tiles with different content confirm each other")
  func confirmed() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    rig.version.value = 2
    #expect(try await !rig.read(rig.keys[0]))
    #expect(rig.bodies()[0]?.hasSuffix("v1") == true)
    #expect(try await rig.read(rig.keys[1]))
    #expect(rig.bodies().prefix(2).allSatisfy { $0?.hasSuffix("v2") == true })
    #expect(rig.bodies().suffix(2).allSatisfy { $0?.hasSuffix("v1") == true })
    try await rig.cache.close()
  }

  @Test("Content that two tiles share is not confirmed by a third one")
  func shared() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    rig.page.value = "hotel"
    for key in rig.keys.prefix(2) { #expect(try await !rig.read(key)) }
    rig.page.value = nil
    rig.version.value = 2
    #expect(try await rig.read(rig.keys[2]))
    #expect(rig.bodies().prefix(2).allSatisfy { $0?.hasSuffix("v1") == true })
    try await rig.cache.close()
  }

  @Test("A tile confirms no other after ten seconds, or after its removal")
  func late() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    rig.version.value = 2
    #expect(try await !rig.read(rig.keys[0]))
    rig.time.advance(by: 11_000)
    #expect(try await !rig.read(rig.keys[1]))
    try await rig.cache.remove(rig.keys[1])
    #expect(try await !rig.read(rig.keys[2]))
    #expect(rig.store[rig.keys[1]] == nil)
    try await rig.cache.close()
  }

  @Test("A held version never replaces one that was stored later")
  func outdated() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    try await rig.cache.unpin(by: "region:test")
    rig.version.value = 2
    #expect(try await !rig.read(rig.keys[0]))
    rig.version.value = 3
    // A read may still join the refresh that has ended.
    while rig.bodies()[0]?.hasSuffix("v3") != true {
      _ = try await rig.cache.value(rig.keys[0], policy: .remote)
    }
    #expect(try await !rig.read(rig.keys[1]))
    #expect(rig.bodies()[0]?.hasSuffix("v3") == true)
    try await rig.cache.close()
  }

  @Test("A version that came by another network is never confirmed")
  func otherNetwork() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    rig.page.value = "sign in"
    #expect(try await !rig.read(rig.keys[0]))
    rig.page.value = nil
    rig.version.value = 2
    rig.cache.networkChanged()
    #expect(try await !rig.read(rig.keys[1]))
    #expect(try await rig.read(rig.keys[2]))
    #expect(rig.bodies()[0]?.hasSuffix("v1") == true)
    #expect(rig.bodies()[1...2].allSatisfy { $0?.hasSuffix("v2") == true })
    try await rig.cache.close()
  }

  @Test("Over HTTPS one new version is stored")
  func secure() async throws {
    let rig = try Rig(scheme: "https")
    try await rig.fill()
    rig.version.value = 2
    #expect(try await rig.read(rig.keys[0]))
    try await rig.cache.close()
  }

  @Test("A reader who waits gets the new version, and the pinned tile awaits another")
  func waiting() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    rig.version.value = 2
    let answer = try await rig.cache.value(rig.keys[0], policy: .remote)
    #expect(text(answer)?.hasSuffix("v2") == true && answer.storage != .stored)
    #expect(rig.bodies()[0]?.hasSuffix("v1") == true)
    _ = try await rig.cache.value(rig.keys[1], policy: .remote)
    #expect(rig.bodies().prefix(2).allSatisfy { $0?.hasSuffix("v2") == true })
    try await rig.cache.close()
  }

  @Test("The bytes of a held response count once")
  func counted() async throws {
    let rig = try Rig(scheme: "http")
    try await rig.fill()
    let before = rig.cache.counters["hills"]?.bytesLoaded ?? 0
    rig.page.change { $0 = "sign in" }
    #expect(try await !rig.read(rig.keys[0]))
    #expect((rig.cache.counters["hills"]?.bytesLoaded ?? 0) - before == 7)
  }
}
