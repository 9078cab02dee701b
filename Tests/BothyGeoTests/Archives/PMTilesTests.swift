import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("PMTiles", .timeLimit(.minutes(5)))
struct PMTilesTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  private static func tiles(_ count: UInt64, seed: UInt64 = 1) throws -> [Tile: Data] {
    var generator = SeededGenerator(seed: seed)
    var tiles: [Tile: Data] = [:]
    for id in 0..<count where !generator.chance(20) {
      // Long runs of one content, such as the sea.
      let number = generator.chance(70) ? 0 : Int.random(in: 1...5, using: &generator)
      try tiles[Tile(hilbertID: id)] = Gzip.pack(Data("content \(number)".utf8))
    }
    return tiles
  }

  @Test(
    "Every tile is found, and no others, with and without leaf directories",
    arguments: [nil, 1, 7, 64])
  func reading(leafSize: Int?) async throws {
    let tiles = try Self.tiles(341)
    for isPacked in [true, false] {
      let builder = ArchiveBuilder(tiles: tiles, leafSize: leafSize, isPacked: isPacked)
      let archive = try await PMTiles(MemorySource(builder.build()))
      for id in UInt64(0)..<400 {
        let tile = try Tile(hilbertID: id)
        let data = try await archive.data(of: tile)
        #expect(data == tiles[tile], "\(tile)")
      }
      var found: [Tile: Data] = [:]
      try await archive.forEachTile { found[$0] = $1 }
      #expect(found == tiles)
      let info = archive.info
      #expect(info.tileCount == tiles.count && info.contentCount == Set(tiles.values).count)
      #expect(
        info.name == "Made by hand" && info.attribution == "© walkers" && info.metadata["extra"] == "[1]")
      #expect(try info.zooms == ZoomRange(0, 4))
      #expect(info.tileFormat == "png")
      #expect(info.bounds == GeoBox(west: -10, south: -20, east: 30, north: 40))
    }
    let one = try #require(tiles.keys.min())
    let archive = try await PMTiles(MemorySource(ArchiveBuilder(tiles: tiles).build()))
    let content = try #require(try await archive.content(of: one))
    #expect(String(decoding: content, as: UTF8.self).hasPrefix("content"))
  }

  @Test("Errors distinguish other formats, other versions and truncated archives")
  func damaged() async throws {
    let good = try ArchiveBuilder(tiles: Self.tiles(341), leafSize: 20).build()
    func failure(_ data: Data) async -> BothyError.Code? {
      do {
        let archive = try await PMTiles(MemorySource(data))
        try await archive.forEachTile { _, _ in }
        return nil
      } catch { return (error as? BothyError)?.code }
    }
    #expect(await failure(good) == nil)
    #expect(await failure(Data()) == .notAnArchive)
    #expect(
      await failure(Data("This is no archive, but it is longer than a header would be".utf8)) == .notAnArchive
    )
    #expect(try await failure(ArchiveBuilder(tiles: [:], version: 4).build()) == .notAnArchive)
    for length in [8, 100, 126, 127, 140, good.count / 2, good.count - 1] {
      #expect(await failure(good.prefix(length)) == .damagedArchive, "\(length)")
    }
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<300 {
      var broken = good
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        broken[Int.random(in: 0..<900, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      do {
        let archive = try await PMTiles(MemorySource(broken))
        for id in stride(from: UInt64(0), to: 341, by: 20) {
          _ = try await archive.data(of: Tile(hilbertID: id))
        }
      } catch { #expect(error is BothyError, "\(error)") }
    }
  }

  @Test("An HTTP archive is read by ranges, directories once, and again when replaced")
  func ranges() async throws {
    let old = try Self.tiles(341, seed: 1)
    let new = try Self.tiles(341, seed: 2)
    let server = try RangeServer(ArchiveBuilder(tiles: old, leafSize: 64).build(), etag: "\"1\"")
    let archive = try await PMTiles(HTTPRangeSource(url: "http://tiles.test/a.pmtiles", loader: server))
    #expect(server.requests == ["bytes=0-16383"])
    let tiles = old.keys.sorted()
    for tile in tiles { #expect(try await archive.data(of: tile) == old[tile]) }
    let reads = server.requests.count
    for tile in tiles { _ = try await archive.data(of: tile) }
    #expect(server.requests.count == reads + tiles.count, "directories are kept")
    try server.replace(ArchiveBuilder(tiles: new, leafSize: 64).build(), etag: "\"2\"")
    for tile in new.keys.sorted() { #expect(try await archive.data(of: tile) == new[tile]) }
    try server.replace(ArchiveBuilder(tiles: old, leafSize: 64).build(), etag: "W/\"3\"")
    for tile in tiles { #expect(try await archive.data(of: tile) == old[tile]) }
  }

  @Test("A server without ranges, or one that fails, is reported")
  func badServers() async throws {
    for status in [200, 403, 404] {
      let server = RangeServer(Data(repeating: 1, count: 100), etag: "\"1\"", status: status)
      let error = await #expect(throws: BothyError.self) {
        try await PMTiles(HTTPRangeSource(url: "http://tiles.test/a.pmtiles", loader: server))
      }
      #expect(error?.code == .unavailable)
    }
  }

  @Test("A file is opened by its content, and its replacement is detected")
  func files() async throws {
    let tiles = try Self.tiles(85)
    let path = scratch.file("a.mbtiles")
    try ArchiveBuilder(tiles: tiles).build().write(to: URL(fileURLWithPath: path))
    let archive = try await TileArchives.open(path: path)
    #expect(archive.info.container == .pmtiles)
    #expect(try await MBTilesWriter.copy(archive, to: scratch.file("copy")) == tiles.count)
    let copy = try await TileArchives.open(path: scratch.file("copy"))
    #expect(try copy.info.container == .mbtiles && copy.counted().contentCount == Set(tiles.values).count)
    var found: [Tile: Data] = [:]
    try await copy.forEachTile { found[$0] = $1 }
    #expect(found == tiles)
    let others = try Self.tiles(21, seed: 9)
    try ArchiveBuilder(tiles: others, leafSize: 2).build().write(to: URL(fileURLWithPath: path))
    let unknown = try #require(others.keys.filter { tiles[$0] == nil }.min())
    #expect(try await archive.data(of: unknown) == others[unknown], "the old one lacks it")
    for tile in others.keys { #expect(try await archive.data(of: tile) == others[tile]) }
    let missing = await #expect(throws: BothyError.self) {
      try await TileArchives.open(path: scratch.file("none"))
    }
    #expect(missing?.code == .unavailable)
    try Data("neither of both".utf8).write(to: URL(fileURLWithPath: scratch.file("text")))
    let text = await #expect(throws: BothyError.self) {
      try await TileArchives.open(path: scratch.file("text"))
    }
    #expect(text?.code == .notAnArchive)
  }

  @Test("Real archives have the tiles and contents they state, and broken ones are rejected")
  func fixtures() async throws {
    guard let folder = Fixtures.folder else {
      return print("No fixtures beside the checkout: no real archives.")
    }
    var found: [Tile: Data] = [:]
    for (name, addressed, contents) in [
      ("rio-gallegos-ar", 5392, 4000), ("stamen_z3", 85, 80), ("test_fixture_1", 1, 1),
    ] {
      let archive = try await TileArchives.open(path: "\(folder)/pmtiles/\(name).pmtiles")
      #expect(archive.info.tileCount == addressed && archive.info.contentCount == contents)
      #expect(try await MBTilesWriter.copy(archive, to: scratch.file(name)) == addressed)
      #expect(try MBTiles(path: scratch.file(name)).counted().contentCount == contents)
      #expect(try await PMTilesWriter.copy(archive, to: scratch.file(name + "2")) == addressed)
      let copy = try await TileArchives.open(path: scratch.file(name + "2"))
      #expect(copy.info.tileCount == addressed && copy.info.contentCount == contents)
      #expect(copy.info.zooms == archive.info.zooms && copy.info.tileFormat == archive.info.tileFormat)
      try await archive.forEachTile { tile, data in found[tile] = data }
      try await copy.forEachTile { tile, data in #expect(found.removeValue(forKey: tile) == data) }
      #expect(found.isEmpty)
    }
    for name in ["empty", "invalid", "invalid_v4"] {
      let error = await #expect(throws: BothyError.self) {
        try await TileArchives.open(path: "\(folder)/pmtiles/\(name).pmtiles")
      }
      #expect(error?.code == .notAnArchive)
    }
  }
}

/// A source of bytes in memory.
private struct MemorySource: ByteRangeSource {
  var data: Data

  init(_ data: Data) { self.data = Data(data) }

  func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    let end = min(range.upperBound, UInt64(data.count))
    guard range.lowerBound < end else { return (Data(), nil) }
    return (data[Int(range.lowerBound)..<Int(end)], nil)
  }
}

/// A server of one file, with ranges and validators.
private final class RangeServer: ResourceLoader {
  private let state: Mutex<(data: Data, etag: String, requests: [String])>
  private let status: Int?

  init(_ data: Data, etag: String, status: Int? = nil) {
    state = Mutex((data, etag, []))
    self.status = status
  }

  var requests: [String] { state.withLock { $0.requests } }

  func replace(_ data: Data, etag: String) { state.withLock { ($0.data, $0.etag) = (data, etag) } }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let (data, etag) = state.withLock { state in
      state.requests.append(request.fields[.range] ?? "all")
      return (state.data, state.etag)
    }
    if let status { return answer(status, [:], data) }
    if let wanted = request.fields[.ifMatch], wanted != etag { return answer(412, [:], Data()) }
    let numbers = (request.fields[.range] ?? "").dropFirst(6).split(separator: "-").compactMap { Int($0) }
    guard numbers.count == 2, numbers[0] < data.count else { return answer(416, [:], Data()) }
    let end = min(numbers[1], data.count - 1)
    let fields: HTTPFields = [.eTag: etag, .contentRange: "bytes \(numbers[0])-\(end)/\(data.count)"]
    return answer(206, fields, data[numbers[0]...end])
  }

  private func answer(_ status: Int, _ fields: HTTPFields, _ data: Data) -> ResourceResponse {
    ResourceResponse(
      status: status, fields: fields,
      body: AsyncThrowingStream { stream in
        if !data.isEmpty { stream.yield(data) }
        stream.finish()
      })
  }
}
