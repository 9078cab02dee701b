import BothyCache
import BothyGeo
import BothyServer
import BothyStore
import BothyTestSupport
import Dispatch
import Foundation
import HTTPTypes
import NIOCore
import Testing

/// Tiles from a folder, requested like maps and caches do.
@Suite("Tile routes", .timeLimit(.minutes(5)))
struct TileRouteTests {
  private let collection = #"{"type":"FeatureCollection","features":[]}"#
  private let tokens = #"[{"token":"right","principal":"ada","spaces":["hut"]}]"#
  private let plain: HTTPFields = [.acceptEncoding: "identity"]

  private func withServer(
    _ folder: TileFolderUnderTest, maxAge: Duration = .seconds(604_800), tokens: String? = nil,
    isOpen: Bool = false, _ body: @Sendable (RouteClient) async throws -> Void
  ) async throws {
    var server = try ServerUnderTest(tokens: tokens)
    server.configuration.tiles = try TileFolder(folder: folder.path, maxAge: maxAge, isOpen: isOpen)
    server.configuration.now = { 4_000_000_000_000 }
    try await server.run(body)
  }

  @Test(
    "Tiles are found in zoom and column folders or by telling names",
    arguments: [
      "16/18109/23965.json", "16_18109_23965.json", "0302231230133303.json", "16/18109/23965.geojson",
      "16_18109_23965.geojson",
    ])
  func layouts(name: String) async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("walks/\(name)", collection)
    try await withServer(folder) { call in
      for end in ["", ".json", ".geojson"] {
        let reply = try await call(.get, "/tiles/walks/16/18109/23965\(end)", nil, plain)
        #expect(reply.status == 200)
        #expect(reply.text == collection)
        #expect(reply.headers[.contentType] == "application/geo+json")
        #expect(reply.headers[.cacheControl] == "public, max-age=604800")
      }
      #expect(try await call(.get, "/tiles/walks/16/18109/23965.pbf").status == 404)
      #expect(try await call(.get, "/tiles/walks/16/18109/23966.json").status == 404)
      #expect(try await call(.get, "/tiles/other/16/18109/23965.json").status == 404)
      let head = try await call(.head, "/tiles/walks/16/18109/23965.json", nil, plain)
      #expect(head.status == 200)
      #expect(head.bytes.isEmpty)
      #expect(head.headers[.contentLength] == String(collection.utf8.count))
    }
  }

  @Test("Open tiles whose reading takes long leave threads to health")
  func threads() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("walks/0/0/0.json", collection)
    let count = max(4, ProcessInfo.processInfo.activeProcessorCount)
    let (waiting, isHeld, isLate) = (Locked(0), Locked(false), Locked(false))
    let gate = DispatchSemaphore(value: 0)
    @Sendable func release() {
      isHeld.value = false
      for _ in 0..<count { gate.signal() }
    }
    var server = try ServerUnderTest()
    server.configuration.tiles = try TileFolder(folder: folder.path, isOpen: true)
    // A tile's fields need the time.
    server.configuration.now = {
      if isHeld.value {
        waiting.change { $0 += 1 }
        gate.wait()
      }
      return 4_000_000_000_000
    }
    // Without other threads nothing goes on before the gate is open.
    DispatchQueue.global().asyncAfter(deadline: .now() + 240) {
      guard isHeld.value else { return }
      isLate.value = true
      release()
    }
    try await server.run { call async throws in
      isHeld.value = true
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<count { group.addTask { try await call(.get, "/tiles/walks/0/0/0.json").status } }
        try await until { waiting.value == count }
        #expect(try await call(.get, "/livez").status == 200)
        #expect(!isLate.value)
        release()
        for try await status in group { #expect(status == 200) }
      }
    }
  }

  @Test(
    "An address that isn't a tile is wrong, and none leads outside",
    arguments: [
      "16/65536/0.json", "16/0/65536.json", "30/0/0.json", "x/0/0.json", "1/-1/0.json", "1/0/0x1.json",
      "1/01/0.json", "1/0/0.exe", "99999999999999999999/0/0.json",
    ])
  func wrongAddresses(address: String) async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("walks/0/0/0.json", collection)
    try await withServer(folder) { call in
      let reply = try await call(.get, "/tiles/walks/\(address)")
      #expect(reply.status == 400)
    }
  }

  @Test("Names that are paths, hidden or missing are not sources")
  func traversal() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("inner/walks/0/0/0.json", collection)
    try folder.write("secret/0/0/0.json", collection)
    try folder.write("inner/.hidden/0/0/0.json", collection)
    var inner = folder
    inner.path += "/inner"
    try await withServer(inner) { call in
      #expect(try await call(.get, "/tiles/walks/0/0/0.json").status == 200)
      for name in [
        "..", "%2e%2e", "%2e%2e%2fsecret", "..%2fsecret", "walks%2f..%2f..%2fsecret", ".hidden", ".",
        "%2fetc", "..%5csecret", "a%00b", "%c3%28",
      ] {
        for address in ["\(name)/0/0/0.json", "\(name).json", "\(name).pmtiles"] {
          let reply = try await call(.get, "/tiles/\(address)")
          #expect(reply.status == 404 || reply.status == 400, "\(address)")
          #expect(!reply.text.contains("Feature"), "\(address)")
        }
      }
    }
  }

  @Test("A caller with a current tag or date gets 304 and no body")
  func conditional() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("walks/0/0/0.json", collection)
    try await withServer(folder) { call in
      let address = "/tiles/walks/0/0/0.json"
      let first = try await call(.get, address, nil, plain)
      let tag = try #require(first.tag)
      let date = try #require(first.headers[.lastModified])
      #expect(tag.hasPrefix("\""))
      for fields: HTTPFields in [
        [.ifNoneMatch: tag], [.ifNoneMatch: "W/\(tag)"], [.ifNoneMatch: "\"x\", \(tag)"], [.ifNoneMatch: "*"],
        [.ifModifiedSince: date],
      ] {
        let reply = try await call(.get, address, nil, fields)
        #expect(reply.status == 304, "\(fields)")
        #expect(reply.bytes.isEmpty)
        #expect(reply.headers[.cacheControl] == "public, max-age=604800")
        #expect(reply.tag != nil)
      }
      #expect(try await call(.get, address, nil, [.ifNoneMatch: tag]).tag == tag)
      #expect(try await call(.get, address, nil, [.ifNoneMatch: "\"other\""]).status == 200)
      // A tag counts before a date (RFC 9110, 13.1.3).
      #expect(
        try await call(.get, address, nil, [.ifNoneMatch: "\"other\"", .ifModifiedSince: date]).status == 200)
      let old = "Thu, 01 Jan 1970 00:00:00 GMT"
      #expect(try await call(.get, address, nil, [.ifModifiedSince: old]).status == 200)
      #expect(try await call(.get, address, nil, [.ifModifiedSince: "yesterday"]).status == 200)
    }
  }

  @Test("A replaced file has another tag at once, a touched one keeps its tag")
  func replaced() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("walks/0/0/0.json", collection)
    try await withServer(folder) { call in
      let address = "/tiles/walks/0/0/0.json"
      let first = try #require(try await call(.get, address, nil, plain).tag)
      try folder.touch("walks/0/0/0.json", at: 1_700_000_000)
      let touched = try await call(.get, address, nil, plain)
      #expect(touched.tag == first)
      #expect(touched.headers[.lastModified] == "Tue, 14 Nov 2023 22:13:20 GMT")
      try folder.write("walks/0/0/0.json", collection + " ")
      let second = try await call(.get, address, nil, [.ifNoneMatch: first, .acceptEncoding: "identity"])
      #expect(second.status == 200)
      #expect(second.tag != first)
      try FileManager.default.removeItem(atPath: folder.path + "/walks/0/0/0.json")
      #expect(try await call(.get, address, nil, [.ifNoneMatch: first]).status == 404)
      try folder.write("walks/0/0/0.json", collection)
      #expect(try await call(.get, address, nil, plain).tag == first)
    }
  }

  @Test("Text is compressed for callers that accept gzip, under an equivalent tag")
  func packing() async throws {
    let folder = try TileFolderUnderTest()
    let text = collection + String(repeating: " ", count: 5000)
    try folder.write("walks/0/0/0.json", text)
    try await withServer(folder) { call in
      let address = "/tiles/walks/0/0/0.json"
      let packed = try await call(.get, address, nil, [.acceptEncoding: "br, gzip"])
      #expect(packed.headers[.contentEncoding] == "gzip")
      #expect(packed.headers[.vary] == "Accept-Encoding")
      #expect(packed.bytes.count < 500)
      let bare = try await call(.get, address, nil, plain)
      #expect(bare.headers[.contentEncoding] == nil)
      #expect(bare.headers[.vary] == "Accept-Encoding")
      #expect(bare.text == text)
      let tags = [try #require(packed.tag), try #require(bare.tag)]
      #expect(tags[0] != tags[1])
      for tag in tags {
        let fields: HTTPFields = [.ifNoneMatch: tag, .acceptEncoding: "gzip"]
        let reply = try await call(.get, address, nil, fields)
        #expect(reply.status == 304)
        #expect(reply.tag == tag)
      }
      #expect(try await call(.get, address, nil, [.acceptEncoding: "gzip;q=0"]).text == text)
    }
  }

  @Test("A compressed tile is sent as stored or decompressed")
  func storedPacked() async throws {
    let folder = try TileFolderUnderTest()
    let tile = try Tile(x: 0, y: 0, zoom: 1)
    let content = Data(repeating: 7, count: 3000)
    let packed = try Gzip.pack(content)
    try folder.mbtiles("hills", [tile: packed], format: "pbf")
    try await withServer(folder) { call in
      let reply = try await call(.get, "/tiles/hills/1/0/0.pbf", nil, [.acceptEncoding: "gzip"])
      #expect(reply.bytes == [UInt8](packed))
      #expect(reply.headers[.contentEncoding] == "gzip")
      #expect(reply.headers[.contentType] == "application/vnd.mapbox-vector-tile")
      let bare = try await call(.get, "/tiles/hills/1/0/0.mvt", nil, plain)
      #expect(bare.bytes == [UInt8](content))
      #expect(bare.headers[.contentEncoding] == nil)
      #expect(try await call(.get, "/tiles/hills/1/0/1.pbf").status == 404)
      #expect(try await call(.get, "/tiles/hills/2/0/0.pbf").status == 404)
      #expect(try await call(.get, "/tiles/hills/1/0/0.png").status == 404)
    }
  }

  @Test("A tile packed with Brotli or Zstandard is sent as stored, and once", arguments: ["br", "zstd"])
  func storedOtherwise(coding: String) async throws {
    let folder = try TileFolderUnderTest()
    let tile = try Tile(x: 0, y: 0, zoom: 1)
    let packed = Data([1, 2, 3])
    try folder.mbtiles("hills", [tile: packed], format: "pbf", compression: coding == "br" ? .brotli : .zstd)
    try await withServer(folder) { call in
      let address = "/tiles/hills/1/0/0.pbf"
      let first = try await call(.get, address, nil, [.acceptEncoding: "gzip, br, zstd"])
      #expect(first.headers[.contentEncoding] == coding && first.bytes == [UInt8](packed))
      let (tag, date) = (try #require(first.tag), try #require(first.headers[.lastModified]))
      for condition: HTTPFields in [[.ifNoneMatch: tag], [.ifModifiedSince: date]] {
        var fields = condition
        fields[.acceptEncoding] = "gzip, br, zstd"
        let again = try await call(.get, address, nil, fields)
        #expect(again.status == 304 && again.tag == tag)
      }
      #expect(try await call(.get, address, nil, plain).status == 406)
    }
  }

  @Test("A replaced archive is served in its new version, an unreadable one omitted")
  func archives() async throws {
    let folder = try TileFolderUnderTest()
    let tile = try Tile(x: 1, y: 0, zoom: 1)
    let picture = Data([0x89, 0x50, 0x4E, 0x47, 1, 2, 3])
    try folder.mbtiles("hills", [tile: picture], format: nil)
    try folder.write("broken.pmtiles", "PMTiles")
    try await withServer(folder) { call in
      let first = try await call(.get, "/tiles/hills/1/1/0")
      #expect(first.bytes == [UInt8](picture))
      #expect(first.headers[.contentType] == "image/png")
      #expect(try await call(.get, "/tiles/hills/1/1/0", nil, [.ifNoneMatch: first.tag ?? ""]).status == 304)
      try folder.mbtiles("hills", [tile: picture + [4]], format: nil)
      let second = try await call(.get, "/tiles/hills/1/1/0", nil, [.ifNoneMatch: first.tag ?? ""])
      #expect(second.bytes == [UInt8](picture + [4]))
      #expect(try await call(.get, "/tiles/broken/0/0/0").status == 500)
      let list = try await call(.get, "/tiles").json()["sources"]?.arrayValue ?? []
      #expect(list.map { $0["id"] } == ["hills"])
    }
    let problems = try await TileFolder(folder: folder.path).problems()
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("broken is not served") == true)
  }

  @Test("A second archive of one name is reported, and an invalid folder refused")
  func refused() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("hills.mbtiles", "")
    try folder.write("hills.pmtiles", "")
    try folder.mbtiles("lakes", [try Tile(x: 0, y: 0, zoom: 1): Data([1, 2, 3])], format: "pbf")
    let tileFolder = try TileFolder(folder: folder.path)
    let problems = await tileFolder.problems()
    #expect(problems.contains { $0.hasPrefix("hills.mbtiles is not served: hills.pmtiles") })
    #expect(problems.contains { $0.hasPrefix("hills is not served") } && problems.count == 2)
    #expect { try TileFolder(folder: folder.path + "/hills.mbtiles") } throws: {
      ($0 as? BothyError)?.code == .unavailable
    }
  }

  @Test("The TileJSON document describes a source whose addresses work")
  func tileJSON() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("walks/16_18109_23965.json", collection)
    try folder.write("walks/15_9054_11982.json", collection)
    try folder.write("walks/notes_1_2.json", "{}")
    try folder.write("walks/tiles.json", #"{"name":"Walks","attribution":"© OpenStreetMap contributors"}"#)
    try await withServer(folder) { call in
      let reply = try await call(.get, "/tiles/walks.json")
      let document = try TileJSON(json: reply.bytes)
      #expect(document.name == "Walks")
      #expect(document.attribution == "© OpenStreetMap contributors")
      #expect((document.zooms.lowest, document.zooms.highest) == (15, 16))
      let tile = try Tile(x: 18109, y: 23965, zoom: 16)
      #expect(document.bounds == tile.bounds)
      let template = try #require(document.templates.first)
      #expect(template.hasSuffix("/tiles/walks/{z}/{x}/{y}.json"))
      let address = template.replacing("{z}/{x}/{y}", with: "\(tile)")
      let start = try #require(address.firstRange(of: "/tiles")?.lowerBound)
      #expect(try await call(.get, String(address[start...])).status == 200)
      let again = try await call(.get, "/tiles/walks.json", nil, [.ifNoneMatch: reply.tag ?? ""])
      #expect(again.status == 304)
      #expect(try await call(.get, "/tiles/none.json").status == 404)
      let list = try await call(.get, "/tiles").json()["sources"]?.arrayValue ?? []
      #expect(list.count == 1)
      #expect(list.first?["tilejson"] == "/tiles/walks.json")
      #expect(list.first?["format"] == "geojson")
    }
  }

  @Test("With a tokens file, tiles require any known token unless they are open")
  func access() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("walks/0/0/0.json", collection)
    try folder.write("hills.pmtiles", "PMTiles")
    let addresses = ["/tiles", "/tiles/walks.json", "/tiles/walks/0/0/0.json", "/tiles/hills.pmtiles"]
    try await withServer(folder, tokens: tokens) { call in
      for address in addresses {
        #expect(try await call(.get, address).status == 401)
        #expect(try await call.with(token: "wrong")(.get, address).status == 401)
        let reply = try await call.with(token: "right")(.get, address)
        #expect(reply.status == 200)
        #expect(reply.headers[.accessControlAllowOrigin] == nil)
      }
      let tile = try await call.with(token: "right")(.get, addresses[2])
      #expect(tile.headers[.cacheControl] == "private, max-age=604800")
      #expect(tile.headers[.vary] == "Accept-Encoding, Authorization")
    }
    try await withServer(folder, maxAge: .zero, tokens: tokens, isOpen: true) { call in
      for address in addresses {
        let reply = try await call(.get, address)
        #expect(reply.status == 200)
        #expect(reply.headers[.accessControlAllowOrigin] == "*")
      }
      #expect(try await call(.get, addresses[2]).headers[.cacheControl] == "public, no-cache")
      #expect(try await call(.get, "/v1/spaces/hut/digest").status == 401)
    }
  }

  @Test("A server without tiles has no such addresses, and does not describe any")
  func none() async throws {
    try await ServerUnderTest().run { call in
      let reply = try await call(.get, "/tiles")
      #expect(reply.status == 404)
      #expect(try await call(.get, "/openapi.json").json()["paths"]?["/tiles"] == nil)
    }
    let folder = try TileFolderUnderTest()
    try await withServer(folder) { call in
      let paths = try await call(.get, "/openapi.json").json()["paths"]?.objectValue ?? [:]
      #expect(paths.keys.filter { $0.hasPrefix("/tiles") }.count == 4)
      #expect(try await call(.get, "/tiles").json()["sources"] == [])
      #expect(try await call(.post, "/tiles").status == 405)
      let unnamed = try await call(.get, "/tiles/.json")
      #expect(unnamed.status == 404 && unnamed.text.contains("no such address"))
    }
  }
}
