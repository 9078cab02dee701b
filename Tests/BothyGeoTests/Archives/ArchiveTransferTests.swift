import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import HTTPTypes
import Testing

@Suite("Archives and the cache", .timeLimit(.minutes(5)))
struct ArchiveTransferTests {
  @Test("Archives of either kind are written and opened by their path", arguments: [true, false])
  func writers(_ isPMTiles: Bool) async throws {
    let scratch = try TemporaryFolder()
    let path = scratch.file("tiles")
    let container: TileArchiveInfo.Container = isPMTiles ? .pmtiles : .mbtiles
    let writer = try TileArchives.writer(to: path, as: container)
    let tile = try Tile(x: 1, y: 2, zoom: 3)
    try writer.add(tile, Data("road".utf8))
    try writer.finish(TileArchiveInfo(container: container, name: "Roads"))
    let archive = try await TileArchives.open(path: path)
    #expect(archive.info.container == container)
    #expect(try await archive.data(of: tile) == Data("road".utf8))
    #expect(throws: BothyError.self) { try TileArchives.writer(to: path + "2", as: .keyed) }
  }

  @Test(
    "A copy unpacks tiles for the cache, and an export packs equal ones once")
  func thereAndBack() async throws {
    let scratch = try TemporaryFolder()
    let path = scratch.file("in.mbtiles")
    let writer = try MBTilesWriter(path: path)
    var contents: [Tile: Data] = [:]
    for id in UInt64(0)..<341 {
      let tile = try Tile(hilbertID: id)
      contents[tile] = Data("roads \(id % 40)".utf8)
      try writer.add(tile, Gzip.pack(Data("roads \(id % 40)".utf8)))
    }
    try writer.finish(TileArchiveInfo(container: .mbtiles, name: "Roads", tileFormat: "pbf"))
    let archive = try MBTiles(path: path)
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    let time = Timestamp(milliseconds: 1_700_000_000_000)
    let report = try await archive.copy(into: store, as: MadeArchive.source("roads"), at: time)
    #expect(report.written == 341 && report.left.isEmpty)
    for (tile, content) in contents {
      let entry = try #require(try store.entry(tile.key(in: "roads")))
      #expect(entry.body == content && entry.metadata.receivedAt == 1_700_000_000_000)
      #expect(entry.metadata.fields[.contentType] == "application/vnd.mapbox-vector-tile")
    }
    let wanted = contents.keys.sorted().filter { $0.zoom == 4 } + [try Tile(x: 0, y: 0, zoom: 9)]
    let out = try await MBTilesWriter.export(
      wanted, of: "roads", from: store, to: scratch.file("out.mbtiles"),
      TileArchiveInfo(container: .mbtiles, name: "Out", tileFormat: "pbf"))
    #expect(out.written == 256 && out.left.map(\.description) == ["9/0/0"])
    let result = try MBTiles(path: scratch.file("out.mbtiles"))
    #expect(try result.info.tileCount == 256 && result.counted().contentCount == 40)
    for tile in wanted.dropLast() { #expect(try await result.content(of: tile) == contents[tile]) }
    try store.close()
  }

  @Test("Copied tiles belong to their source alone, in a store without a cache too")
  func identity() async throws {
    let scratch = try TemporaryFolder()
    let (tiles, disk) = (try MadeArchive.tiles(0..<5), DiskCache.sqliteFile(in: scratch.url("cache")))
    try MadeArchive.write(tiles, to: scratch.file("a"))
    let archive = try await TileArchives.open(path: scratch.file("a"))
    let (own, other) = (try MadeArchive.source("huts"), try MadeArchive.source("huts", of: "other.test"))
    let store = try disk.open()
    let time = Timestamp(milliseconds: 1_700_000_000_000)
    #expect(try await archive.copy(into: store, as: own, at: time).written == 5)
    let refused = try await archive.copy(into: store, as: other, at: time)
    #expect(refused.written == 0 && refused.left.count == 5)
    try store.close()
    for (source, code) in [(own, nil), (other, BothyError.Code.sourceConflict)] {
      let cache = try ResourceCache(sources: [source], disk: disk, loader: nil)
      var found: BothyError.Code?
      do throws(BothyError) { _ = try await cache.value(source.key(tiles[3]), policy: .local) } catch {
        found = error.code
      }
      #expect(found == code)
      try await cache.close()
    }
  }

  @Test("An area of an archive replaces an earlier file when it is whole")
  func replacing() async throws {
    let scratch = try TemporaryFolder()
    let (source, target) = (scratch.file("in.mbtiles"), scratch.file("out.pmtiles"))
    let writer = try MBTilesWriter(path: source)
    for x in 0..<2 { try writer.add(Tile(x: x, y: 0, zoom: 1), Data("tile \(x)".utf8)) }
    try writer.finish(TileArchiveInfo(container: .mbtiles, tileFormat: "png"))
    let archive = try MBTiles(path: source)
    for ending in ["", ".new"] { try Data("earlier".utf8).write(to: scratch.url("out.pmtiles" + ending)) }
    let zooms = try ZoomRange(1, 1)
    await #expect(throws: BothyError.self) {
      try await PMTilesWriter.replace(target, with: archive, in: nil, zooms: ZoomRange(5, 6))
    }
    #expect(try Data(contentsOf: scratch.url("out.pmtiles")) == Data("earlier".utf8))
    #expect(try await PMTilesWriter.replace(target, with: archive, in: nil, zooms: zooms) == 2)
    let copy = try await TileArchives.open(path: target)
    #expect(try await copy.data(of: Tile(x: 1, y: 0, zoom: 1)) == Data("tile 1".utf8))
    #expect(Set(scratch.names(in: scratch.path)) == ["in.mbtiles", "out.pmtiles"])
  }

  @Test("A tile without bytes is copied if it is a vector tile", arguments: ["png", "pbf"])
  func empty(format: String) async throws {
    let scratch = try TemporaryFolder()
    let (whole, empty) = (try Tile(x: 0, y: 0, zoom: 1), try Tile(x: 1, y: 0, zoom: 1))
    let queue = try DatabaseQueue(path: scratch.file("in.mbtiles"))
    try await queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE metadata (name TEXT, value TEXT);
          CREATE TABLE tiles (zoom_level INT, tile_column INT, tile_row INT, tile_data BLOB);
          INSERT INTO metadata VALUES ('format', '\(format)');
          INSERT INTO tiles VALUES (1, 0, 1, x'89504e47'), (1, 1, 1, x'');
          """)
    }
    try queue.close()
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    let report = try await MBTiles(path: scratch.file("in.mbtiles")).copy(
      into: store, as: MadeArchive.source("a"), at: Timestamp(milliseconds: 1_700_000_000_000))
    let isKept = format == "pbf"
    #expect(report.written == (isKept ? 2 : 1) && report.left.isEmpty)
    #expect(try (store.entry(empty.key(in: "a")) != nil) == isKept)
    #expect(try store.entry(whole.key(in: "a")) != nil)
    try store.close()
  }

  @Test("Tiles that give way to later ones of the archive count as left", arguments: [true, false])
  func evicted(inPages: Bool) async throws {
    let scratch = try TemporaryFolder()
    let writer = try MBTilesWriter(path: scratch.file("in.mbtiles"))
    let all = try (UInt64(0)..<85).map { try Tile(hilbertID: $0) }
    for (place, tile) in all.enumerated() {
      try writer.add(tile, Data([0x89, 0x50, 0x4E, 0x47, UInt8(place)]))
    }
    try writer.finish(TileArchiveInfo(container: .mbtiles, name: "Huts", tileFormat: "png"))
    let options = DiskCache.Options(limits: DiskCache.Limits(count: 20))
    let store =
      inPages
      ? try DiskStore(path: scratch.file("cache.sqlite"), options: options)
      : try DiskStore(folder: scratch.file("cache"), options: options)
    let report = try await MBTiles(path: scratch.file("in.mbtiles")).copy(
      into: store, as: MadeArchive.source("huts"), at: Timestamp(milliseconds: 1_700_000_000_000))
    var kept: Set<Tile> = []
    try store.forEach("huts") { key, _, _ in if let tile = Tile(key) { kept.insert(tile) } }
    #expect(report.written == kept.count && (1...20).contains(kept.count))
    #expect(report.left.count == all.count - kept.count && Set(report.left) == Set(all).subtracting(kept))
    try store.close()
  }

  @Test("A copy into pages takes the room of the archive's packed tiles", arguments: [true, false])
  func packed(_ isPacked: Bool) async throws {
    let scratch = try TemporaryFolder()
    let writer = try PMTilesWriter(path: scratch.file("in.pmtiles"))
    var contents: [Tile: Data] = [:]
    for id in UInt64(0)..<85 {
      let tile = try Tile(hilbertID: id)
      let content = Data((0..<200).map { "road \(id) \($0 % 9)" }.joined(separator: ", ").utf8)
      contents[tile] = content
      try writer.add(tile, isPacked ? Gzip.pack(content) : content)
    }
    try writer.finish(TileArchiveInfo(container: .pmtiles, name: "Roads", tileFormat: "pbf"))
    let archive = try await TileArchives.open(path: scratch.file("in.pmtiles"))
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    let report = try await archive.copy(
      into: store, as: MadeArchive.source("roads"), at: Timestamp(milliseconds: 1_700_000_000_000))
    #expect(report.written == 85)
    var bytes: Int64 = 0
    try store.forEach("roads") { bytes += $2 }
    let whole = Int64(contents.values.reduce(0) { $0 + $1.count })
    #expect(isPacked ? bytes < whole / 3 : bytes > whole)
    for (tile, content) in contents {
      let entry = try #require(try store.entry(tile.key(in: "roads")))
      #expect(entry.body == content && entry.metadata.fields[.contentEncoding] == nil)
    }
    try store.close()
  }

  @Test("An export to PMTiles writes a cache's tiles and reports those that are missing")
  func parts() async throws {
    let scratch = try TemporaryFolder()
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    let writer = try PMTilesWriter(path: scratch.file("in.pmtiles"))
    for id in UInt64(0)..<85 {
      try writer.add(Tile(hilbertID: id), Gzip.pack(Data("huts \(id / 9)".utf8)))
    }
    try writer.finish(TileArchiveInfo(container: .pmtiles, name: "Huts", tileFormat: "pbf"))
    let archive = try await TileArchives.open(path: scratch.file("in.pmtiles"))
    let time = Timestamp(milliseconds: 1_700_000_000_000)
    #expect(try await archive.copy(into: store, as: MadeArchive.source("huts"), at: time).written == 85)
    let wanted = try (0..<100).map { try Tile(hilbertID: UInt64($0)) }
    let out = try await PMTilesWriter.export(
      wanted, of: "huts", from: store, to: scratch.file("out.pmtiles"),
      TileArchiveInfo(container: .pmtiles, tileFormat: "pbf"))
    #expect(out.written == 85 && out.left == Array(wanted.suffix(15)))
    let result = try await TileArchives.open(path: scratch.file("out.pmtiles"))
    #expect(result.info.contentCount == 10 && result.info.tileCompression == .gzip)
    for tile in wanted { #expect(try await result.content(of: tile) == archive.content(of: tile)) }
    try store.close()
  }

  @Test("An export leaves tiles that are packed in another way than the first")
  func packings() async throws {
    let scratch = try TemporaryFolder()
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    let tiles = try (UInt64(0)..<6).map { try Tile(hilbertID: $0) }
    try store.store(
      tiles.enumerated().map { place, tile in
        var fields: HTTPFields = [.contentType: "application/vnd.mapbox-vector-tile"]
        if place % 2 == 1 { fields[.contentEncoding] = "br" }
        let metadata = EntryMetadata(status: 200, fields: fields, receivedAt: 1_700_000_000_000)
        return (tile.key(in: "a"), CacheEntry(metadata: metadata, body: Data("tile \(place)".utf8)))
      })
    for (first, compression) in [(0, TileArchiveInfo.Compression.gzip), (1, .brotli)] {
      let path = scratch.file("\(first).pmtiles")
      let report = try await PMTilesWriter.export(
        tiles[first...], of: "a", from: store, to: path,
        TileArchiveInfo(container: .pmtiles, tileFormat: "pbf"))
      #expect(report.written == 3 && report.left.count == 3 - first)
      let archive = try await TileArchives.open(path: path)
      #expect(archive.info.tileCompression == compression)
      #expect(try await archive.content(of: tiles[first]) == Data("tile \(first)".utf8))
      #expect(try await archive.data(of: tiles[first + 1]) == nil)
    }
    try store.close()
  }

  @Test("An export recognizes vector tiles by their bytes, also after an absent one")
  func recognized() async throws {
    let scratch = try TemporaryFolder()
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    let tiles = try (UInt64(0)..<4).map { try Tile(hilbertID: $0) }
    let content = VectorTileWriter.tile("road", .point(1, 2))
    let fields: HTTPFields = [.contentType: "application/octet-stream"]
    try store.store(
      tiles.enumerated().map { place, tile in
        let metadata = EntryMetadata(
          status: place == 0 ? 404 : 200, fields: fields, receivedAt: 1_700_000_000_000)
        return (tile.key(in: "a"), CacheEntry(metadata: metadata, body: place == 0 ? Data() : content))
      })
    let path = scratch.file("a.pmtiles")
    let report = try await PMTilesWriter.export(
      tiles, of: "a", from: store, to: path, TileArchiveInfo(container: .pmtiles))
    #expect(report.written == 3 && report.left == [tiles[0]])
    let archive = try await TileArchives.open(path: path)
    #expect(archive.info.tileFormat == "pbf" && archive.info.tileCompression == .gzip)
    #expect(archive.info.vectorLayers?.canonicalText == #"[{"fields":{},"id":"road"}]"#)
    #expect(try await archive.content(of: tiles[3]) == content)
    try store.close()
  }

  @Test("A real vector archive is copied to the cache with all tiles and contents")
  func fixture() async throws {
    guard let folder = Fixtures.folder else {
      return print("No fixtures beside the checkout: no real archive.")
    }
    let scratch = try TemporaryFolder()
    let archive = try await TileArchives.open(path: "\(folder)/pmtiles/rio-gallegos-ar.pmtiles")
    let store = try DiskStore(path: scratch.file("cache.sqlite"))
    let report = try await archive.copy(
      into: store, as: MadeArchive.source("rio"), at: Timestamp(milliseconds: 1_700_000_000_000))
    #expect(report.written == 5392 && report.left.isEmpty)
    var contents: Set<Data> = []
    try store.forEach("rio") { key, _, _ in
      if let entry = try store.entry(key) { contents.insert(entry.body) }
    }
    #expect(contents.count == 4000)
    try store.close()
  }
}
