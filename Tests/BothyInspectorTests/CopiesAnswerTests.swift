import BothyCache
import BothyGeo
import BothyInspector
import BothyPacks
import BothySettings
import BothyStore
import BothySync
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

@Suite("Copies, the map, settings and packs on the page", .timeLimit(.minutes(5)))
struct CopiesAnswerTests {
  /// Returns a cache with three tiles: one fresh for a long time, one to be refreshed, and one with an unknown rule.
  private static func cache(in folder: URL, fresh: [Int] = [1, 2], stale: [Int] = [3]) async throws
    -> ResourceCache
  {
    let cache = try ResourceCache(
      sources: [try source(.fixed(.seconds(3600)))], disk: .folder(folder), loader: TileServer())
    for x in fresh + stale { _ = try await cache.value(ResourceKey("hills", zoom: 3, x: x, y: 2)) }
    try await cache.pin([ResourceKey("hills", zoom: 3, x: 1, y: 2)], by: "app")
    return cache
  }

  private static func source(_ rule: FreshnessRule) throws -> ResourceSource {
    try ResourceSource(
      "hills", template: "http://tiles.test/{z}/{x}/{y}", freshness: rule, userAgent: "test",
      names: SourceNames(attribution: "© Hills"))
  }

  @Test("A cache shows its sources, their freshness, pins, limits and all readers' counts")
  func caches() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.url("cache")
    let used = try await Self.cache(in: folder)
    _ = try await used.value(ResourceKey("hills", zoom: 3, x: 1, y: 2))
    try await used.close()
    let cache = try ResourceCache(
      sources: [try Self.source(.fixed(.seconds(3600)))], disk: .folder(folder))
    let device = try InspectedDevice { subjects, _ in
      subjects.caches = [
        InspectorSubjects.Cache(folder: "the cache", cache: cache, limits: DiskCache.Limits(bytes: 1 << 20))
      ]
    }
    let visitor = try await device.visitor()
    let json = try await visitor.json("/api/caches").first("caches", where: "folder", is: "the cache")
    let source = try #require(json?["sources"]?.arrayValue?.first)
    #expect(source["name"] == "hills" && source["entries"] == 3 && source["pinned"] == 1)
    #expect(source["freshness"] == ["fresh": 3, "usable": 0, "stale": 0, "unknown": 0])
    #expect(source["holders"] == [["name": "app", "entries": 1]])
    #expect(json?["limits"] == ["bytes": 1_048_576, "entries": .null])
    #expect(json?["counters"]?["misses"] == 3 && json?["counters"]?["memoryHits"] == 1)
    #expect(json?["counters"]?["loaded"] == 3)
    let entries = try await visitor.json("/api/cache/entries?cache=0&source=hills&limit=2")
    #expect(entries["total"] == 3 && entries["entries"]?.arrayValue?.count == 2)
    #expect(entries.all("entries", "state") == ["fresh", "fresh"])
    #expect(await visitor.get("/api/cache/entries?cache=1").status == .notFound)
    try await cache.close()
  }

  @Test("A cache without reads has no hit rates")
  func uncounted() async throws {
    let device = try InspectedDevice { subjects, folder in
      let cache = try ResourceCache(disk: .folder(folder.appending(path: "cache")))
      subjects.caches = [InspectorSubjects.Cache(folder: "empty", cache: cache)]
    }
    let json = try await device.visitor().json("/api/caches")
    #expect(json["caches"]?.arrayValue?.first?["counters"] == .null)
    #expect(json["caches"]?.arrayValue?.first?["sources"] == [])
  }

  @Test("The map shows tiles by freshness, places, and records with a position")
  func map() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.url("map")
    let cache = try await Self.cache(in: folder)
    let payload = """
      {"type":"FeatureCollection","features":[{"type":"Feature","feature_type":"amenity","feature_value":"cafe",
       "osm_ids":[11],"geometry":{"type":"Point","coordinates":[10.0003,49.9983]},
       "properties":{"amenity":"cafe","name":"Café Zürich"}}]}
      """
    let device = try InspectedDevice { subjects, folder in
      let places = try PlaceStore(path: folder.appending(path: "some.places").path)
      let tile = try Tile(containing: Coordinate(latitude: 49.9983, longitude: 10.0003), zoom: 16)
      try places.replace(PlaceTile(tile, payload: Data(payload.utf8), receivedAt: subjects.store.clock.now()))
      subjects.places = [InspectorSubjects.PlaceDatabase(places, attributions: ["© Walkers"])]
      subjects.caches = [InspectorSubjects.Cache(folder: "tiles", cache: cache)]
    }
    try await device.put(
      "hut", ["title": "Hut", "place": .coordinate(Coordinate(latitude: 60, longitude: 10))])
    let visitor = try await device.visitor()
    let json = try await visitor.json("/api/map")
    #expect(json["tiles"] == 4 && json["attributions"] == ["© Hills", "© Walkers"])
    #expect(json.all("dots", "title") == ["Hut", "Café Zürich"])
    #expect(json.first("dots", where: "title", is: "Hut")?["record"] == ["type": "Trip", "id": "hut"])
    let part = try await visitor.json("/api/map?box=9.9,49.9,10.1,50.1")
    #expect(part.all("dots", "title") == ["Café Zürich"] && part["box"]?["west"] == 9.9)
    #expect(await visitor.get("/api/map?box=1,2,3").status == .badRequest)
    #expect(await visitor.get("/api/map?box=1,9,3,2").status == .badRequest)
    try await cache.close()
  }

  @Test("Too many tiles become their parents, and the count includes each one")
  func mosaic() throws {
    let tiles = try (0..<64).flatMap { x in
      try (0..<64).map { y in
        (tile: try Tile(x: x, y: y, zoom: 6), freshness: FreshnessCounts(fresh: x % 2, stale: 1 - x % 2))
      }
    }
    for limit in [5000, 4096, 1000, 3] {
      let mosaic = TileMosaic(tiles, in: .world, limit: limit)
      #expect(mosaic.cells.count <= limit && mosaic.total == 4096)
      #expect(mosaic.cells.reduce(0) { $0 + $1.freshness.fresh } == 2048)
      #expect(mosaic.cells.reduce(0) { $0 + $1.freshness.stale } == 2048)
    }
    #expect(TileMosaic(tiles, in: .world, limit: 1000).cells.allSatisfy { $0.tile.zoom == 4 })
    let corner = TileMosaic(tiles, in: GeoBox(west: 1, south: 1, east: 2, north: 2), limit: 10)
    #expect(corner.total == 1)
  }

  @Test("Groups of settings show their values, their defaults, and their places")
  func settings() async throws {
    let device = try InspectedDevice { subjects, folder in
      let home = SettingsContainer(at: folder.appending(path: "app.bothy").path)
      let shared = SharedSettings<Sound>(in: home)
      try shared.update { $0.volume = 7 }
      subjects.settings = [try LocalStore(existing: folder.appending(path: "app.bothy").path)]
    }
    let json = try await device.visitor().json("/api/settings")
    #expect(json["files"]?.arrayValue?.count == 2 && json["files"]?.arrayValue?.first?["groups"] == [])
    let group = try #require(json["files"]?.arrayValue?.last?["groups"]?.arrayValue?.first)
    #expect(group["group"] == "Sound" && group["values"] == ["volume": 7])
    #expect(group.first("fields", where: "name", is: "volume")?["default"] == 3)
  }

  @Test("Packs show their versions, types and rows, and an unreadable one its reason")
  func packs() async throws {
    let device = try InspectedDevice { subjects, folder in
      let packs = folder.appending(path: "packs")
      let builder = PackBuilder(
        name: "trips", version: "4", schema: StoreSchema(types: [InspectedDevice.trip]))
      _ = try builder.build(at: packs.appending(path: "good.pack")) {
        try $0.add(AnyRecord("Trip", id: "a", ["title": "A", "nights": 1]))
      }
      let bad = packs.appending(path: "bad.pack")
      try FileManager.default.createDirectory(at: bad, withIntermediateDirectories: true)
      try Data("{}".utf8).write(to: bad.appending(path: "manifest.json"))
      subjects.packs = [packs.path, folder.appending(path: "none").path]
    }
    let packs = try #require(try await device.visitor().json("/api/packs")["packs"]?.arrayValue)
    #expect(packs.count == 3)
    #expect(packs[0]["problem"]?.stringValue?.isEmpty == false && packs[0]["name"] == nil)
    #expect(packs[1]["name"] == "trips" && packs[1]["version"] == "4" && packs[1]["rows"] == 1)
    #expect(packs[1].all("types", "name") == ["Trip"])
    #expect(packs[2]["problem"]?.stringValue?.isEmpty == false)
  }
}

/// A group with one value.
private struct Sound: SettingsGroup, Equatable {
  var volume = 3

  static let groupName = "Sound"
  static let fields: [FieldSchema] = [.field("volume", Int.self)]

  init() {}

  init(from fields: inout FieldDecoder) throws(BothyError) { volume = try Int(fromField: &fields) }

  func encode(to fields: inout FieldEncoder) { volume.encodeField(to: &fields) }
}

/// A loader that returns a few equal bytes for every tile.
private struct TileServer: ResourceLoader {
  /// The first bytes of a PNG, because a tile isn't a text.
  private static let beginning = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    ResourceResponse(
      status: 200, fields: [:],
      body: AsyncThrowingStream { continuation in
        continuation.yield(Self.beginning + Data(request.url.utf8))
        continuation.finish()
      })
  }
}
