import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Regions of a style", .timeLimit(.minutes(5)))
struct StyleRegionTests {
  private static let fonts: [SourceID: [String]] = [
    "bright": ["Noto Sans Bold", "Noto Sans Regular"],
    "light": [
      "Noto Sans Devanagari Regular v1", "Noto Sans Italic", "Noto Sans Medium", "Noto Sans Regular",
    ],
  ]

  /// Promises: A-71
  @Test("A map of a region is drawn offline: no request, nothing missing", arguments: ["bright", "light"])
  func offline(_ name: String) async throws {
    let rig = try StyleRig()
    let source = SourceID(name)
    let region = try await rig.loaded(source)
    #expect(region.state == .complete && region.progress.absent == 0)
    rig.cache.suspendNetwork()
    let later = try await rig.reopened()
    later.cache.suspendNetwork()
    var walk = StyleWalk(MapEndpoint(try await later.style(source), in: later.cache))
    try await walk.walk(RegionRig.oslo, 0...11, fonts: Self.fonts[source] ?? [])
    #expect(walk.missing == [] && walk.asked > 256)
    #expect(later.server.requests == [])
  }

  /// Promises: A-71
  @Test("A region asks for each address once, and for none that a renderer doesn't")
  func once() async throws {
    let rig = try StyleRig()
    let plan = try await rig.plan("bright")
    let region = try await rig.regions.create(plan)
    let done = try await rig.regions.resume(region.id)
    let requests = rig.server.requests
    #expect(Set(requests).count == requests.count)
    #expect(done.tiles == (try plan.keys().count()) && done.progress.done == done.tiles)
    #expect(requests.count == done.tiles, "the documents were read before, and not again")
    #expect(!requests.contains { $0.contains("/unused/") })
    let dem = requests.filter { $0.contains("/dem/") }
    #expect(Set(dem).count == dem.count, "terrain and hillshade share tiles")
  }

  @Test("Secrets and headers go to the host of the style alone")
  func secrets() async throws {
    let rig = try StyleRig()
    _ = try await rig.loaded("light")
    let fields = rig.server.fields
    for (url, fields) in fields {
      let isOwn = url.hasPrefix("https://api.test/")
      #expect(url.contains("secret") == isOwn && (fields[.authorization] != nil) == isOwn, "\(url)")
      #expect(fields[.userAgent] == "Tests/1 (tests.test)")
    }
    let region = try #require(try await rig.regions.all().first)
    #expect(try !region.plan.keys().contains { $0.path.contains("secret") })
  }

  /// Promises: A-72
  @Test("A refresh brings a new style with all that it needs, and not before")
  func generation() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    let newer = StyleDocuments.bright.replacing("Bright", with: "Brighter").replacing(
      #""text-font": ["Noto Sans Regular"]"#, with: #""text-font": ["Noto Sans Italic"]"#)
    rig.server.change { state in
      state.documents[StyleRig.bright] = newer
      state.answers = 40
    }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    let half = try await rig.regions.region(region.id)
    #expect(half.state == .outdated && half.tiles == region.tiles + 256)
    let endpoint = MapEndpoint(try await rig.style("bright"), in: rig.cache)
    #expect(try await name(endpoint) == "Bright", "a style that a region has is read in its generation")
    rig.server.change { $0.answers = nil }
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .complete && done.tiles == half.tiles)
    rig.cache.suspendNetwork()
    rig.server.change { $0.requests = [] }
    #expect(try await name(endpoint) == "Brighter")
    var walk = StyleWalk(endpoint)
    try await walk.walk(
      RegionRig.oslo, 0...11, fonts: ["Noto Sans Bold", "Noto Sans Italic", "Noto Sans Regular"])
    #expect(walk.missing == [] && rig.server.requests == [])
  }

  /// Promises: R-11, B-31
  @Test("Tiles of an earlier address are shown until a refresh, never as later ones")
  func otherAddress() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    #expect(try await rig.shownTile().contains("/omt/3/4/2"))
    let address = "https://maps.test/tiles/omt.json"
    rig.server.change { state in
      state.documents[address] = state.documents[address]?.replacing("/omt/", with: "/omt2/")
      state.answers = 40
    }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(try await rig.shownTile().contains("/omt/3/4/2"))
    rig.server.change { ($0.answers, $0.fields) = (nil, [:]) }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.shownTile().contains("/omt2/3/4/2"))
    let asked = rig.server.fields.filter { $0.key.contains("/omt2/") }
    #expect(asked.count > 10 && asked.values.allSatisfy { $0[.ifNoneMatch] == nil })
    let later = try await rig.reopened()
    later.cache.suspendNetwork()
    #expect(try await later.shownTile().contains("/omt2/3/4/2"))
    var walk = StyleWalk(MapEndpoint(try await later.style("bright"), in: later.cache))
    try await walk.walk(RegionRig.oslo, 0...11, fonts: Self.fonts["bright"] ?? [])
    #expect(walk.missing == [])
  }

  @Test("A region whose style's address changed before it was loaded is loaded beside it")
  func addressTaken() async throws {
    let rig = try StyleRig()
    let region = try await rig.regions.create(try await rig.plan("bright", zooms: 0...3))
    rig.time.advance(by: Duration.days(1).wholeMilliseconds)
    let address = "https://maps.test/tiles/omt.json"
    rig.server.change { $0.documents[address] = $0.documents[address]?.replacing("/omt/", with: "/omt2/") }
    let later = try await rig.reopened()
    // Another map has the style with the newer address, and takes the id that the region was made with.
    try await later.cache.unpin(by: region.holder)
    for document in [StyleRig.bright, address] {
      _ = try await later.cache.value(ResourceKey("bright", path: document), .reload)
    }
    _ = try await later.style("bright")
    let found = try await later.regions.resume(region.id)
    #expect(found.state == .outdated, "the newer style, which is stored, names other tiles")
    #expect(found.progress.done == found.tiles && found.plan.map?.editions == ["openmaptiles": 2])
    let tile = try await later.cache.value(
      ResourceKey("bright/openmaptiles~2", zoom: 3, x: 4, y: 2), policy: .local)
    #expect(RegionServer.text(tile.bytes ?? Data()).contains("/omt/3/4/2"))
  }

  @Test("A refresh to a newer style still shows what the region has lost")
  func lost() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    let last = try #require(Array(try region.plan.keys()).last)
    try await rig.cache.remove(last)
    rig.server.change { state in
      state.documents[StyleRig.bright] = StyleDocuments.bright.replacing(
        "Noto Sans Bold", with: "Noto Sans Italic")
      state.answers = 40
    }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(try await rig.regions.region(region.id).state == .damaged)
    rig.server.change { $0.answers = nil }
    #expect(try await rig.regions.resume(region.id).state == .complete)
  }

  /// Promises: A-72
  @Test("A refresh that stopped early reads the newer style when it continues")
  func continued() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    rig.server.change { state in
      state.documents[StyleRig.bright] = StyleDocuments.bright.replacing(
        "Noto Sans Bold", with: "Noto Sans Italic")
      state.answers = 0
    }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    rig.server.change { $0.answers = nil }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    rig.cache.suspendNetwork()
    var walk = StyleWalk(MapEndpoint(try await rig.style("bright"), in: rig.cache))
    try await walk.walk(RegionRig.oslo, 0...11, fonts: ["Noto Sans Italic", "Noto Sans Regular"])
    #expect(walk.missing == [])
  }

  /// Promises: A-72
  @Test("A region loads the style that it was made for")
  func changedBefore() async throws {
    let rig = try StyleRig()
    let region = try await rig.regions.create(try await rig.plan("bright", zooms: 0...3))
    rig.time.advance(by: Duration.days(1).wholeMilliseconds)
    rig.server.change { state in
      state.documents[StyleRig.bright] = StyleDocuments.bright.replacing("Bright", with: "Brighter")
    }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    rig.server.change { $0.requests = [] }
    let endpoint = MapEndpoint(try await rig.style("bright"), in: rig.cache)
    #expect(try await name(endpoint) == "Bright")
    for _ in 0..<1000 { await Task.yield() }
    #expect(rig.server.requests == [], "a style is not refreshed behind its reader, apart from its region")
  }

  /// Promises: A-72
  @Test("What only the older style needed is released after the refresh")
  func surplus() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    rig.server.change { state in
      state.documents[StyleRig.bright] = StyleDocuments.bright.replacing(
        "Noto Sans Bold", with: "Noto Sans Regular")
    }
    let done = try await rig.regions.refresh(region.id)
    #expect(done.state == .complete && done.tiles == region.tiles - 256)
    #expect(try await rig.cache.pinCount(by: region.holder) == done.tiles)
  }

  @Test("A style that grows beyond the limit of all regions isn't taken")
  func limited() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    var plan = try await rig.plan("light", zooms: 0...3)
    plan.name = "Other"
    let other = try await rig.regions.create(plan)
    try rig.regions.close()
    let regions = try OfflineRegions(
      cache: rig.cache, folder: URL(filePath: rig.scratch.path), tilesInAll: region.tiles + other.tiles + 255)
    rig.server.change { state in
      state.documents[StyleRig.bright] = StyleDocuments.bright.replacing(
        #""text-font": ["Noto Sans Regular"]"#, with: #""text-font": ["Noto Sans Italic"]"#)
    }
    let error = await #expect(throws: BothyError.self) { try await regions.refresh(region.id) }
    #expect(error?.code == .interrupted && (error?.underlying as? BothyError)?.code == .tooManyTiles)
    let kept = try await regions.region(region.id)
    #expect(kept.state == .outdated && kept.tiles == region.tiles)
    try await regions.delete(other.id)
    #expect(try await regions.resume(region.id).tiles == region.tiles + 256)
    try regions.close()
  }

  @Test(
    "A refresh to a style that can't be kept leaves the older one",
    arguments: ["", #", "sources": {}, "layers": []"#, #", "layers": [{"id": "sea", "type": "background"}]"#])
  func refused(rest: String) async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    rig.server.change { $0.documents[StyleRig.bright] = #"{"version": 8, "name": "None"\#(rest)}"# }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    let kept = try await rig.regions.region(region.id)
    #expect(kept.state == .outdated && kept.tiles == region.tiles)
    #expect(try await rig.cache.pinCount(by: region.holder) == region.tiles)
    let endpoint = MapEndpoint(try await rig.style("bright"), in: rig.cache)
    #expect(try await name(endpoint) == "Bright")
  }

  @Test("Tiles of two sources with the same numbers are refreshed each for itself")
  func stages() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("light")
    rig.server.change { state in
      state.documents["https://api.test/v4/1/1/0.mvt?key=secret"] = "\u{1A}\u{8}\u{0A}\u{4}newAx\u{2}"
      state.contents["https://relief.test/1/1/1"] = RegionServer.picture("newB")
    }
    _ = try await rig.regions.refresh(region.id)
    let first = try await rig.cache.value(ResourceKey("light/protomaps", zoom: 1, x: 1, y: 0), policy: .local)
    let second = try await rig.cache.value(ResourceKey("light/relief", zoom: 1, x: 1, y: 0), policy: .local)
    #expect(RegionServer.text(first.bytes ?? Data()) == "newA")
    #expect(second.bytes == RegionServer.picture("newB"))
  }

  @Test("A region of a style is resumed by a process that read no style")
  func resumed() async throws {
    let rig = try StyleRig()
    let region = try await rig.regions.create(try await rig.plan("light", zooms: 0...6))
    rig.server.change { $0.answers = 30 }
    await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    rig.server.change { $0.answers = nil }
    let later = try await rig.reopened()
    #expect(try await later.regions.resume(region.id).state == .complete)
    #expect(later.cache.source("light/relief")?.tileForm == .picture)
    #expect(later.cache.source("light/protomaps")?.tileForm == .vector)
  }

  /// Promises: E-19
  @Test("A network's picture becomes no part of a style's region")
  func portal() async throws {
    let rig = try StyleRig()
    let region = try await rig.regions.create(try await rig.plan("bright", zooms: 0...3))
    let documents = try await rig.regions.stored(region.id).count
    rig.server.change { $0.portal = RegionServer.picture("Hotel") }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .signInRequired)
    #expect(try await rig.regions.stored(region.id).count == documents)
    rig.server.change { $0.portal = nil }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.regions.stored(region.id).count == region.tiles)
  }

  /// Promises: E-19
  @Test("A sign-in page in place of the style is reported as one")
  func signIn() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    rig.server.change { $0.portal = Data("<html><body>Sign in</body></html>".utf8) }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(error?.code == .signInRequired)
    #expect(try await rig.regions.region(region.id).state == .outdated)
  }

  @Test("A region that could not be created doesn't come back as a damaged one")
  func notCreated() async throws {
    let rig = try StyleRig()
    let plan = try await rig.plan("light", zooms: 0...3)
    try await rig.cache.close()
    await #expect(throws: (any Error).self) { try await rig.regions.create(plan) }
    #expect(try await rig.reopened().regions.all().isEmpty)
  }

  @Test("A pause ends a refresh whose style document doesn't come")
  func pausedBeforeStyle() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    var limits = SourceLimits()
    (limits.timeout, limits.patienceWithCopy) = (.seconds(86_400), .seconds(2))
    try rig.cache.register(
      ResourceSource(
        "bright", address: .anywhere, userAgent: "Tests/1 (tests.test)", limits: limits,
        allowsBulkDownload: true))
    let gate = Latch()
    rig.server.change { $0.gate = gate }
    let run = Task { try await rig.regions.refresh(region.id) }
    await gate.reached()
    try await rig.regions.pause(region.id)
    #expect(try await run.value.state == .paused)
    gate.open()
    #expect(try await rig.regions.resume(region.id).state == .complete)
  }

  @Test("A lost list of regions is recovered with its styles' needs")
  func recovered() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("light")
    try await rig.cache.close()
    try rig.regions.close()
    for name in ["regions.sqlite", "regions.sqlite-wal", "regions.sqlite-shm"] {
      // The last two exist only while the list is open.
      try? FileManager.default.removeItem(atPath: rig.scratch.file(name))
    }
    let later = try await rig.reopened()
    let found = try await later.regions.region(region.id)
    #expect(found.plan.map == region.plan.map && found.tiles == region.tiles && found.state == .complete)
  }

  @Test("An archive has one source of a style's region")
  func exported() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("light")
    let path = rig.scratch.file("relief.mbtiles")
    await #expect(throws: BothyError.self) { try await rig.regions.export(region.id, to: path, as: .mbtiles) }
    let report = try await rig.regions.export(region.id, to: path, as: .mbtiles, of: "relief")
    #expect(report.written > 0 && report.missing == 0)
  }

  @Test("A part of a style that a server refuses is named among the failures")
  func failures() async throws {
    let rig = try StyleRig()
    rig.server.change { $0.statuses["https://maps.test/bright/sprite.png"] = 403 }
    let region = try await rig.regions.create(try await rig.plan("bright", zooms: 0...3))
    #expect(try await rig.regions.resume(region.id).state == .partial)
    let failures = try await rig.regions.failures(of: region.id)
    #expect(failures.count == 1 && failures[0].tile == nil && failures[0].message.contains("sprite.png"))
  }

  @Test(
    "Nothing that a style names is redirected to the local network",
    arguments: [
      ("bright", "https://maps.test/bright/sprite.png"), ("light", "https://relief.test/1/1/1"),
    ])
  func redirected(_ name: String, _ address: String) async throws {
    let rig = try StyleRig()
    let router = "https://192.168.1.1/admin"
    rig.server.change { $0.targets[address] = router }
    let region = try await rig.regions.create(try await rig.plan(SourceID(name), zooms: 0...3))
    #expect(try await rig.regions.resume(region.id).state == .partial)
    #expect(rig.server.requests.contains(address) && !rig.server.requests.contains(router))
  }

  private func name(_ endpoint: MapEndpoint) async throws -> String? {
    let answer = await endpoint.answer("style.json", at: "http://map.test")
    return try JSONValue(parsing: answer.body)["name"]?.stringValue
  }
}
