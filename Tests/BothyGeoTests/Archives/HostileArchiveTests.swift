import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

@Suite("Archives that are cut off, zeroed or malicious", .timeLimit(.minutes(5)))
struct HostileArchiveTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  private func good(_ count: UInt64 = 85, leafSize: Int? = nil) throws -> Data {
    var tiles: [Tile: Data] = [:]
    let png = Data([0x89, 0x50, 0x4E, 0x47])
    for id in 0..<count {
      try tiles[Tile(hilbertID: id)] = Gzip.pack(png + Data("tile \(id)".utf8))
    }
    return try ArchiveBuilder(tiles: tiles, leafSize: leafSize).build()
  }

  private func open(_ data: Data) async throws -> any TileArchive {
    try data.write(to: URL(filePath: scratch.file("a.pmtiles")))
    return try await TileArchives.open(path: scratch.file("a.pmtiles"))
  }

  @Test("Opening rejects an archive that was cut off anywhere")
  func cutOff() async throws {
    let whole = try good(341, leafSize: 20)
    _ = try await open(whole)
    for length in [127, 140, whole.count / 2, whole.count - 1] {
      let error = await #expect(throws: BothyError.self) { try await open(whole.prefix(length)) }
      #expect(error?.code == .damagedArchive, "\(length)")
    }
  }

  @Test("Opening rejects a SQLite archive that was cut off")
  func cutOffDatabase() throws {
    let path = scratch.file("a.mbtiles")
    let queue = try DatabaseQueue(path: path)
    try queue.write {
      try $0.execute(
        sql: """
          CREATE TABLE tiles (zoom_level INT, tile_column INT, tile_row INT, tile_data BLOB);
          CREATE UNIQUE INDEX place ON tiles (zoom_level, tile_column, tile_row);
          INSERT INTO tiles VALUES (1, 0, 0, randomblob(100000)), (1, 1, 0, randomblob(100000))
          """)
    }
    try queue.close()
    let whole = try Data(contentsOf: URL(filePath: path))
    #expect(try MBTiles(path: path).info.tileCount == 2)
    for length in [100, 600, whole.count / 2, whole.count - 1] {
      try whole.prefix(length).write(to: URL(filePath: path))
      let error = #expect(throws: BothyError.self) { try MBTiles(path: path) }
      #expect(error?.code == .damagedArchive, "\(length)")
    }
  }

  /// Creates an archive of one entry with a run that is longer than the header states.
  private func bomb(run: UInt64, addressed: UInt64, zooms: (UInt8, UInt8)) -> Data {
    let root = Data([1, 0, run, 4, 1].flatMap { ArchiveBuilder.varint($0) })
    var header = Data("PMTiles".utf8) + [3]
    var start: UInt64 = 127
    for part in [root.count, 0, 0, 4] {
      header.append(ArchiveBuilder.number(start))
      header.append(ArchiveBuilder.number(UInt64(part)))
      start += UInt64(part)
    }
    for count in [addressed, 1, 1] { header.append(ArchiveBuilder.number(count)) }
    header.append(contentsOf: [1, 1, 1, 2, zooms.0, zooms.1])
    header.append(contentsOf: [UInt8](repeating: 0, count: 127 - header.count))
    return header + root + Data("tile".utf8)
  }

  @Test(
    "A run beyond the archive's tiles or zooms is rejected in bounded time",
    arguments: [
      (300_000_000_000_000_000, 1, 0, 2), (300_000_000_000_000_000, 300_000_000_000_000_000, 0, 2),
      (300_000_000_000_000_000, 0, 0, 3), (6, 5, 0, 29), (6, 6, 0, 1),
      // All possible tiles, or a hundred million of one content, in an archive of a few bytes.
      (6_004_799_503_160_661, 0, 0, 26), (6_004_799_503_160_661, 6_004_799_503_160_661, 0, 26),
      (100_000_000, 100_000_000, 0, 14),
    ] as [(UInt64, UInt64, UInt8, UInt8)])
  func bombs(run: UInt64, addressed: UInt64, low: UInt8, high: UInt8) async throws {
    var visited = 0
    let error = await #expect(throws: BothyError.self) {
      let archive = try await open(bomb(run: run, addressed: addressed, zooms: (low, high)))
      try await archive.forEachTile { _, _ in
        visited += 1
        if visited > 1000 { throw CancellationError() }
      }
    }
    #expect(error?.code == .damagedArchive && visited < 1000)
  }

  @Test("An archive without counts is bounded by its zooms")
  func uncounted() async throws {
    let archive = try await open(bomb(run: 5, addressed: 0, zooms: (0, 1)))
    var visited = 0
    try await archive.forEachTile { _, _ in visited += 1 }
    #expect(visited == 5)
  }

  @Test("Opening rejects a SQLite file with a view of endless tiles")
  func endless() throws {
    let queue = try DatabaseQueue(path: scratch.file("a.mbtiles"))
    try queue.writeWithoutTransaction {
      try $0.execute(
        sql: """
          CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
          SELECT 29 AS zoom_level, i AS tile_column, 0 AS tile_row, x'01' AS tile_data FROM n
          """)
    }
    try queue.close()
    let error = #expect(throws: BothyError.self) { try MBTiles(path: scratch.file("a.mbtiles")) }
    #expect(error?.code == .notAnArchive)
  }

  @Test(
    "A view of huge values or of endless duration is rejected in bounded time",
    arguments: [
      "SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, zeroblob(900000000) AS tile_data",
      "SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, x'01' AS tile_data "
        + "FROM n a, n b, n c, n d, n e, n f WHERE a.i + b.i + c.i + d.i + e.i + f.i < 0",
      // Each row comes at once, and is a tile.
      "SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, x'01' AS tile_data "
        + "FROM n a, n b, n c, n d, n e, n f",
    ])
  func costly(view: String) async throws {
    let path = scratch.file("a.mbtiles")
    let queue = try DatabaseQueue(path: path)
    try await queue.write { database in
      try database.execute(sql: "CREATE TABLE n (i INTEGER)")
      for number in 0..<500 { try database.execute(sql: "INSERT INTO n VALUES (?)", arguments: [number]) }
      try database.execute(sql: "CREATE VIEW tiles AS \(view)")
    }
    try queue.close()
    let error = await #expect(throws: BothyError.self) {
      try await MBTiles(path: path, longestStep: .milliseconds(200)).forEachTile { _, _ in }
    }
    #expect(error?.code == .damagedArchive && error?.message.contains("maker") == true)
  }

  @Test("Opening rejects metadata of many megabytes", arguments: ["metadata", "preferences"])
  func longMetadata(table: String) async throws {
    let path = scratch.file("a.sqlite")
    let queue = try DatabaseQueue(path: path)
    try await queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE tiles (zoom_level INT, tile_column INT, tile_row INT, tile_data BLOB, tilekey INT, image BLOB);
          CREATE TABLE \(table) (
            name TEXT, bytes INT, value BLOB GENERATED ALWAYS AS (zeroblob(bytes)) VIRTUAL);
          INSERT INTO \(table) (name, bytes)
            VALUES ('a', 3000000), ('map.minZoom', 3000000), ('b', 3000000)
          """)
    }
    try queue.close()
    let error = await #expect(throws: BothyError.self) { try await TileArchives.open(path: path) }
    #expect(error?.code == .damagedArchive)
  }

  @Test("A check unpacks every tile and finds zeros in place of tiles")
  func zeroed() async throws {
    let whole = try good()
    #expect(try await open(whole).check() == TileArchiveCheck(tiles: 85, contents: 85))
    var broken = whole
    for place in (whole.count - 20)..<whole.count { broken[place] = 0 }
    let archive = try await open(broken)
    let error = await #expect(throws: BothyError.self) { try await archive.check() }
    #expect(error?.code == .damagedArchive && error?.message.contains("tile") == true)
  }
}
