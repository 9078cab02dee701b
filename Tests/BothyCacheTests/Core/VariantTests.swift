import BothyCache
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

/// Tests of several responses under one key, for requests with different fields.
@Suite("Variants", .timeLimit(.minutes(5)))
struct VariantTests {
  private static let languages = ["de", "en", "fr", "it", "no", "sv"]

  private func rig(
    store: StoreDouble = StoreDouble(), freshness: FreshnessRule = .fixed(.days(7))
  ) throws -> CacheRig {
    try CacheRig(freshness: freshness, store: store) { request in
      let language = request.fields[.acceptLanguage] ?? "none"
      let tag = "\"\(language)\""
      if request.fields[.ifNoneMatch] == tag { return .init(304, fields: [.eTag: tag]) }
      return .init(200, fields: [.vary: "Accept-Language", .eTag: tag], language)
    }
  }

  private func read(
    _ rig: CacheRig, _ language: String?, _ policy: ReadPolicy = .localElseRemote, reloads: Bool = false
  ) async throws -> String? {
    let fields: HTTPFields = language.map { [.acceptLanguage: $0] } ?? [:]
    var options = ResourceCache.Options(policy: policy, fields: fields)
    options.ignoresStored = reloads
    return text(try await rig.cache.value(try rig.tile(), options))
  }

  @Test("Each request receives its own response, from memory and from disk")
  func selection() async throws {
    let rig = try rig()
    for language in ["de", "en", nil, "fr"] {
      #expect(try await read(rig, language) == language ?? "none")
    }
    #expect(rig.loader.requests.count == 4)
    for language in ["fr", "de", nil, "en"] {
      #expect(try await read(rig, language) == language ?? "none")
    }
    #expect(rig.store.keys.count == 4 && rig.cache.memoryUse.count == 4)
    #expect(text(rig.cache.peek(try rig.tile())) == "none", "the source's own fields say nothing of it")
    rig.cache.relieve(.warning)
    #expect(rig.cache.memoryUse.count == 0)
    for language in ["en", nil, "fr", "de"] {
      #expect(try await read(rig, language, .local) == language ?? "none")
    }
    #expect(rig.loader.requests.count == 4)
    let (tile, inspected) = (try rig.tile(), try await rig.cache.inspect())
    #expect(inspected.map(\.key) == Array(repeating: tile, count: 4))
  }

  @Test("A response to an equal request goes before one in the preferred language")
  func preferredLanguage() async throws {
    let rig = try CacheRig(freshness: .fixed(.days(7))) { request in
      let fields: HTTPFields = [.vary: "Accept-Language", .contentLanguage: "de"]
      return .init(200, fields: fields, request.fields[.acceptLanguage] ?? "none")
    }
    #expect(try await read(rig, "en, de") == "en, de")
    #expect(try await read(rig, "de", .local) == "en, de")
    rig.pass(.minutes(1))
    #expect(try await read(rig, "de", .remote, reloads: true) == "de")
    for _ in 0..<2 {
      #expect(try await read(rig, "de", .local) == "de")
      #expect(try await read(rig, "en, de", .local) == "en, de")
      #expect(try await read(rig, "de, en;q=0.5", .local) == "de", "the newest in the language")
      rig.cache.relieve(.warning)
      #expect(try await read(rig, "de, en;q=0.5", .local) == "de", "from the disk")
    }
    #expect(rig.loader.requests.count == 2)
  }

  @Test("A fifth response replaces the one with the oldest confirmation")
  func bound() async throws {
    let rig = try rig()
    for language in Self.languages.prefix(4) {
      _ = try await read(rig, language)
      rig.pass(.minutes(1))
    }
    _ = try await read(rig, "de", .remote)
    #expect(try await read(rig, "no") == "no")
    #expect(rig.store.keys.count == 4 && rig.cache.memoryUse.count == 4)
    for language in ["de", "fr", "it", "no"] {
      #expect(try await read(rig, language, .local) == language)
    }
    await #expect(throws: BothyError.self) { try await read(rig, "en", .local) }
    rig.cache.relieve(.warning)
    await #expect(throws: BothyError.self) { try await read(rig, "en", .local) }
  }

  @Test("A 304 confirms the response of its request, and leaves the others")
  func confirmation() async throws {
    let rig = try rig(freshness: .fixed(.hours(1)))
    for language in ["de", "en"] { _ = try await read(rig, language) }
    rig.pass(.hours(2))
    let options = ResourceCache.Options(fields: [.acceptLanguage: "en"])
    let confirmed = try await rig.cache.value(try rig.tile(), options)
    let tile = try rig.tile()
    #expect(confirmed.origin == .confirmed && text(confirmed) == "en" && confirmed.key == tile)
    #expect(rig.lastSent(.ifNoneMatch) == "\"en\"")
    for _ in 0..<2 {
      #expect(try await rig.cache.value(try rig.tile(), options).isFresh)
      let german = ResourceCache.Options(policy: .local, fields: [.acceptLanguage: "de"])
      #expect(try await !rig.cache.value(try rig.tile(), german).isFresh)
      rig.cache.relieve(.warning)
    }
    #expect(rig.loader.requests.count == 3 && rig.store.keys.count == 2)
  }

  @Test("A removal or a request that changes the resource removes all variants")
  func invalidation() async throws {
    for isUnsafe in [false, true] {
      let rig = try rig()
      for language in Self.languages.prefix(4) { _ = try await read(rig, language) }
      if isUnsafe {
        _ = try await rig.cache.send(.put, to: try rig.tile())
      } else {
        try await rig.cache.remove(try rig.tile())
      }
      #expect(rig.store.keys.isEmpty && rig.cache.memoryUse.count == 0)
    }
  }

  @Test("Expired variants are evicted, and fresh ones are still found")
  func expired() async throws {
    let rig = try rig(freshness: .fixed(.hours(1)))
    _ = try await read(rig, "de")
    rig.pass(.hours(2))
    _ = try await read(rig, "en")
    #expect(try await rig.cache.removeExpired() == 1)
    for _ in 0..<2 {
      #expect(try await read(rig, "en", .local) == "en")
      await #expect(throws: BothyError.self) { try await read(rig, "de", .local) }
      rig.cache.relieve(.warning)
    }
  }

  @Test("A response for all requests or with other Vary fields replaces all variants")
  func otherFields() async throws {
    let vary = Locked<String?>("Accept-Language")
    let rig = try CacheRig { request in
      var fields: HTTPFields = [:]
      fields[.vary] = vary.value
      return .init(200, fields: fields, (vary.value ?? "all") + (request.fields[.acceptLanguage] ?? ""))
    }
    for (next, expected) in [("Accept", "Acceptsv"), (nil, "allsv")] as [(String?, String)] {
      vary.change { $0 = "Accept-Language" }
      for language in ["de", "en"] { _ = try await read(rig, language) }
      vary.change { $0 = next }
      #expect(try await read(rig, "sv", .remote, reloads: true) == expected)
      #expect(try await read(rig, "de", .local) == expected)
      rig.cache.relieve(.warning)
      #expect(try await read(rig, "de", .local) == expected)
      #expect(rig.store.keys.count == 1)
      try await rig.cache.remove(try rig.tile())
    }
  }

  @Test("An updated app finds what came with Vary for its earlier user agent")
  func userAgent() async throws {
    let rig = try CacheRig(freshness: .fixed(.hours(1))) { request in
      if request.fields[.ifNoneMatch] == "\"1\"" { return .init(304, fields: [.eTag: "\"1\""]) }
      return .init(
        200, fields: [.vary: "User-Agent", .eTag: "\"1\""], request.fields[.userAgent] ?? "none")
    }
    let (tile, before) = (try rig.tile(), rig.source.headers[.userAgent])
    #expect(text(try await rig.cache.value(tile)) == before)
    var updated = rig.source
    updated.headers[.userAgent] = "Tests/2 (tests.example)"
    try rig.cache.register(updated)
    for _ in 0..<2 {
      let stored = try await rig.cache.value(tile, policy: .local)
      #expect(text(stored) == before && text(rig.cache.peek(tile)) == before)
      rig.cache.relieve(.warning)
    }
    rig.pass(.hours(2))
    #expect(try await rig.cache.value(tile).origin == .confirmed)
    #expect(rig.lastSent(.userAgent) == "Tests/2 (tests.example)")
    let other = ResourceCache.Options(policy: .local, fields: [.userAgent: "Other/1"])
    await #expect(throws: BothyError.self) { try await rig.cache.value(tile, other) }
    #expect(rig.loader.requests.count == 2 && rig.store.keys.count == 1)
  }

  @Test("A cache in memory alone keeps several variants too")
  func memoryAlone() async throws {
    let loader = ScriptedLoader { request in
      .init(200, fields: [.vary: "Accept-Language"], request.fields[.acceptLanguage] ?? "none")
    }
    let source = try CacheRig.source("tiles")
    let cache = try ResourceCache(sources: [source], loader: loader)
    let tile = try source.key(zoom: 16, x: 1, y: 2)
    for language in ["de", "en", "de", "en"] {
      let resource = try await cache.value(tile, ResourceCache.Options(fields: [.acceptLanguage: language]))
      #expect(text(resource) == language)
    }
    #expect(loader.requests.count == 2)
  }

  @Test("Simultaneous requests for different responses are separate")
  func atomic() async throws {
    let rig = try rig()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for language in Self.languages.prefix(4) {
        group.addTask {
          let got = try await read(rig, language)
          #expect(got == language)
        }
      }
      try await group.waitForAll()
    }
    for _ in 0..<2 {
      for language in Self.languages.prefix(4) {
        #expect(try await read(rig, language, .local) == language)
      }
      rig.cache.relieve(.warning)
    }
  }

  @Test("A pinned resource keeps all its variants, and serves them without a network")
  func pinned() async throws {
    for kind in StoreKind.allCases {
      let folder = try TemporaryFolder()
      let source = try CacheRig.source("tiles")
      let loader = ScriptedLoader { request in
        .init(
          200, fields: [.vary: "Accept-Language", .cacheControl: "max-age=1, must-revalidate"],
          request.fields[.acceptLanguage] ?? "none")
      }
      let cache = try ResourceCache(
        sources: [source], settings: CacheSettings(disk: DiskCache.Limits(count: 2)),
        disk: DiskCache { try kind.open(folder, $0) }, loader: loader)
      let (kept, other) = (try source.key(zoom: 16, x: 1, y: 2), try source.key(zoom: 16, x: 3, y: 4))
      _ = try await cache.value(kept, ResourceCache.Options(fields: [.acceptLanguage: "de"]))
      try await cache.pin([kept], by: "Oslo")
      for key in [kept, other] {
        for language in ["en", "fr", "it"] {
          _ = try await cache.value(key, ResourceCache.Options(fields: [.acceptLanguage: language]))
        }
      }
      let totals = try #require(try await cache.totals()["tiles"])
      #expect(totals.pinnedCount == 4 && totals.count <= 6, "\(kind)")
      let pins = try await cache.pins()
      #expect(pins.map(\.key) == [kept] && pins.map(\.holder) == ["Oslo"])
      #expect(pins.first?.bytes == totals.pinnedBytes)
      cache.relieve(.warning)
      cache.suspendNetwork()
      for language in ["de", "en", "fr", "it"] {
        #expect(
          text(try await cache.value(kept, ResourceCache.Options(fields: [.acceptLanguage: language])))
            == language)
      }
      #expect(try await cache.collectGarbage().removedFiles == 0)
      #expect(try await cache.totals()["tiles"] == totals)
      try await cache.unpin(by: "Oslo")
      let left = try #require(try await cache.totals()["tiles"])
      #expect(left.count <= 2 && left.pinnedCount == 0)
      #expect(try await cache.pins().isEmpty)
    }
  }

  @Test("Entries of different variants are separate in a store", arguments: StoreKind.allCases)
  func stores(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    let keys = [tile(1), ResourceKey("osm", path: "a/b"), ResourceKey("osm", path: "a")].flatMap(\.variants)
    for (number, key) in keys.enumerated() { try store.store([(key, makeEntry(number, size: 200_000))]) }
    try store.close()
    let again = try kind.open(folder)
    var listed: Set<ResourceKey> = []
    try again.forEach(nil) { key, _, _ in listed.insert(key) }
    #expect(listed == Set(keys))
    for (number, key) in keys.enumerated() {
      #expect(try again.entry(key)?.body == makeEntry(number, size: 200_000).body)
    }
    try again.remove([keys[0], keys[5]])
    #expect(try again.total().count == keys.count - 2)
    #expect(try again.entry(keys[0]) == nil && again.entry(keys[1]) != nil && again.entry(keys[5]) == nil)
    #expect(try again.verify { _ in }.damaged.isEmpty && again.collectGarbage().removedFiles == 0)
  }
}

/// Tests of the place of a new response, decided by values alone.
@Suite("Places of variants", .timeLimit(.minutes(5)))
struct VariantPlaceTests {
  private func answer(_ value: String?, _ name: String = "accept", at time: Int64 = 0) -> EntryMetadata {
    EntryMetadata(
      status: 200, fields: [:], requestedAt: time, receivedAt: time, validatedAt: time,
      freshness: FreshnessMetadata(lifetime: 0),
      variedOn: value.map { [VariedField(name: name, value: $0)] } ?? [])
  }

  @Test("Equal values replace, free places fill up, then the oldest is replaced")
  func order() {
    var stored: [(variant: UInt8, metadata: EntryMetadata)] = []
    for (time, value) in ["a", "b", "c", "d"].enumerated() {
      let new = answer(value, at: Int64(time))
      let place = VariantSlot(of: new, among: stored)
      #expect(place.variant == UInt8(time) && place.outdated.isEmpty)
      stored.append((place.variant, new))
    }
    #expect(VariantSlot(of: answer("c", at: 9), among: stored).variant == 2)
    #expect(VariantSlot(of: answer("e", at: 9), among: stored).variant == 0)
    stored[0].metadata.validatedAt = 8
    #expect(VariantSlot(of: answer("e", at: 9), among: stored).variant == 1)
    stored.remove(at: 2)
    #expect(VariantSlot(of: answer("e", at: 9), among: stored).variant == 2)
  }

  @Test("A response with other Vary fields outdates all variants and uses the first place")
  func otherFields() {
    let stored = [(variant: UInt8(1), metadata: answer("a")), (variant: UInt8(3), metadata: answer("b"))]
    for new in [answer(nil), answer("a", "accept-language")] {
      let place = VariantSlot(of: new, among: stored)
      #expect(place.variant == 0 && place.outdated == [1, 3])
    }
    #expect(VariantSlot(of: answer(nil), among: [(0, answer(nil))]) == .only)
  }
}
