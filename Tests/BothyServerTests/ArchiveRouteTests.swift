import BothyCache
import BothyGeo
import BothyServer
import Foundation
import HTTPTypes
import Testing

/// PMTiles files, read in parts over HTTP.
@Suite("Archives in parts", .timeLimit(.minutes(5)))
struct ArchiveRouteTests {
  /// Makes an archive of the tiles of two zooms. `salt` distinguishes versions.
  private func makeArchive(_ folder: TileFolderUnderTest, salt: String) throws -> [Tile: Data] {
    var tiles: [Tile: Data] = [:]
    for zoom in 0...4 {
      for y in 0..<(1 << zoom) {
        for x in 0..<(1 << zoom) {
          tiles[try Tile(x: x, y: y, zoom: zoom)] = Data("\(salt) \(zoom) \(x / 2) \(y)".utf8)
        }
      }
    }
    let made = folder.path + "/.new"
    let writer = try PMTilesWriter(path: made)
    for (tile, data) in tiles.sorted(by: { $0.key < $1.key }) { try writer.add(tile, data) }
    try writer.finish(
      TileArchiveInfo(
        container: .pmtiles, name: salt, tileFormat: "png", tileCompression: .none,
        zooms: try ZoomRange(0, 4)))
    let target = folder.path + "/hills.pmtiles"
    if FileManager.default.fileExists(atPath: target) { try FileManager.default.removeItem(atPath: target) }
    try FileManager.default.moveItem(atPath: made, toPath: target)
    return tiles
  }

  private func withServer(
    _ folder: TileFolderUnderTest, _ body: @Sendable (RouteClient) async throws -> Void
  ) async throws {
    var server = try ServerUnderTest()
    server.configuration.tiles = try TileFolder(folder: folder.path)
    server.configuration.now = ServerConfiguration.systemClock
    try await server.run(body)
  }

  @Test("An archive is read tile by tile over HTTP, and its versions stay apart")
  func ranges() async throws {
    let folder = try TileFolderUnderTest()
    let tiles = try makeArchive(folder, salt: "first")
    try await withServer(folder) { call in
      let source = HTTPRangeSource(
        url: CallerLoader.origin + "/tiles/hills.pmtiles", loader: CallerLoader(call: call))
      let archive = try await PMTiles(source)
      #expect(archive.info.name == "first")
      for (tile, data) in tiles {
        #expect(try await archive.data(of: tile) == data)
        let reply = try await call(.get, "/tiles/hills/\(tile).png")
        #expect(reply.bytes == [UInt8](data))
        #expect(reply.headers[.contentType] == "image/png")
      }
      let next = try makeArchive(folder, salt: "second")
      for (tile, data) in next.prefix(5) { #expect(try await archive.data(of: tile) == data) }
      #expect(archive.info.name == "second")
    }
  }

  @Test("Ranges, tags and dates of an archive follow RFC 9110")
  func fields() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("hills.pmtiles", "PMTiles and then some")
    try await withServer(folder) { call in
      let address = "/tiles/hills.pmtiles"
      let whole = try await call(.get, address)
      let tag = try #require(whole.tag)
      #expect(whole.text == "PMTiles and then some")
      #expect(whole.headers[.acceptRanges] == "bytes")
      #expect(whole.headers[.contentType] == "application/vnd.pmtiles")
      let part = try await call(.get, address, nil, [.range: "bytes=8-10", .ifMatch: tag])
      #expect(part.status == 206)
      #expect(part.text == "and")
      #expect(part.headers[.contentRange] == "bytes 8-10/21")
      #expect(try await call(.get, address, nil, [.range: "bytes=-4"]).text == "some")
      #expect(try await call(.get, address, nil, [.range: "bytes=8-10", .ifRange: "\"x\""]).status == 200)
      #expect(try await call(.get, address, nil, [.range: "bytes=8-10", .ifMatch: "\"x\""]).status == 412)
      #expect(try await call(.get, address, nil, [.ifNoneMatch: tag]).status == 304)
      let beyond = try await call(.get, address, nil, [.range: "bytes=21-"])
      #expect(beyond.status == 416)
      #expect(beyond.headers[.contentRange] == "bytes */21")
      let head = try await call(.head, address)
      #expect(head.headers[.contentLength] == "21")
      #expect(head.bytes.isEmpty)
      #expect(try await call(.get, "/tiles/none.pmtiles").status == 404)
      try folder.write("hills.pmtiles", "PMTiles and now other")
      #expect(try await call(.get, address, nil, [.range: "bytes=0-1", .ifMatch: tag]).status == 412)
    }
  }
}

/// A loader that sends requests to the server under test.
private struct CallerLoader: ResourceLoader {
  static let origin = "http://tiles.example"
  let call: RouteClient

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let reply: Reply
    do {
      reply = try await call(
        request.method, String(request.url.dropFirst(Self.origin.count)), nil, request.fields)
    } catch {
      throw LoadFailure(.unreachable, "\(error)")
    }
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    continuation.yield(Data(reply.bytes))
    continuation.finish()
    return ResourceResponse(status: reply.status, fields: reply.headers, body: stream)
  }
}
