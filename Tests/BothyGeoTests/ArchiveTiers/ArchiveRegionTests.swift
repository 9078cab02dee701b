import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Regions of remote archives", .timeLimit(.minutes(5)))
struct ArchiveRegionTests {
  /// The tiles of zooms 0 to 7 with a body that is the more random the finer they are.
  private static func archive(seed: UInt64 = 7) throws -> (tiles: [Tile: Data], file: Data) {
    var generator = SeededGenerator(seed: seed)
    var tiles: [Tile: Data] = [:]
    for id in UInt64(0)..<21_845 {
      let tile = try Tile(hilbertID: id)
      let noise = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
        "abcdef".randomElement(using: &generator)
      }
      let mark = seed == 7 ? "" : "\(seed) "
      tiles[tile] = RegionServer.tile("\(tile) \(mark)" + String(noise.compactMap { $0 }))
    }
    return (tiles, try ArchiveBuilder(tiles: tiles, leafSize: 2000).build())
  }

  private static let box = GeoBox(west: -20, south: 10, east: 60, north: 65)

  /// Returns a region of a remote archive before it is loaded.
  private static func created() async throws -> (
    tiles: [Tile: Data], file: Data, server: ArchiveServer, rig: ArchiveRig, regions: OfflineRegions,
    region: Region
  ) {
    let (tiles, file) = try archive()
    let server = ArchiveServer(file)
    let rig = try ArchiveRig(loader: server)
    let regions = try OfflineRegions(cache: rig.cache, folder: rig.scratch.url("regions"))
    let plan = OfflineRegions.Plan(name: "Box", source: "hills", area: .box(box), zooms: try ZoomRange(0, 7))
    return (tiles, file, server, rig, regions, try await regions.create(plan))
  }

  @Test("An area is cut out of a remote archive in tens of requests")
  func cut() async throws {
    let (tiles, file) = try Self.archive()
    let server = ArchiveServer(file)
    let archive = try await TileArchives.open(url: "https://maps.test/a.pmtiles", loader: server)
    let scratch = try TemporaryFolder()
    let zooms = try ZoomRange(0, 20)
    let expected = Set(try OfflineRegions.Tiles(.box(Self.box), zooms: ZoomRange(0, 7)))
    for (name, isPMTiles) in [("a.pmtiles", true), ("a.mbtiles", false)] {
      server.forget()
      let count =
        isPMTiles
        ? try await PMTilesWriter.copy(archive, to: scratch.file(name), in: .box(Self.box), zooms: zooms)
        : try await MBTilesWriter.copy(archive, to: scratch.file(name), in: .box(Self.box), zooms: zooms)
      #expect(count == expected.count && count > 800)
      #expect(server.requests.count < 40, "\(server.requests.count) requests")
      let copy = try await TileArchives.open(path: scratch.file(name))
      var found: [Tile: Data] = [:]
      try await copy.forEachTile { found[$0] = $1 }
      #expect(found == tiles.filter { expected.contains($0.key) })
      #expect(copy.info.bounds == Self.box)
    }
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    server.forget()
    let report = try await archive.copy(
      into: store, as: MadeArchive.source("a"), at: Timestamp(milliseconds: 1), in: .box(Self.box),
      zooms: ZoomRange(5, 6))
    #expect(report.written == expected.filter { (5...6).contains($0.zoom) }.count)
    #expect(server.requests.count < 40)
    try store.close()
  }

  @Test("A whole remote archive is copied with a request for every few megabytes")
  func whole() async throws {
    let (tiles, file) = try Self.archive()
    let server = ArchiveServer(file)
    let archive = try await TileArchives.open(url: "https://maps.test/a.pmtiles", loader: server)
    var found: [Tile: Data] = [:]
    var order: [UInt64] = []
    try await archive.forEachTile {
      found[$0] = $1
      order.append($0.hilbertID)
    }
    #expect(found == tiles && order == order.sorted())
    #expect(server.requests.count < 30, "\(server.requests.count) requests for \(tiles.count) tiles")
    #expect(server.bytes < file.count * 11 / 10 + 16_384)
  }

  @Test("A region is loaded in tens of requests, and refreshed by one byte")
  func region() async throws {
    let (tiles, _, server, rig, regions, region) = try await Self.created()
    let loaded = try await regions.resume(region.id)
    #expect(loaded.state == .complete && loaded.progress.failed == 0)
    #expect(loaded.tiles > 800 && server.requests.count < 60, "\(server.requests.count) requests")
    rig.cache.releaseMemory()
    for tile in try region.plan.tiles() {
      let found = try await rig.cache.value(rig.source.key(tile), policy: .local)
      #expect(found.bytes == tiles[tile] && found.origin == .disk)
    }
    rig.time.advance(by: 86_400_000)
    server.forget()
    let refreshed = try await regions.refresh(region.id)
    #expect(refreshed.state == .complete && refreshed.progress.confirmed == refreshed.tiles)
    #expect(Set(server.requests) == [0..<1] && server.requests.count <= 4, "the first ones ask at once")
    // The server goes, and the region stays.
    server.change { $0.answers = 0 }
    rig.time.advance(by: 86_400_000 * 30)
    for tile in try region.plan.tiles().prefix(50) {
      #expect(try await rig.cache.value(rig.source.key(tile)).bytes == tiles[tile])
    }
    try regions.close()
  }

  @Test("A region has tiles of one version of its archive, whatever was stored before")
  func oneVersion() async throws {
    let (_, _, server, rig, regions, region) = try await Self.created()
    let newer = try Self.archive(seed: 8)
    for tile in try region.plan.tiles().prefix(3) { _ = try await rig.cache.value(rig.source.key(tile)) }
    server.replace(newer.file, tag: "\"2\"")
    let loaded = try await regions.resume(region.id)
    #expect(loaded.state == .complete && loaded.progress.done == loaded.tiles)
    #expect(try await Self.bodies(region, rig) == region.plan.tiles().map { newer.tiles[$0] })
    try regions.close()
  }

  @Test("An archive that is replaced during a load or a refresh isn't mixed", arguments: [4, 5, 7])
  func replacedMeanwhile(before: Int) async throws {
    let (tiles, _, server, rig, regions, region) = try await Self.created()
    let second = try Self.archive(seed: 8)
    let third = try Self.archive(seed: 9)
    let versions = [tiles, second.tiles, third.tiles]
    for (file, tag, wait) in [(second.file, "\"2\"", before), (third.file, "\"3\"", 2)] {
      server.change { state in
        let answered = state.answered
        state.versions.append((answered + wait, file, tag))
      }
      #expect(try await regions.refresh(region.id).state == .complete)
      let bodies = try await Self.bodies(region, rig)
      let expected = try versions.map { version in try region.plan.tiles().map { version[$0] } }
      #expect(expected.contains(bodies), "of one version")
      rig.time.advance(by: 86_400_000)
    }
    try regions.close()
  }

  /// Returns the stored content of each tile of a region.
  private static func bodies(_ region: Region, _ rig: ArchiveRig) async throws -> [Data?] {
    var found: [Data?] = []
    for tile in try region.plan.tiles() {
      found.append(try await rig.cache.value(rig.source.key(tile), policy: .local).bytes)
    }
    return found
  }

  @Test("A file on the device needs no region")
  func local() async throws {
    let scratch = try TemporaryFolder()
    try MadeArchive.write(MadeArchive.tiles(0..<5), to: scratch.file("a"))
    let rig = try ArchiveRig(scratch.file("a"), loader: nil)
    let regions = try OfflineRegions(cache: rig.cache, folder: rig.scratch.url("regions"))
    let plan = OfflineRegions.Plan(
      name: "Box", source: "hills", area: .box(.world), zooms: try ZoomRange(0, 1))
    let error = await #expect(throws: BothyError.self) { try await regions.create(plan) }
    #expect(error?.code == .invalidRegion)
    try regions.close()
  }

  @Test("Unchanging tiles that came with the app are part of a complete region")
  func shipped() async throws {
    let scratch = try TemporaryFolder()
    try MadeArchive.write(MadeArchive.tiles(0..<5), to: scratch.file("a"))
    let server = RegionServer()
    let source = try ResourceSource(
      "trails", template: "https://trails.test/{z}/{x}/{y}", freshness: .immutable,
      userAgent: "Tests/1 (tests.test)", allowsBulkDownload: true)
    let shipped = try TileArchives.tier(path: scratch.file("a"), as: "trails")
    let plan = OfflineRegions.Plan(
      name: "Box", source: "trails", area: .box(.world), zooms: try ZoomRange(0, 2))
    var id = ""
    let launches: [(bundled: [any DiskCache.Reader], state: RegionState)] = [
      ([shipped], .complete), ([], .damaged),
    ]
    for (bundled, state) in launches {
      let cache = try ResourceCache(
        sources: [source], disk: .sqliteFile(in: scratch.url("cache")), bundled: bundled, loader: server)
      let regions = try OfflineRegions(cache: cache, folder: scratch.url("regions"))
      if id.isEmpty {
        id = try await regions.create(plan).id
        // The second run finds the shipped tiles in memory.
        for _ in 0..<2 { #expect(try await regions.resume(id).state == .complete) }
        #expect(server.requests.count == 16, "the finest tiles, once")
      }
      #expect(try await regions.region(id).state == state)
      try regions.close()
      try await cache.close()
    }
  }

  @Test("A region that was interrupted asks for nothing twice")
  func resumed() async throws {
    let (tiles, file, server, rig, regions, region) = try await Self.created()
    // The head, the end and the directories.
    server.change { $0.answers = 3 }
    await #expect(throws: BothyError.self) { try await regions.resume(region.id) }
    server.change { $0.answers = nil }
    let before = server.bytes
    let loaded = try await regions.resume(region.id)
    #expect(loaded.state == .complete)
    #expect(server.bytes < before + file.count, "tiles that were there weren't requested again")
    for tile in try region.plan.tiles() {
      #expect(try await rig.cache.value(rig.source.key(tile), policy: .local).bytes == tiles[tile])
    }
    try regions.close()
  }

  @Test("The document of a region's archive stays until the region is deleted")
  func document() async throws {
    let world = try await Self.created()
    let (cache, document) = (world.rig.cache, ResourceKey("hills", path: "tilejson.json"))
    let region = try await world.regions.resume(world.region.id)
    try await cache.setDiskLimits(DiskCache.Limits(count: 0))
    #expect(try await cache.stored([document]).compactMap { $0 }.count == 1)
    #expect(try await cache.pinCount(by: region.holder) == region.tiles)
    try await world.regions.delete(region.id)
    #expect(try await cache.stored([document]) == [nil])
    #expect(try await cache.pinHolders().isEmpty)
    try world.regions.close()
  }

  @Test("An export of a remote archive has the attribution that the archive states")
  func attribution() async throws {
    let world = try await Self.created()
    #expect(try await world.regions.resume(world.region.id).state == .complete)
    let asked = world.server.requests.count
    world.rig.cache.suspendNetwork()
    let path = world.rig.scratch.file("box.pmtiles")
    try await world.regions.export(world.region.id, to: path, as: .pmtiles)
    #expect(try await TileArchives.open(path: path).info.attribution == "© walkers")
    let names = try #require(world.rig.cache.source("hills")).names
    #expect(names.attribution == "© walkers" && names.short == "Made by hand")
    #expect(world.server.requests.count == asked)
  }
}
