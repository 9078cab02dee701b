import BothyCache
import BothyGeo
import BothyHTTP
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The complete path of a tile: a real server, a real socket, the cache on disk, the atlas and the places.
@Suite("A walk over a real network", .timeLimit(.minutes(10)))
struct WalkTests {
  private let start = Coordinate(latitude: 51.43860066718254, longitude: -2.69439697265625)

  /// Returns the nine tiles around the start: the real ones, or synthetic ones without fixtures.
  private func documents() throws -> (paths: [String: Data], isReal: Bool) {
    let cover = try NearbyMapPlan(around: start, held: [:], at: 0).cover
    let real = try Fixtures.walkTiles().filter { cover.contains($0.tile) }
    let all = real.isEmpty ? try cover.map { ($0, try Self.madeUp($0)) } : real.map { ($0.tile, $0.data) }
    return (Dictionary(uniqueKeysWithValues: all.map { ("/tiles/\($0.0).json", $0.1) }), !real.isEmpty)
  }

  /// Returns ten cafés, the last of them in every tile.
  private static func madeUp(_ tile: Tile) throws -> Data {
    let center = tile.bounds.center
    let cafes = (0..<10).map { number in
      TileDocument.feature(
        "amenity", "cafe", ids: "[\(number == 9 ? 9 : tile.x * 100_000 + tile.y * 10 + number)]",
        geometry: TileDocument.shape("Point", "[\(center.longitude), \(center.latitude)]"),
        properties: #"{"amenity": "cafe", "name": "Café \#(number)"}"#)
    }
    return Data("{\"type\": \"FeatureCollection\", \"features\": [\(cafes.joined(separator: ", "))]}".utf8)
  }

  /// Promises: T-12, T-22, T-23, T-24, T-25, T-28, T-30
  @Test("Nine tiles cost nine requests once, and nine conditional ones a week later")
  func walk() async throws {
    let (documents, isReal) = try documents()
    let host = try TileHost(documents)
    let scratch = try TemporaryFolder()
    let time = VirtualTime()
    let source = try ResourceSource(
      "walks", template: "http://127.0.0.1:\(host.port)/tiles/{z}/{x}/{y}.json",
      freshness: .fixed(.days(7)),
      userAgent: "Tests/1 (tests.example)")
    // Its sleeps never end, so that tiles aren't shown early because a machine is slow.
    let clock = LoadClock(VirtualClock(), wall: time.reader())
    let cache = try ResourceCache(
      sources: [source],
      disk: DiskCache { try DiskStore(path: scratch.file("cache.sqlite"), options: $0) },
      loader: .system, clock: clock)
    let places = try PlaceStore(path: scratch.file("places.sqlite"))
    let atlas = NearbyMap(places: places, cache: cache, source: source, clock: clock)
    let changes = Gathering(atlas.changes)

    let first = try #require(try await atlas.update(start))
    #expect(first.loaded.count == 9 && first.failed.isEmpty)
    let requests = host.takeRequests()
    #expect(requests.count == 9 && Set(requests.map(\.path)) == Set(documents.keys))
    #expect(requests.allSatisfy { $0.method == "GET" && $0.condition == nil && $0.status == 200 })
    let (tiles, features) = try places.counts()
    #expect(tiles == 9 && features == (isReal ? 467 : 82))
    let held = try documents.values.reduce(0) { try $0 + GeoJSONTile(decoding: $1).features.count }
    #expect(held == (isReal ? 493 : 90))

    // A second refresh, and another run of the app.
    #expect(try await atlas.refresh().count == 0)
    let other = NearbyMap(places: places, cache: cache, source: source, clock: clock)
    #expect(try await other.update(start)?.count == 0)
    #expect(await other.tiles == first.loaded && host.takeRequests().isEmpty)

    time.advance(by: PlaceTile.defaultLifetime)
    #expect(try await atlas.refresh().unchanged.count == 9)
    let later = host.takeRequests()
    #expect(later.count == 9 && later.allSatisfy { $0.condition != nil && $0.status == 304 })
    #expect(try await atlas.refresh().count == 0 && host.takeRequests().isEmpty)
    await atlas.close()
    #expect(await changes.all() == [TileChange(added: first.loaded)])
    try await cache.close()
  }

  /// Promises: B-1, E-37
  @Test("All 760 intersections of the server's two tiles lie in their own tile")
  func intersections() throws {
    let raw = try Set([Tile(x: 18109, y: 23965, zoom: 16), Tile(x: 18749, y: 25070, zoom: 16)])
    let tiles = try Fixtures.townTiles().filter { raw.contains($0.tile) }
    var count = 0
    for (tile, data) in tiles {
      for feature in try GeoJSONTile(decoding: data).features(in: .intersection) {
        #expect(try Tile(containing: feature.center, zoom: 16) == tile)
        count += 1
      }
    }
    #expect(tiles.isEmpty || count == 760)
  }
}
