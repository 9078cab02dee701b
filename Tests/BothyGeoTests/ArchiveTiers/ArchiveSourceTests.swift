import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@Suite("Archives as sources and tiers", .timeLimit(.minutes(5)))
struct ArchiveSourceTests {
  /// Promises: R-37
  @Test("A tile is read alike from memory, disk, a file and a server")
  func tiers() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let scratch = try TemporaryFolder()
    try MadeArchive.write(tiles, to: scratch.file("a.pmtiles"))
    try MadeArchive.write(tiles, to: scratch.file("a.mbtiles"), as: .mbtiles)
    let server = ArchiveServer(try Data(contentsOf: scratch.url("a.pmtiles")))
    let remote = try ArchiveRig(loader: server)
    let files = try ["a.pmtiles", "a.mbtiles"].map { try ArchiveRig(scratch.file($0), loader: nil) }
    for tile in tiles {
      let text = MadeArchive.text(tile)
      #expect(try await remote.read(tile) == .init(text, .network))
      #expect(try await remote.read(tile) == .init(text, .memory))
      remote.cache.releaseMemory()
      #expect(try await remote.read(tile) == .init(text, .disk))
      for file in files {
        #expect(try await file.read(tile) == .init(text, .bundled))
        #expect(try await file.read(tile) == .init(text, .memory))
      }
    }
    let none = try Tile(x: 0, y: 0, zoom: 7)
    #expect(try await remote.read(none).text == nil)
    for file in files { #expect(try file.cache.peek(file.source.key(tiles[0]))?.isFresh == true) }
    #expect(files[0].source.names.attribution == "© walkers" && files[0].source.zooms == 0...3)
    let names = SourceNames(short: "Hills")
    let named = try ResourceSource("named", archive: scratch.file("a.pmtiles"), names: names)
    #expect(named.names.short == "Hills" && named.names.attribution == "© walkers")
    #expect(throws: BothyError.self) { try files[0].source.key(none) }
  }

  /// Promises: R-13
  @Test("A file that came with the app is a tier before the network", arguments: [true, false])
  func bundled(_ isPMTiles: Bool) async throws {
    let scratch = try TemporaryFolder()
    let tiles = try MadeArchive.tiles(0..<21)
    try MadeArchive.write(tiles, to: scratch.file("a"), as: isPMTiles ? .pmtiles : .mbtiles, version: "0")
    let server = RegionServer()
    let source = try RegionRig.source()
    let cache = try ResourceCache(
      sources: [source], disk: .sqliteFile(in: scratch.url("cache")),
      bundled: [TileArchives.tier(path: scratch.file("a"), as: "trails")], loader: server)
    let found = try await cache.value(source.key(tiles[3]))
    #expect(found.origin == .bundled && found.isFresh)
    #expect(found.bytes.map { RegionServer.text($0) } == MadeArchive.text(tiles[3], "0"))
    let other = try await cache.value(source.key(Tile(x: 5, y: 5, zoom: 5)))
    #expect(other.origin == .network && server.paths == ["5/5/5"], "what the file lacks is requested")
    let newer = try await cache.value(source.key(tiles[3]), policy: .remote)
    #expect(newer.bytes.map { RegionServer.text($0) } == "\(tiles[3]) v1")
    cache.releaseMemory()
    #expect(try await cache.value(source.key(tiles[3])).origin == .disk, "a newer tile shadows the file")
  }

  @Test("Tiles that lack bytes in a file, or lie outside it, are absent")
  func holes() async throws {
    let scratch = try TemporaryFolder()
    let tiles = try MadeArchive.tiles([0, 1, 3, 4])
    try MadeArchive.write(tiles, to: scratch.file("a.mbtiles"), as: .mbtiles)
    let rig = try ArchiveRig(scratch.file("a.mbtiles"), loader: nil)
    let missing = try Tile(hilbertID: 2)
    let found = try await rig.cache.value(rig.source.key(missing))
    #expect(found.isAbsent && found.isFresh)
    rig.time.advance(by: 86_400_000 * 400)
    #expect(try await rig.cache.value(rig.source.key(missing)).isFresh, "a file has no age")
  }

  /// Promises: R-38
  @Test("A tile is absent for NULL, and without features for no bytes")
  func null() async throws {
    let scratch = try TemporaryFolder()
    let path = scratch.file("a.mbtiles")
    let tiles = try MadeArchive.tiles(0..<5)
    try MadeArchive.write(tiles, to: path, as: .mbtiles)
    let queue = try DatabaseQueue(path: path)
    try await queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE plain AS SELECT * FROM tiles;
          DROP VIEW tiles;
          ALTER TABLE plain RENAME TO tiles;
          UPDATE tiles SET tile_data = NULL WHERE zoom_level = 0;
          UPDATE tiles SET tile_data = x'' WHERE zoom_level = 1 AND tile_column = 0 AND tile_row = 0;
          """)
    }
    try queue.close()
    let rig = try ArchiveRig(path, loader: nil)
    #expect(try await rig.cache.value(rig.source.key(tiles[0])).isAbsent)
    let empty = try await rig.cache.value(rig.source.key(Tile(x: 0, y: 1, zoom: 1)))
    #expect(empty.bytes == Data() && !empty.isAbsent)
    #expect(try await rig.read(Tile(x: 1, y: 1, zoom: 1)).text == "1/1/1 v1")
  }

  /// Promises: B-31
  @Test("Two files of one name have their own tiles, and can't share an id")
  func equalNames() async throws {
    let scratch = try TemporaryFolder()
    let tiles = try MadeArchive.tiles(0..<5)
    var sources: [ResourceSource] = []
    for version in ["1", "2"] {
      let folder = scratch.file(version)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      try MadeArchive.write(tiles, to: folder + "/hills.mbtiles", as: .mbtiles, version: version)
      sources.append(try ResourceSource(SourceID("hills \(version)"), archive: folder + "/hills.mbtiles"))
    }
    let cache = try ResourceCache(sources: sources, disk: .sqliteFile(in: scratch.url("cache")), loader: nil)
    for (source, version) in zip(sources, ["1", "2"]) {
      let found = try await cache.value(source.key(tiles[3]))
      #expect(found.bytes.map { RegionServer.text($0) } == MadeArchive.text(tiles[3], version))
    }
    let other = try ResourceSource("hills 1", archive: scratch.file("2") + "/hills.mbtiles")
    #expect {
      try cache.register(other)
    } throws: {
      ($0 as? BothyError)?.code == .sourceConflict
    }
    try await cache.close()
  }

  @Test("A replaced file is read anew, and a missing one is an error")
  func replacedFile() async throws {
    let scratch = try TemporaryFolder()
    let tiles = try MadeArchive.tiles(0..<21)
    let path = scratch.file("a")
    try MadeArchive.write(tiles, to: path)
    let rig = try ArchiveRig(path, loader: nil)
    #expect(try await rig.read(tiles[5]).text == MadeArchive.text(tiles[5]))
    for (version, container) in [(2, TileArchiveInfo.Container.mbtiles), (3, .pmtiles)] {
      try FileManager.default.removeItem(atPath: path)
      try MadeArchive.write(tiles, to: path, as: container, version: "\(version)")
      // A file system may count time coarsely.
      let time = Date(timeIntervalSince1970: 1_700_000_000 + Double(version) * 10)
      try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
      for tile in tiles { #expect(try await rig.read(tile).text == MadeArchive.text(tile, "\(version)")) }
    }
    try FileManager.default.removeItem(atPath: path)
    let error = await #expect(throws: BothyError.self) { try await rig.read(tiles[5]) }
    #expect(error?.message.contains("isn't there") == true)
    try MadeArchive.write(tiles, to: path, version: "4")
    #expect(try await rig.read(tiles[5]).text == MadeArchive.text(tiles[5], "4"))
  }

  @Test("A file that is replaced by one with its date is read anew")
  func replacedWithDate() async throws {
    let scratch = try TemporaryFolder()
    let (tiles, path) = (try MadeArchive.tiles(0..<5), scratch.file("a"))
    func write(_ name: String, _ version: String) throws {
      try MadeArchive.write(tiles, to: scratch.file(name), as: .mbtiles, version: version)
      let time = Date(timeIntervalSince1970: 1_700_000_000)
      try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: scratch.file(name))
    }
    try write("a", "1")
    let rig = try ArchiveRig(path, loader: nil)
    #expect(try await rig.read(tiles[3]) == .init(MadeArchive.text(tiles[3]), .bundled))
    #expect(try await rig.read(tiles[3]) == .init(MadeArchive.text(tiles[3]), .memory))
    try write("b", "2")
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: scratch.file("b"), toPath: path)
    #expect(try await rig.read(tiles[2]).text == MadeArchive.text(tiles[2], "2"))
    #expect(try await rig.read(tiles[3]).text == MadeArchive.text(tiles[3], "2"))
  }

  @Test("Directories are read once, and absent tiles cost one byte a minute")
  func requests() async throws {
    let tiles = try MadeArchive.tiles((0..<5000).map { UInt64($0 * 2) + 5461 })
    var contents: [Tile: Data] = [:]
    for tile in tiles { contents[tile] = RegionServer.tile(MadeArchive.text(tile)) }
    let server = ArchiveServer(try ArchiveBuilder(tiles: contents, leafSize: 1000).build())
    let rig = try ArchiveRig(loader: server)
    #expect(try await rig.read(tiles[0]).text == MadeArchive.text(tiles[0]))
    let opening = server.requests
    #expect(opening.first == 0..<16_384 && opening.count == 4, "the head, the end, a directory, a tile")
    server.forget()
    for tile in tiles[1..<50] { #expect(try await rig.read(tile).text == MadeArchive.text(tile)) }
    #expect(server.requests.count == 49, "\(server.requests)")
    server.forget()
    for place in UInt64(0)..<10 {
      #expect(try await rig.read(Tile(hilbertID: 5462 + place * 2)).text == nil)
    }
    #expect(server.requests.isEmpty, "the server has just answered for this version")
    rig.time.advance(by: 61_000)
    for place in UInt64(10)..<20 {
      #expect(try await rig.read(Tile(hilbertID: 5462 + place * 2)).text == nil)
    }
    #expect(server.requests == [0..<1])
  }

  @Test("An unchanged archive confirms its tiles, and a changed one brings new ones")
  func confirmed() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    let rig = try ArchiveRig(loader: server)
    for tile in tiles { _ = try await rig.read(tile) }
    rig.time.advance(by: 86_400_000 * 8)
    server.forget()
    for tile in tiles {
      let found = try await rig.cache.value(rig.source.key(tile), policy: .remote)
      #expect(found.origin == .confirmed && found.isFresh)
    }
    #expect(server.requests == [0..<1], "one byte confirms all of them")
    server.replace(try MadeArchive.data(tiles, version: "2"), tag: "\"2\"")
    rig.time.advance(by: 86_400_000 * 8)
    for tile in tiles {
      #expect(try await rig.read(tile, policy: .remote) == .init(MadeArchive.text(tile, "2"), .network))
    }
  }

  @Test("An archive that is replaced at any request is never mixed", arguments: RandomRuns.seeds(15, from: 1))
  func neverMixed(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let count = UInt64.random(in: 1...400, using: &generator)
    let versions = try (1...4).map { version in
      let ids = (0..<count).filter { _ in !generator.chance(30) } + [0]
      return try (Set(MadeArchive.tiles(ids)), "\(version)")
    }
    let files = try versions.map { try MadeArchive.data($0.0.sorted(), version: $0.1) }
    let server = ArchiveServer(files[0])
    var before = 0
    for place in 1..<4 {
      before += Int.random(in: 1...40, using: &generator)
      // Some servers have weak tags only.
      let tag = generator.chance(30) ? "W/\"\(place + 1)\"" : "\"\(place + 1)\""
      server.change { [before] in $0.versions.append((before, files[place], tag)) }
    }
    let rig = try ArchiveRig(loader: server)
    var newest = 1
    for _ in 0..<80 {
      let tile = try Tile(hilbertID: .random(in: 0..<count, using: &generator))
      rig.time.advance(by: 61_000)
      do {
        let text = try await rig.read(tile, policy: .remote).text
        guard let text else { continue }
        let version = try #require(Int(text.split(separator: "v").last ?? ""))
        #expect(text == MadeArchive.text(tile, "\(version)") && version >= newest, "seed \(seed): \(text)")
        #expect(versions[version - 1].0.contains(tile))
        newest = max(newest, version)
      } catch {
        // Two replacements during one read.
        #expect((error as? BothyError)?.code == .unreachable, "seed \(seed): \(error)")
      }
    }
  }

  @Test("A page in place of the archive, or its absence, harms no stored tile")
  func strangers() async throws {
    let tiles = try MadeArchive.tiles(0..<21)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    let rig = try ArchiveRig(loader: server)
    _ = try await rig.read(tiles[0])
    let codes: [(Int, BothyError.Code)] = [
      (200, .unexpectedContent), (404, .refused), (410, .refused), (500, .refused), (403, .refused),
    ]
    for (status, code) in codes {
      server.change { $0.page = (status, "<html>Log in to the hotel</html>") }
      rig.time.advance(by: 61_000)
      for tile in [tiles[0], tiles[1]] {
        let error = await #expect(throws: BothyError.self) { try await rig.read(tile, policy: .remote) }
        #expect(error?.code == code, "\(status) \(tile): \(String(describing: error))")
      }
      #expect(try await rig.read(tiles[0], policy: .local).text == MadeArchive.text(tiles[0]))
    }
    server.change { $0.page = nil }
    #expect(try await rig.read(tiles[1]).text == MadeArchive.text(tiles[1]))
  }

  @Test("A tile is found although a smaller archive has replaced its archive", arguments: [false, true])
  func smaller(isCurt: Bool) async throws {
    let server = ArchiveServer(try MadeArchive.data(MadeArchive.tiles(0..<341)), tag: "W/\"1\"")
    server.change { $0.isCurt = isCurt }
    let rig = try ArchiveRig(loader: server)
    // The last ones of the large archive lie beyond the end of the small one.
    let tiles = try MadeArchive.tiles(336..<341)
    _ = try await rig.read(tiles[0])
    let opened = try await TileArchives.open(url: "https://maps.test/hills.pmtiles", loader: server)
    let small = try MadeArchive.data(tiles, version: "2")
    server.forget()
    server.replace(small, tag: "W/\"2\"")
    #expect(try await rig.read(tiles[4]).text == MadeArchive.text(tiles[4], "2"))
    #expect(server.requests.first.map { $0.lowerBound >= small.count } == true)
    #expect(try await opened.content(of: tiles[4]) == RegionServer.tile(MadeArchive.text(tiles[4], "2")))
  }

  @Test("Other bytes in place of a tile are not stored")
  func noValidator() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let server = ArchiveServer(try MadeArchive.data(tiles), tag: nil)
    let rig = try ArchiveRig(loader: server)
    #expect(try await rig.read(tiles[0]).text == MadeArchive.text(tiles[0]))
    let version = "2, which is longer"
    server.replace(try MadeArchive.data(tiles, version: version), tag: nil)
    await #expect(throws: BothyError.self) { try await rig.read(tiles[40]) }
    #expect(try await rig.cache.stored([rig.source.key(tiles[40])]) == [nil])
    rig.time.advance(by: 61_000)
    for tile in tiles[30..<50] { #expect(try await rig.read(tile).text == MadeArchive.text(tile, version)) }
  }

  @Test(
    "Any content in place of the archive is stored for no tile",
    arguments: ["{\"login\": true}", "Log in", ""])
  func strangeContent(_ body: String) async throws {
    let tiles = try MadeArchive.tiles(0..<5)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    let rig = try ArchiveRig(loader: server)
    server.change { $0.page = (200, body) }
    let error = await #expect(throws: BothyError.self) { try await rig.read(tiles[1]) }
    #expect(error?.code == .unexpectedContent)
    #expect(try await rig.cache.stored([rig.source.key(tiles[1])]) == [nil])
    server.change { $0.page = nil }
    #expect(try await rig.read(tiles[1]).text == MadeArchive.text(tiles[1]))
  }

  @Test("An archive whose server says without a condition that nothing changed confirms no tile")
  func strangeConfirmation() async throws {
    let tiles = try MadeArchive.tiles(0..<5)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    let rig = try ArchiveRig(loader: server)
    _ = try await rig.read(tiles[0])
    server.change { $0.page = (304, "") }
    rig.time.advance(by: 61_000)
    let error = await #expect(throws: BothyError.self) { try await rig.read(tiles[0], policy: .remote) }
    #expect(error?.code == .refused)
  }

  @Test("Brotli and Zstandard are kept and named, there and back", arguments: ["br", "zstd"])
  func codings(coding: String) async throws {
    let scratch = try TemporaryFolder()
    let tile = try Tile(x: 1, y: 1, zoom: 1)
    let mark: [UInt8] = coding == "zstd" ? [0x28, 0xB5, 0x2F, 0xFD] : [0x0B, 0x02]
    let packed = Data(mark + [0x80, 1, 2, 3, 0])
    let writer = try PMTilesWriter(path: scratch.file("a.pmtiles"))
    try writer.add(tile, packed)
    let compression: TileArchiveInfo.Compression = coding == "br" ? .brotli : .zstd
    try writer.finish(
      TileArchiveInfo(container: .pmtiles, tileFormat: "pbf", tileCompression: compression))
    let archive = try await TileArchives.open(path: scratch.file("a.pmtiles"))
    #expect(archive.info.tileCompression == compression)
    let server = ArchiveServer(try Data(contentsOf: scratch.url("a.pmtiles")))
    for rig in [try ArchiveRig(loader: server), try ArchiveRig(scratch.file("a.pmtiles"), loader: nil)] {
      let found = try await rig.cache.value(rig.source.key(tile))
      #expect(found.bytes == packed && found.metadata.fields[.contentEncoding] == coding)
    }
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    _ = try await archive.copy(
      into: store, as: MadeArchive.source("a"), at: Timestamp(milliseconds: 1_700_000_000_000))
    #expect(try store.entry(tile.key(in: "a"))?.metadata.fields[.contentEncoding] == coding)
    for (name, isPMTiles) in [("b.pmtiles", true), ("b.mbtiles", false)] {
      let info = TileArchiveInfo(container: .pmtiles, tileFormat: "pbf")
      _ =
        isPMTiles
        ? try await PMTilesWriter.export([tile], of: "a", from: store, to: scratch.file(name), info)
        : try await MBTilesWriter.export([tile], of: "a", from: store, to: scratch.file(name), info)
      let copy = try await TileArchives.open(path: scratch.file(name))
      #expect(try await copy.data(of: tile) == packed)
      #expect(copy.info.tileCompression == compression, "\(name)")
    }
    try store.close()
  }

  @Test("Requests carry the app's name and the source's secrets, which no error shows")
  func secrets() async throws {
    let server = ArchiveServer(try MadeArchive.data(MadeArchive.tiles(0..<5)))
    let rig = try ArchiveRig(loader: server, secrets: ["token": "s3cret"])
    _ = try await rig.read(Tile(x: 0, y: 0, zoom: 0))
    #expect(server.agents == ["Tests/1 (tests.test)"])
    server.change { $0.page = (404, "") }
    rig.time.advance(by: 61_000)
    let error = await #expect(throws: BothyError.self) {
      try await rig.read(Tile(x: 0, y: 0, zoom: 1), policy: .remote)
    }
    #expect(error?.message.contains("s3cret") == false)
  }
}
