import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Testing

@Suite("MBTiles", .timeLimit(.minutes(5)))
struct MBTilesTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  private func make(_ name: String, _ sql: String) throws -> String {
    let queue = try DatabaseQueue(path: scratch.file(name))
    try queue.write { try $0.execute(sql: sql) }
    try queue.close()
    return scratch.file(name)
  }

  private static let plain =
    "CREATE TABLE tiles (zoom_level INT, tile_column INT, tile_row INT, tile_data BLOB);"

  /// Promises: R-38
  @Test("Rows count from the south, zooms come from the tiles, bounds from the metadata")
  func reading() async throws {
    let path = try make(
      "plain",
      Self.plain + """
        CREATE TABLE metadata (name TEXT, value TEXT);
        INSERT INTO metadata VALUES ('name', 'Hills'), ('bounds', '-10, -20.5,30,40'), ('maxzoom', '9'),
          ('attribution', '© me'), ('format', 'png');
        INSERT INTO tiles VALUES (2, 1, 3, x'01'), (2, 1, 0, x'02'), (5, 31, 31, x'03');
        """)
    let archive = try MBTiles(path: path)
    #expect(try await archive.data(of: Tile(x: 1, y: 0, zoom: 2)) == Data([1]))
    #expect(try await archive.data(of: Tile(x: 1, y: 3, zoom: 2)) == Data([2]))
    #expect(try await archive.data(of: Tile(x: 31, y: 0, zoom: 5)) == Data([3]))
    #expect(try await archive.data(of: Tile(x: 1, y: 1, zoom: 2)) == nil)
    defer {
      #expect(throws: Never.self) { try archive.close() }
      #expect(throws: BothyError.self) { try archive.blockingData(of: Tile(x: 1, y: 0, zoom: 2)) }
    }
    #expect(try archive.info.zooms == ZoomRange(2, 5))
    #expect(archive.info.name == "Hills")
    #expect(archive.info.bounds == GeoBox(west: -10, south: -20.5, east: 30, north: 40))
    #expect(
      archive.info.attribution == "© me" && archive.info.tileFormat == "png" && archive.info.tileCount == 3)
    var seen: [String] = []
    try await archive.forEachTile { tile, data in seen.append("\(tile) \(data.count)") }
    #expect(seen.sorted() == ["2/1/0 1", "2/1/3 1", "5/31/0 1"])
  }

  /// Promises: R-38
  @Test("An archive without metadata covers the whole map")
  func silent() throws {
    let archive = try MBTiles(path: make("silent", Self.plain))
    #expect(archive.info.zooms == nil && archive.info.tileCount == 0)
    #expect(archive.info.bounds == GeoBox(west: -180, south: -85, east: 180, north: 85))
  }

  /// Promises: R-38
  @Test("A tile without data is absent, and the others are read and copied")
  func holes() async throws {
    let holes = try MBTiles(
      path: make("holes", Self.plain + "INSERT INTO tiles VALUES (1, 0, 0, NULL), (1, 1, 0, x'01');"))
    #expect(try await holes.data(of: Tile(x: 1, y: 1, zoom: 1)) == Data([1]))
    #expect(try await holes.data(of: Tile(x: 0, y: 1, zoom: 1)) == nil)
    var seen: [String] = []
    try await holes.forEachTile { tile, _ in seen.append("\(tile)") }
    #expect(seen == ["1/1/1"])
    #expect(try await MBTilesWriter.copy(holes, to: scratch.file("copy")) == 1)
  }

  @Test("Errors distinguish rows of no tile from files that aren't archives")
  func damaged() async throws {
    let odd = try MBTiles(path: make("odd", Self.plain + "INSERT INTO tiles VALUES (1, 0, 9, x'01');"))
    let noTile = await #expect(throws: BothyError.self) { try await odd.forEachTile { _, _ in } }
    #expect(noTile?.code == .damagedArchive && noTile?.message.contains("1/0/9") == true)
    let other = #expect(throws: BothyError.self) { try MBTiles(path: make("other", "CREATE TABLE t (x)")) }
    #expect(other?.code == .notAnArchive)
    try Data("hello, this is a text that is no database".utf8).write(
      to: URL(fileURLWithPath: scratch.file("text")))
    let text = #expect(throws: BothyError.self) { try MBTiles(path: scratch.file("text")) }
    #expect(text?.code == .notAnArchive)
    let missing = #expect(throws: BothyError.self) { try MBTiles(path: scratch.file("missing")) }
    #expect(missing?.code == .unavailable)
    let path = try make("broken", Self.plain + "INSERT INTO tiles VALUES (1, 0, 0, randomblob(100000));")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    for place in 4096..<bytes.count { bytes[place] = 0xA5 }
    try bytes.write(to: URL(fileURLWithPath: path))
    let broken = #expect(throws: BothyError.self) { try MBTiles(path: path) }
    #expect(broken?.code == .damagedArchive)
  }

  @Test("A written archive is read completely, stores equal contents once, and is named last")
  func writing() async throws {
    let path = scratch.file("out.mbtiles")
    let writer = try MBTilesWriter(path: path)
    let sea = Data(repeating: 7, count: 1000)
    var expected: [Tile: Data] = [:]
    for id in UInt64(0)..<341 {
      let tile = try Tile(hilbertID: id)
      expected[tile] = id % 3 == 0 ? Data("tile \(id)".utf8) : sea
    }
    for (tile, data) in expected { try writer.add(tile, data) }
    let first = try Tile(x: 0, y: 0, zoom: 0)
    expected[first] = Data("again".utf8)
    try writer.add(first, Data("again".utf8))
    #expect(!FileManager.default.fileExists(atPath: path))
    try writer.finish(
      TileArchiveInfo(
        container: .mbtiles, name: "Sea", tileFormat: "png", bounds: .world, metadata: ["a": "b"]))
    let archive = try MBTiles(path: path)
    var found: [Tile: Data] = [:]
    try await archive.forEachTile { found[$0] = $1 }
    #expect(found == expected)
    for (tile, data) in expected { #expect(try await archive.data(of: tile) == data) }
    #expect(try archive.info.zooms == ZoomRange(0, 4))
    #expect(archive.info.tileCount == 341)
    // 114 distinct contents, the sea, and the one that was replaced.
    #expect(
      try archive.counted().contentCount == 116 && archive.info.metadata["a"] == "b"
        && archive.info.name == "Sea")
    let taken = #expect(throws: BothyError.self) { try MBTilesWriter(path: path) }
    #expect(taken?.code == .unavailable)
    let half = try MBTilesWriter(path: scratch.file("half"))
    try half.add(first, sea)
    try half.cancel()
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["out.mbtiles"])
  }

  @Test("An archive across the antimeridian states the whole width, and its zooms are copied")
  func antimeridian() async throws {
    let writer = try MBTilesWriter(path: scratch.file("fiji.mbtiles"))
    for x in [0, (1 << 20) - 1] {
      try writer.add(Tile(x: x, y: 577_000, zoom: 20), Data("\(x)".utf8))
      try writer.add(Tile(x: x & 1, y: 1, zoom: 1), Data("\(x)".utf8))
    }
    let box = GeoBox(west: 177, south: -19, east: -178, north: -16)
    try writer.finish(TileArchiveInfo(container: .mbtiles, name: "Fiji", tileFormat: "png", bounds: box))
    let archive = try MBTiles(path: scratch.file("fiji.mbtiles"))
    #expect(archive.info.bounds == GeoBox(west: -180, south: -19, east: 180, north: -16))
    let copy = scratch.file("copy.mbtiles")
    #expect(try await MBTilesWriter.copy(archive, to: copy, zooms: ZoomRange(20, 20)) == 2)
    #expect(try MBTiles(path: copy).info.zooms == ZoomRange(20, 20))
    let other = try make(
      "other",
      Self.plain + """
        CREATE TABLE metadata (name TEXT, value TEXT);
        INSERT INTO metadata VALUES ('bounds', '177,-19,-178,-16');
        INSERT INTO tiles VALUES (1, 1, 0, x'01');
        """)
    #expect(try MBTiles(path: other).info.bounds == box)
    let rig = try ArchiveRig(other, loader: nil)
    let found = try await rig.cache.value(ResourceKey("hills", path: "tilejson.json"), policy: .local)
    let document = try JSONValue(parsing: found.bytes ?? Data())
    #expect(document["bounds"]?.arrayValue?.compactMap(\.doubleValue) == [-180, -19, 180, -16])
  }

  @Test("An archive with a write-ahead log is read where no log can be created", arguments: [true, false])
  func readOnlyFolder(isKeyed: Bool) async throws {
    let keyed = """
      CREATE TABLE preferences (name TEXT, value TEXT);
      INSERT INTO preferences VALUES ('map.minZoom', '1'), ('map.maxZoom', '1'), ('map.tileSideLength', '256');
      CREATE TABLE tiles (tilekey INTEGER PRIMARY KEY, image BLOB);
      """
    let path = try make("log", isKeyed ? keyed : Self.plain + "INSERT INTO tiles VALUES (1, 0, 1, x'07');")
    let queue = try DatabaseQueue(path: path)
    try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
    try queue.close()
    // SQLite can't create the log, as in a folder that isn't writable.
    try FileManager.default.createDirectory(atPath: path + "-wal/x", withIntermediateDirectories: true)
    let archive = try await TileArchives.open(path: path)
    #expect(try await archive.data(of: Tile(x: 0, y: 0, zoom: 1)) == (isKeyed ? nil : Data([7])))
  }

  @Test("A failed copy of a damaged archive leaves no file")
  func failedCopy() async throws {
    let odd = try MBTiles(path: make("odd", Self.plain + "INSERT INTO tiles VALUES (1, 0, 9, x'01');"))
    await #expect(throws: BothyError.self) { try await MBTilesWriter.copy(odd, to: scratch.file("copy")) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["odd"])
  }

  @Test("Real archives are read and deduplicated by a copy, and damaged ones rejected")
  func fixtures() async throws {
    guard let folder = Fixtures.folder else {
      return print("No fixtures beside the checkout: no real archives.")
    }
    for name in ["plain_1", "unindexed"] {
      let archive = try MBTiles(path: "\(folder)/mbtiles/\(name).mbtiles")
      #expect(try archive.info.tileCount == 285 && archive.counted().contentCount == 207)
      #expect(try archive.info.zooms == ZoomRange(0, 4))
      #expect(try await MBTilesWriter.copy(archive, to: scratch.file(name)) == 285)
      #expect(try MBTiles(path: scratch.file(name)).counted().contentCount == 207)
    }
    let fourth = try MBTiles(path: "\(folder)/mbtiles/plain_4.mbtiles")
    #expect(try await MBTilesWriter.copy(fourth, to: scratch.file("4")) == 269)
    #expect(
      try await MBTilesWriter.copy(
        MBTiles(path: "\(folder)/mbtiles/some-empty-tiles.mbtiles"), to: scratch.file("e")) == 11)
    let corrupt = #expect(throws: BothyError.self) { try MBTiles(path: "\(folder)/mbtiles/corrupt.mbtiles") }
    #expect(corrupt?.code == .damagedArchive)
    let holes = try MBTiles(path: "\(folder)/mbtiles/corrupt_null_tile.mbtiles")
    var count = 0
    try await holes.forEachTile { _, _ in count += 1 }
    #expect(count == 284)
  }
}
