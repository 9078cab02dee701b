import BothyGeo
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Testing

@Suite("Archives of older map apps", .timeLimit(.minutes(5)))
struct KeyedTilesTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  private func make(_ name: String, _ preferences: [String: String], _ tiles: [Int64: Data?]) throws -> String
  {
    let queue = try DatabaseQueue(path: scratch.file(name))
    try queue.write { database in
      try database.execute(
        sql: """
          CREATE TABLE preferences (name TEXT PRIMARY KEY, value TEXT);
          CREATE TABLE tiles (tilekey INTEGER PRIMARY KEY, image BLOB);
          """)
      for (name, value) in preferences {
        try database.execute(sql: "INSERT INTO preferences VALUES (?, ?)", arguments: [name, value])
      }
      for (key, data) in tiles {
        try database.execute(sql: "INSERT INTO tiles VALUES (?, ?)", arguments: [key, data])
      }
    }
    try queue.close()
    return scratch.file(name)
  }

  private let preferences = [
    "map.minZoom": "3", "map.maxZoom": "16", "map.tileSideLength": "256", "map.shortName": "Hills",
    "map.longAttribution": "© walkers", "map.coverage.topLeft.latitude": "48",
    "map.coverage.topLeft.longitude": "-123",
    "map.coverage.bottomRight.latitude": "47", "map.coverage.bottomRight.longitude": "-122",
  ]

  /// Promises: R-39
  @Test("Tiles are found by packed keys, metadata is read, and the archive becomes MBTiles")
  func reading() async throws {
    let tile = try Tile(x: 10498, y: 22889, zoom: 16)
    let path = try make("good", preferences, [1_152_924_322_642_286_953: Data([7]), 3 << 56: Data([8])])
    let archive = try await TileArchives.open(path: path)
    #expect(archive.info.container == .keyed && archive.info.tileCount == 2)
    #expect(try await archive.data(of: tile) == Data([7]))
    #expect(try await archive.data(of: Tile(x: 0, y: 0, zoom: 3)) == Data([8]))
    #expect(try await archive.data(of: Tile(x: 1, y: 0, zoom: 3)) == nil)
    #expect(try await archive.data(of: Tile(x: 1, y: 0, zoom: 29)) == nil)
    #expect(try archive.info.zooms == ZoomRange(3, 16))
    #expect(archive.info.name == "Hills" && archive.info.attribution == "© walkers")
    #expect(archive.info.bounds == GeoBox(west: -123, south: 47, east: -122, north: 48))
    #expect(try await MBTilesWriter.copy(archive, to: scratch.file("copy")) == 2)
    #expect(try await MBTiles(path: scratch.file("copy")).data(of: tile) == Data([7]))
  }

  @Test(
    "A file without its three preferences isn't an archive, and invalid keys are damage")
  func damaged() async throws {
    for name in ["map.minZoom", "map.maxZoom", "map.tileSideLength"] {
      let path = try make(name, preferences.filter { $0.key != name }, [:])
      let error = #expect(throws: BothyError.self) { try KeyedTiles(path: path) }
      #expect(error?.code == .notAnArchive)
    }
    let odd = try KeyedTiles(path: make("odd", preferences, [-1: Data([1])]))
    let key = await #expect(throws: BothyError.self) { try await odd.forEachTile { _, _ in } }
    #expect(key?.code == .damagedArchive)
    let holes = try KeyedTiles(path: make("holes", preferences, [3 << 56: nil]))
    try await holes.forEachTile { tile, _ in Issue.record("\(tile) has no data, so it is none") }
  }
}
