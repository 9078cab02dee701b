import BothyCache
import BothyTestSupport
import HTTPTypes
import Testing

@Suite("Reading pinned resources", .timeLimit(.minutes(5)))
struct PinnedReadingTests {
  @Test(
    "Pinned resources are served without a network as stale, whatever the server demands",
    arguments: ["no-cache", "max-age=10, must-revalidate"])
  func offline(control: String) async throws {
    let rig = try CacheRig(freshness: .http) { _ in .init(200, fields: [.cacheControl: control], "map") }
    let (pinned, other) = (try rig.tile(1), try rig.tile(2))
    for key in [pinned, other] { _ = try await rig.cache.value(key) }
    try await rig.cache.pin([pinned], by: "region")
    rig.pass(.days(400))
    rig.cache.suspendNetwork()
    let read = try await rig.cache.value(pinned)
    #expect(text(read) == "map" && read.freshness == .stale(.noNetwork))
    await #expect(throws: BothyError.self) { try await rig.cache.value(other) }
    rig.cache.resumeNetwork()
    let asked = rig.loader.requests.count
    #expect(try await rig.cache.value(pinned).freshness == .stale(.refreshing), "the answer waits for nobody")
    #expect(try await rig.cache.value(pinned, policy: .remoteElseLocal).isFresh)
    #expect((asked + 1...asked + 2).contains(rig.loader.requests.count))
  }

  @Test("A pinned entry replaces a failed response, unless the read has no-cache")
  func failing() async throws {
    let answering = Answering(200)
    let rig = try CacheRig(freshness: .http) { _ in
      .init(answering.value, fields: [.cacheControl: "no-cache"], "map")
    }
    let key = try rig.tile()
    _ = try await rig.cache.value(key)
    answering.value = 503
    await #expect(throws: BothyError.self) { try await rig.cache.value(key) }
    try await rig.cache.pin([key], by: "region")
    #expect(text(try await rig.cache.value(key)) == "map")
    var options = ResourceCache.Options()
    options.fields = [.cacheControl: "no-cache"]
    let wanting = options
    await #expect(throws: BothyError.self) { try await rig.cache.value(key, wanting) }
  }

  @Test("A pinned response with Vary stays readable when the source sends other fields")
  func otherFields() async throws {
    let rig = try CacheRig { request in
      let fields: HTTPFields = [.vary: "Accept-Language", .eTag: "\"1\""]
      if request.fields[.ifNoneMatch] != nil { return .init(304, fields: fields) }
      return .init(200, fields: fields, request.fields[.acceptLanguage] ?? "none")
    }
    let (pinned, other) = (try rig.tile(1), try rig.tile(2))
    for key in [pinned, other] { _ = try await rig.cache.value(key) }
    try await rig.cache.pin([pinned], by: "region")
    var updated = rig.source
    updated.headers[.acceptLanguage] = "no"
    try rig.cache.register(updated)
    rig.cache.suspendNetwork()
    for _ in 0..<2 {
      let read = try await rig.cache.value(pinned)
      #expect(text(read) == "none" && read.freshness == .stale(.noNetwork))
      #expect(try await rig.cache.value(pinned, policy: .local).freshness == .stale(.notChecked))
      await #expect(throws: BothyError.self) { try await rig.cache.value(other, policy: .local) }
      let own = ResourceCache.Options(policy: .local, fields: [.acceptLanguage: "sv"])
      await #expect(throws: BothyError.self) { try await rig.cache.value(pinned, own) }
      rig.cache.relieve(.warning)
    }
    rig.cache.resumeNetwork()
    let renewed = try await rig.cache.value(pinned, policy: .remoteElseLocal)
    #expect(text(renewed) == "no" && renewed.isFresh && rig.lastSent(.ifNoneMatch) == nil)
    #expect(text(try await rig.cache.value(pinned, policy: .local)) == "no")
  }

  @Test("A store knows if any holder has pinned a key, stored or not", arguments: StoreKind.allCases)
  func holders(_ kind: StoreKind) throws {
    let folder = try TemporaryFolder()
    let store = try kind.open(folder)
    let (tile, path) = (ResourceKey("osm", zoom: 3, x: 1, y: 2), ResourceKey("osm", path: "a"))
    #expect(try !store.isPinned(tile))
    try store.pin([tile, path], by: "a")
    try store.pin([tile], by: "b")
    #expect(try store.isPinned(tile) && store.isPinned(path))
    try store.unpin(nil, by: "a")
    #expect(try store.isPinned(tile) && !store.isPinned(path))
    try store.unpin([tile], by: "b")
    #expect(try !store.isPinned(tile))
  }
}
