import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Tiles loaded ahead through a cache", .timeLimit(.minutes(5)))
struct TilePrefetcherTests {
  /// Returns a layer of a source on the rig's server and files.
  private func layer(
    _ server: TileServer, _ scratch: TemporaryFolder, allowsBulk: Bool, host: String = "tiles.example"
  ) throws -> TileLayer {
    let source = try ResourceSource(
      "walks", template: "https://\(host)/{z}/{x}/{y}.json", freshness: .fixed(.days(7)),
      userAgent: "Tests/1 (tests.example)", allowsBulkDownload: allowsBulk)
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    return TileLayer(
      source, in: try ResourceCache(sources: [source], disk: DiskCache { _ in store }, loader: server))
  }

  /// Promises: R-24
  @Test("The tiles ahead are stored before they are shown, and cost one request each")
  func ahead() async throws {
    let (server, scratch) = (TileServer(), try TemporaryFolder())
    let layer = try layer(server, scratch, allowsBulk: true)
    let ahead = TilePrefetcher(layer)
    let shown = try Tile(x: 18_100, y: 23_960, zoom: 16)
    ahead.show([shown])
    ahead.move(to: shown.bounds.center, course: 90, speed: 25)
    await ahead.idle()
    let next = try #require(shown.neighbor(east: 3, south: 0))
    let asked = server.requests.count
    #expect(asked > 8)
    server.set(isDown: true)
    #expect(try await layer.value(next).bytes != nil)
    #expect(try await layer.value(try #require(shown.parent)).bytes != nil)
    server.set(isDown: false)
    ahead.show([next])
    await ahead.idle()
    #expect(server.requests.count > asked)
    #expect(Set(server.requests.map(\.url)).count == server.requests.count)
    try await layer.cache.close()
  }

  @Test("A source without bulk downloads gets one ring, and an hour without bytes nothing")
  func limits() async throws {
    let (server, scratch) = (TileServer(), try TemporaryFolder())
    let layer = try layer(server, scratch, allowsBulk: false)
    let shown = try Tile(x: 18_100, y: 23_960, zoom: 16)
    let none = TilePrefetcher(layer, bytesPerHour: 0)
    none.show([shown])
    await none.idle()
    #expect(server.requests.isEmpty)
    let ahead = TilePrefetcher(layer)
    ahead.show([shown])
    ahead.move(to: shown.bounds.center, course: 90, speed: 25)
    await ahead.idle()
    #expect(server.requests.count == 8)
    try await layer.cache.close()
  }

  /// Promises: A-75
  @Test("A provider that forbids bulk downloads gets one ring, whatever the source says")
  func forbidden() async throws {
    let (server, scratch) = (TileServer(), try TemporaryFolder())
    let layer = try layer(server, scratch, allowsBulk: true, host: "tile.openstreetmap.org")
    let shown = try Tile(x: 18_100, y: 23_960, zoom: 16)
    let ahead = TilePrefetcher(layer)
    ahead.show([shown])
    ahead.move(to: shown.bounds.center, course: 90, speed: 25)
    await ahead.idle()
    #expect(server.requests.count == 8)
    try await layer.cache.close()
  }

  @Test("A failing server is asked once for each tile, however often the map moves")
  func failing() async throws {
    let (server, scratch) = (TileServer(), try TemporaryFolder())
    let layer = try layer(server, scratch, allowsBulk: false)
    server.set(body: "<html>", type: "text/html")
    let shown = try Tile(x: 18_100, y: 23_960, zoom: 16)
    let ahead = TilePrefetcher(layer)
    ahead.show([shown])
    await ahead.idle()
    let asked = server.requests.count
    for _ in 0..<20 {
      ahead.move(to: shown.bounds.center, course: 90, speed: 1)
      await ahead.idle()
    }
    #expect(asked >= 8 && server.requests.count == asked)
    try await layer.cache.close()
  }

  @Test("Bytes that came in place of tiles count for the hour")
  func pages() async throws {
    let (server, scratch) = (TileServer(), try TemporaryFolder())
    let layer = try layer(server, scratch, allowsBulk: true)
    server.set(body: "<html>" + String(repeating: "a", count: 40_000), type: "text/html")
    let shown = try Tile(x: 18_100, y: 23_960, zoom: 16)
    let ahead = TilePrefetcher(layer, bytesPerHour: 300_000)
    ahead.show([shown])
    ahead.move(to: shown.bounds.center, course: 90, speed: 25)
    await ahead.idle()
    #expect((4...9).contains(server.requests.count))
    try await layer.cache.close()
  }
}
