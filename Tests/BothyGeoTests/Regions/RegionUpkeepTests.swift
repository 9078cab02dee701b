import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Maintaining regions", .timeLimit(.minutes(5)))
struct RegionUpkeepTests {
  private func bytes(_ tile: Tile, _ rig: RegionRig) async throws -> String? {
    let resource = try await rig.cache.value(rig.source.key(tile), policy: .local)
    return resource.bytes.map { RegionServer.text($0) }
  }

  @Test("A refresh requests each tile by condition, and loads only changed ones")
  func refresh() async throws {
    let rig = try RegionRig()
    let plan = try rig.plan()
    let tiles = Array(try plan.tiles())
    let region = try await rig.regions.create(plan)
    _ = try await rig.regions.resume(region.id)
    rig.server.forget()
    rig.pass(.days(1))
    rig.server.change { $0.versions[tiles[7].description] = 2 }
    let changes = Task { [events = rig.cache.events] in
      var changed: [ResourceKey] = []
      for await event in events { if case .changed(let key, _) = event { changed.append(key) } }
      return changed
    }
    let done = try await rig.regions.refresh(region.id)
    #expect(done.state == .complete && done.completedAt?.milliseconds == rig.time.now)
    #expect(rig.server.requests.count == tiles.count && rig.server.requests.allSatisfy(\.isConditional))
    #expect(done.progress.confirmed == tiles.count - 1 && done.progress.loaded == 1)
    #expect(try await bytes(tiles[7], rig) == "\(tiles[7]) v2")
    #expect(try await bytes(tiles[6], rig) == "\(tiles[6]) v1")
    _ = try await rig.regions.resume(region.id)
    #expect(rig.server.requests.count == tiles.count, "a resumed region that is complete asks nobody")
    try await rig.cache.close()
    #expect(await changes.value == [try rig.source.key(tiles[7])])
  }

  @Test("An interrupted refresh continues where it was, and failed tiles stay")
  func refreshInterrupted() async throws {
    var rig = try RegionRig()
    let plan = try rig.plan()
    let tiles = Array(try plan.tiles())
    let region = try await rig.regions.create(plan)
    _ = try await rig.regions.resume(region.id)
    rig.server.forget()
    rig.pass(.days(1))
    rig.server.change { $0.answers = 9 }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(rig.server.requests.count == 9)
    rig = try await rig.reopened()
    rig.pass(.hours(1))
    let broken = tiles[tiles.count - 1]
    rig.server.change { state in
      state.answers = nil
      state.statuses[broken.description] = 403
    }
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .outdated && done.progress.failed == 1)
    #expect(rig.server.requests.count == tiles.count && Set(rig.server.paths).count == tiles.count)
    #expect(try await bytes(broken, rig) == "\(broken) v1")
    rig.server.change { $0.statuses = [:] }
    rig.server.forget()
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.paths == [broken.description])
  }

  @Test("A clock that was set back causes no second load")
  func clock() async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    rig.time.advance(by: -30 * 86_400_000)
    rig.server.change { $0.answers = 10 }
    await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    rig.server.change { $0.answers = nil }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == region.tiles)
  }

  @Test("A refresh after the clock was set back requests every tile")
  func clockBeforeRefresh() async throws {
    let rig = try RegionRig()
    let plan = try rig.plan()
    let region = try await rig.regions.create(plan)
    _ = try await rig.regions.resume(region.id)
    rig.server.forget()
    rig.time.advance(by: -3650 * 86_400_000)
    let paths = try rig.paths(plan)
    rig.server.change { state in for path in paths { state.versions[path] = 2 } }
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    #expect(rig.server.requests.count == region.tiles)
    for tile in try plan.tiles() { #expect(try await bytes(tile, rig) == "\(tile) v2") }
  }

  @Test("Resuming loads just the tiles that other code removed")
  func repaired() async throws {
    let rig = try RegionRig()
    let plan = try rig.plan()
    let tiles = Array(try plan.tiles())
    let region = try await rig.regions.create(plan)
    _ = try await rig.regions.resume(region.id)
    rig.server.forget()
    try await rig.cache.remove([rig.source.key(tiles[2]), rig.source.key(tiles[9])])
    #expect(try await rig.regions.stored(region.id).count == tiles.count - 2)
    _ = try await rig.regions.resume(region.id)
    #expect(rig.server.paths.sorted() == [tiles[2].description, tiles[9].description].sorted())
    #expect(try await rig.regions.stored(region.id).count == tiles.count)
  }

  /// Promises: E-29, B-19c
  @Test("Deleting keeps tiles with other pins, and the rest counts against the limits")
  func deleting() async throws {
    let rig = try RegionRig(disk: DiskCache.Limits(count: 5))
    let first = try await rig.regions.create(rig.plan("First", zooms: 0...12))
    let second = try await rig.regions.create(rig.plan("Second", zooms: 0...8))
    _ = try await rig.regions.resume(first.id)
    rig.server.forget()
    _ = try await rig.regions.resume(second.id)
    #expect(rig.server.requests.isEmpty, "shared tiles are there already")
    let last = try #require(try first.plan.tiles().reduce(nil as Tile?) { $1 })
    try await rig.cache.pin([rig.source.key(last)], by: "hut")
    for x in 0..<20 { _ = try await rig.cache.value(rig.source.key(zoom: 15, x: x, y: 0)) }
    var totals = try #require(try await rig.cache.totals()["trails"])
    #expect(totals.pinnedCount == first.tiles && totals.count <= first.tiles + 5, "regions are not evicted")
    try await rig.regions.delete(first.id)
    totals = try #require(try await rig.cache.totals()["trails"])
    #expect(totals.pinnedCount == second.tiles + 1 && totals.count <= second.tiles + 6)
    #expect(try await rig.regions.all().map(\.name) == ["Second"])
    rig.cache.suspendNetwork()
    for tile in try second.plan.tiles() { #expect(try await bytes(tile, rig) == "\(tile) v1") }
    #expect(try await bytes(last, rig) == "\(last) v1")
    try await rig.regions.delete(second.id)
    #expect(try await rig.cache.totals()["trails"]?.pinnedCount == 1)
    #expect(try await rig.regions.create(rig.plan("First")).name == "First", "the name is free again")
  }

  @Test("A region that is being loaded is stopped before it is deleted")
  func deletingRun() async throws {
    let gate = Latch()
    let rig = try RegionRig(RegionServer(gate: gate))
    // So many tiles that the run looks at the list before the last one.
    let region = try await rig.regions.create(rig.plan(zooms: 0...14))
    async let run = rig.regions.resume(region.id)
    await gate.reached()
    async let deletion: Void = rig.regions.delete(region.id)
    while try await !rig.regions.all().isEmpty { await Task.yield() }
    gate.open()
    try await deletion
    do {
      _ = try await run
      Issue.record("The region is gone.")
    } catch { #expect((error as? BothyError)?.code == .unknownRegion) }
    let pinned = try await rig.cache.totals()["trails"]?.pinnedCount ?? 0
    #expect(pinned == 0)
    #expect(rig.server.requests.count < region.tiles)
  }

  @Test("The deletion of a region that another process loads is finished later", arguments: [0, 1, 2])
  func deletingElsewhere(way: Int) async throws {
    let gate = Latch()
    let rig = try RegionRig(RegionServer(gate: gate))
    let region = try await rig.regions.create(rig.plan())
    async let run = rig.regions.resume(region.id)
    await gate.reached()
    let other = try rig.beside()
    let busy = await #expect(throws: BothyError.self) { try await other.regions.delete(region.id) }
    #expect(busy?.code == .regionBusy && busy?.message.contains("off the list") == true)
    #expect(try await other.regions.all().isEmpty)
    #expect(try await other.cache.pins(by: region.holder).count > 0)
    gate.open()
    do {
      _ = try await run
      Issue.record("The region is gone.")
    } catch { #expect((error as? BothyError)?.code == .unknownRegion) }
    switch way {
    case 0: #expect(try await other.regions.all().isEmpty)
    case 1: try await other.regions.delete(region.id)
    default: #expect(try await other.regions.create(other.plan()).id != region.id)
    }
    #expect(try await other.cache.pins(by: region.holder).isEmpty)
  }

  /// Promises: R-42
  @Test(
    "A region is exported as one archive with its tiles and the attribution",
    arguments: [TileArchiveInfo.Container.mbtiles, .pmtiles])
  func export(container: TileArchiveInfo.Container) async throws {
    let rig = try RegionRig()
    let plan = try rig.plan(
      "Fiji", box: GeoBox(west: 177, south: -19, east: -178, north: -16), zooms: 0...9)
    let tiles = Array(try plan.tiles())
    let absent = tiles[tiles.count - 1]
    rig.server.change { $0.statuses[absent.description] = 404 }
    let region = try await rig.regions.create(plan)
    let path = rig.scratch.file("fiji")
    let nothing = await #expect(throws: BothyError.self) {
      try await rig.regions.export(region.id, to: path, as: container)
    }
    #expect(nothing?.code == .unavailable && !FileManager.default.fileExists(atPath: path))
    _ = try await rig.regions.resume(region.id)
    rig.cache.suspendNetwork()
    let report = try await rig.regions.export(region.id, to: path, as: container)
    #expect(report.written == tiles.count - 1 && report.absent == 1 && report.missing == 0)
    let archive = try await TileArchives.open(path: path)
    #expect(archive.info.container == container && archive.info.tileCount == tiles.count - 1)
    #expect(archive.info.name == "Fiji" && archive.info.attribution == "© walkers")
    #expect(archive.info.tileFormat == "pbf" && archive.info.tileCompression == .gzip)
    #expect(archive.info.zooms?.lowest == 0 && archive.info.zooms?.highest == 9)
    for tile in tiles where tile != absent {
      #expect(try await archive.content(of: tile) == RegionServer.tile("\(tile) v1"))
    }
    #expect(try await archive.content(of: absent) == nil)
    try await rig.cache.remove([rig.source.key(tiles[4])])
    let part = try await rig.regions.export(region.id, to: path + "2", as: container)
    #expect(part.missing == 1 && part.written == tiles.count - 2)
    let taken = await #expect(throws: BothyError.self) {
      try await rig.regions.export(region.id, to: path, as: container)
    }
    #expect(taken?.code == .unavailable)
  }

  @Test("A region stays readable when its source sends other fields than before")
  func otherFields() async throws {
    let rig = try RegionRig()
    rig.server.change { $0.fields = [.vary: "Accept-Language"] }
    let region = try await rig.loaded()
    var updated = rig.source
    updated.headers[.acceptLanguage] = "no"
    try rig.cache.register(updated)
    #expect(try await rig.regions.region(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    try rig.raise(region, to: 2)
    rig.server.change { $0.answers = region.tiles - 8 }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    rig.server.change { $0.answers = nil }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test(
    "An exported archive describes vector tiles that came without a type",
    arguments: [TileArchiveInfo.Container.mbtiles, .pmtiles])
  func layers(container: TileArchiveInfo.Container) async throws {
    let rig = try RegionRig()
    rig.server.change { state in
      state.content = { path in
        let number: VectorTileWriter.Value = path.hasPrefix("1/") ? .string(path) : .int(1)
        return VectorTileWriter.tile(
          "road",
          .point(
            1, 2, [("name", .string(path)), ("lanes", .uint(2)), ("lit", .bool(true)), ("ref", number)]))
      }
    }
    let region = try await rig.regions.create(rig.plan(zooms: 0...3))
    #expect(try await rig.regions.resume(region.id).state == .complete)
    let path = rig.scratch.file("oslo")
    try await rig.regions.export(region.id, to: path, as: container)
    let info = try await TileArchives.open(path: path).info
    #expect(info.tileFormat == "pbf" && info.tileCompression == .gzip)
    let fields = #"{"lanes":"Number","lit":"Boolean","name":"String","ref":"String"}"#
    #expect(info.vectorLayers?.canonicalText == "[{\"fields\":\(fields),\"id\":\"road\"}]")
  }
}
