import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A server with the tiles that a test sets.
private final class FewTiles: ResourceLoader {
  private let state = Mutex((tiles: Set<String>(), requests: 0))

  var requests: Int { state.withLock { $0.requests } }

  func put(_ tiles: Tile...) {
    state.withLock { state in for tile in tiles { state.tiles.insert("/\(tile).png") } }
  }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let hasTile = state.withLock { state in
      state.requests += 1
      return state.tiles.contains { request.url.hasSuffix($0) }
    }
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self, throwing: (any Error).self)
    continuation.yield(Data(request.url.utf8))
    continuation.finish()
    return ResourceResponse(status: hasTile ? 200 : 404, fields: [:], body: stream)
  }
}

@Suite("Providers of tiles, their styles and the tiles of a map", .timeLimit(.minutes(5)))
struct TileLayerTests {
  private func provider() -> TileProvider {
    TileProvider(
      "hills", template: "https://{s}.hills.example/{style}/{z}/{x}/{y}.png", hosts: ["a", "b"],
      freshness: .fixed(.days(7)), userAgent: "Tests/1 (tests.example)", content: ContentExpectation(),
      zooms: 3...14,
      names: SourceNames(short: "Hills", long: "Hills and dales", attribution: "© walkers"))
  }

  /// Promises, B-31
  @Test("A style is part of a source's identity, a host is not")
  func types() throws {
    let provider = provider()
    let (day, night) = (try provider.source(style: "day"), try provider.source(style: "night & fog"))
    let tile = try Tile(x: 5, y: 6, zoom: 4)
    let (first, second) = (try day.key(tile), try night.key(tile))
    #expect(first != second && Tile(first) == tile && Tile(second) == tile)
    #expect(first.description == "hills/day/4/5/6")
    #expect(Set(["a", "b"].indices.map { day.publicURL(for: first, host: $0) }).count == 2)
    #expect(day.publicURL(for: first, host: 0) == "https://a.hills.example/day/4/5/6.png")
    #expect(
      night.publicURL(for: second, host: 1) == "https://b.hills.example/night%20%26%20fog/4/5/6.png")
    #expect(day.names.attribution == "© walkers" && day.names == night.names)
    #expect(throws: BothyError.self) { try provider.source() }
    #expect(throws: BothyError.self) { try day.key(Tile(x: 0, y: 0, zoom: 2)) }
    let plain = TileProvider("plain", template: "https://plain.example/{z}/{x}/{y}.png")
    #expect(try plain.source().id == "plain")
    #expect(throws: BothyError.self) { try plain.source(style: "day") }
    #expect(Tile(ResourceKey("hills", path: "4/5/6")) == nil)
  }

  /// Promises, B-22
  @Test(
    "A part of a coarser tile is shown until a tile arrives"
  )
  func bestAvailable() async throws {
    let scratch = try TemporaryFolder()
    let server = FewTiles()
    let source = try provider().source(style: "day")
    let open = {
      let store = try DiskStore(path: scratch.file("tiles.sqlite"))
      return try ResourceCache(sources: [source], disk: DiskCache { _ in store }, loader: server)
    }
    var cache = try open()
    var layer = TileLayer(source, in: cache)
    let tile = try Tile(x: 4321, y: 1234, zoom: 13)
    let parent = try #require(tile.ancestor(atZoom: 11))
    let world = try #require(tile.ancestor(atZoom: 3))
    server.put(tile, parent, world)
    #expect(layer.peek(tile) == nil && layer.bestAvailable(tile) == nil && server.requests == 0)
    _ = try await layer.value(world)
    #expect(layer.bestAvailable(tile)?.tile == world)
    _ = try await layer.value(parent)
    let shown = try #require(layer.bestAvailable(tile))
    #expect(shown.tile == parent && shown.square == tile.part(of: parent) && !shown.isExact)
    #expect(shown.part.size == 0.25)
    let loaded = try await layer.value(tile)
    #expect(layer.peek(tile)?.bytes == loaded.bytes)
    #expect(layer.bestAvailable(tile)?.isExact == true && server.requests == 3)
    // The tile one turn around the world.
    #expect(layer.bestAvailable(try Tile(wrappingX: tile.x + 1 << 13, y: tile.y, zoom: 13))?.tile == tile)
    // A tile that the server doesn't have can't be shown.
    let absent = try #require(tile.neighbor(east: 1, south: 0))
    #expect(try await layer.value(absent).isAbsent)
    #expect(layer.bestAvailable(absent)?.tile == absent.ancestor(atZoom: 11))
    let fine = try Tile(x: tile.x << 4, y: tile.y << 4, zoom: 17)
    #expect(layer.bestAvailable(fine)?.square == fine.part(of: tile))
    await #expect(throws: BothyError.self) { try await layer.value(fine) }
    #expect(layer.bestAvailable(try Tile(x: 0, y: 0, zoom: 2)) == nil)
    try await cache.close()

    cache = try open()
    layer = TileLayer(source, in: cache)
    #expect(layer.bestAvailable(tile) == nil)
    #expect(try await layer.bestStored(fine)?.tile == tile)
    #expect(try await layer.bestStored(absent)?.tile == absent.ancestor(atZoom: 11))
    #expect(layer.bestAvailable(tile)?.tile == tile, "what was found on disk is in memory now")
    #expect(try await layer.bestStored(Tile(x: 0, y: 0, zoom: 9)) == nil && server.requests == 4)
    try await cache.close()
  }
}
