import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Planning regions", .timeLimit(.minutes(5)))
struct RegionPlanTests {
  private func code(_ body: () async throws -> some Sendable) async -> BothyError.Code? {
    do {
      _ = try await body()
      return nil
    } catch { return (error as? BothyError)?.code }
  }

  @Test(
    "An estimate counts tiles exactly, and bytes from stored tiles or the default")
  func estimate() async throws {
    let rig = try RegionRig()
    let plan = try rig.plan()
    let count = try plan.tiles().reduce(0) { count, _ in count + 1 }
    let first = try await rig.regions.estimate(plan)
    #expect(first.tiles == count && first.sample == 0)
    #expect(first.bytesPerTile == OfflineRegions.Estimate.assumedBytesPerTile)
    #expect(first.bytes == Int64(count) * OfflineRegions.Estimate.assumedBytesPerTile)
    for x in 0..<4 { _ = try await rig.cache.value(rig.source.key(zoom: 2, x: x, y: 0)) }
    let stored = try #require(try await rig.cache.totals()["trails"])
    let second = try await rig.regions.estimate(plan)
    #expect(second.sample == 4 && second.bytesPerTile == stored.bytes / 4)
    #expect(second.bytes == second.bytesPerTile * Int64(count))
    #expect(rig.server.requests.count == 4, "estimates ask nobody")
  }

  /// Promises: E-3, E-5
  @Test(
    "Too many tiles for one or all regions are rejected before any request")
  func limits() async throws {
    let rig = try RegionRig(limits: RegionLimits(tilesInOne: 100, tilesInAll: 150))
    let large = try rig.plan(box: .world, zooms: 0...20)
    #expect(await code { try await rig.regions.estimate(large) } == .tooManyTiles)
    #expect(await code { try await rig.regions.create(large) } == .tooManyTiles)
    let polygon = OfflineRegions.Plan(
      name: "Half", source: "trails",
      area: .polygons([GeoPolygon(GeoBox(west: -100, south: -85, east: 80, north: 85))]),
      zooms: try ZoomRange(0, 20))
    #expect(await code { try await rig.regions.create(polygon) } == .tooManyTiles)
    // 1 + 4 + 16 + 64 tiles.
    let first = try await rig.regions.create(try rig.plan("World", box: .world, zooms: 0...3))
    #expect(first.tiles == 85)
    let second = try rig.plan("Again", box: .world, zooms: 0...3)
    #expect(await code { try await rig.regions.create(second) } == .tooManyTiles, "170 in all")
    try await rig.regions.delete(first.id)
    #expect(try await rig.regions.create(second).tiles == 85)
    #expect(rig.server.requests.isEmpty)
  }

  @Test("Only a source that allows it is loaded in bulk, and none by default")
  func bulk() async throws {
    let osm = try ResourceSource(
      "osm", template: "https://tile.openstreetmap.org/{z}/{x}/{y}.png", userAgent: "Tests/1 (tests.test)")
    #expect(!osm.allowsBulkDownload)
    let document = #"{"tilejson":"3.0.0","tiles":["https://tile.openstreetmap.org/{z}/{x}/{y}.png"]}"#
    #expect(try !TileJSON(json: Data(document.utf8)).source("osm").allowsBulkDownload)
    let rig = try RegionRig(allowsBulk: false)
    #expect(await code { try await rig.regions.create(rig.plan()) } == .bulkForbidden)
    #expect(try await rig.regions.all().isEmpty)
    // A source that allowed it earlier, and no longer does.
    try rig.cache.register(RegionRig.source(allowsBulk: true))
    let region = try await rig.regions.create(rig.plan())
    try rig.cache.register(RegionRig.source(allowsBulk: false))
    #expect(await code { try await rig.regions.resume(region.id) } == .bulkForbidden)
    #expect(await code { try await rig.regions.refresh(region.id) } == .bulkForbidden)
    #expect(rig.server.requests.isEmpty)
  }

  @Test("Errors distinguish the kinds of invalid regions")
  func wrong() async throws {
    let rig = try RegionRig()
    _ = try await rig.regions.create(rig.plan())
    #expect(await code { try await rig.regions.create(rig.plan()) } == .regionExists)
    #expect(await code { try await rig.regions.create(rig.plan("")) } == .invalidRegion)
    #expect(await code { try await rig.regions.create(rig.plan("Deep", zooms: 0...21)) } == .zoomOutOfRange)
    let upside = GeoBox(west: 0, south: 3, east: 1, north: 2)
    #expect(await code { try await rig.regions.create(rig.plan("Box", box: upside)) } == .invalidCoordinate)
    var unknown = try rig.plan("Unknown")
    unknown.source = "unknown"
    let plan = unknown
    #expect(await code { try await rig.regions.create(plan) } == .invalidRegion)
    #expect(await code { try await rig.regions.resume("none") } == .unknownRegion)
    #expect(await code { try await rig.regions.delete("none") } == .unknownRegion)
    #expect(await code { try await rig.regions.pause("none") } == .unknownRegion)
  }

  @Test("Regions are stored as they were planned")
  func remembered() async throws {
    let rig = try RegionRig()
    let ring = [(10.0, 59.0), (11.0, 59.0), (10.5, 60.0)].map { Coordinate(latitude: $0.1, longitude: $0.0) }
    var plan = try rig.plan("Polygon")
    plan.area = .polygons([
      GeoPolygon(exterior: ring), GeoPolygon(GeoBox(west: 179, south: 1, east: -179, north: 2)),
    ])
    let first = try await rig.regions.create(plan)
    let second = try await rig.regions.create(try rig.plan("Box"))
    let again = try await rig.reopened()
    #expect(try await again.regions.all().map(\.plan) == [second.plan, plan])
    #expect(try await again.regions.region(named: "Polygon") == first)
    #expect(try await again.regions.region(named: "None") == nil)
    try Data("no list of regions, though it has its name".utf8)
      .write(to: URL(filePath: again.scratch.file("other/regions.sqlite")).creatingFolder())
    let folder = URL(filePath: again.scratch.file("other"))
    let emptied = try OfflineRegions(cache: again.cache, folder: folder)
    #expect(try await emptied.all().isEmpty)
  }

  @Test("A list of regions that can't be opened is reported without SQLite's codes")
  func unusableList() throws {
    let rig = try RegionRig()
    let folder = URL(filePath: rig.scratch.file("unusable"))
    try FileManager.default.createDirectory(
      at: folder.appending(path: "regions.sqlite"), withIntermediateDirectories: true)
    let error = #expect(throws: BothyError.self) { _ = try OfflineRegions(cache: rig.cache, folder: folder) }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("regions.sqlite") == true)
    #expect(error?.message.contains("SQLite error") == false)
  }
}

extension URL {
  /// Returns the URL itself, after creating its folder.
  fileprivate func creatingFolder() throws -> URL {
    try FileManager.default.createDirectory(
      at: deletingLastPathComponent(), withIntermediateDirectories: true)
    return self
  }
}
