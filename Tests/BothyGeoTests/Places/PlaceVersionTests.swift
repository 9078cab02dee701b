import BothyGeo
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Testing

@Suite("Files of places from older versions", .timeLimit(.minutes(5)))
struct PlaceVersionTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  /// Promises: B-19k, T-21
  @Test("A file of the first version takes its step, and nothing is decoded again")
  func first() throws {
    let path = scratch.file("places.sqlite")
    let tile = try Tile(containing: Coordinate(latitude: 43.462, longitude: -80.52), zoom: 16)
    let held = PlaceTile(
      tile,
      payload: Data(
        TileDocument.tile(
          TileDocument.feature(
            "amenity", "cafe", ids: "[1]", properties: #"{"amenity": "cafe", "name": "Alpha"}"#)
        ).utf8), receivedAt: 5, validatedAt: 9, entityTag: "\"a\"")
    var places = try PlaceStore(path: path)
    try places.replace(held)
    try places.close()
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "DROP TABLE tile_use; PRAGMA user_version = 1")
    }
    try queue.close()
    places = try PlaceStore(path: path)
    #expect(!FileManager.default.fileExists(atPath: path + ".damaged"))
    #expect(try places.tile(tile) == held && places.search("alpha").map(\.name) == ["Alpha"])
    let found = try #require(try places.heldTiles().first)
    #expect(found.bytes == held.payload.count && found.lastUse == Date(timeIntervalSince1970: 0.009))
    #expect(try places.replace(held) == .unchanged)
  }

  private var path: String { scratch.file("places.sqlite") }

  /// Makes a file with a tile of one café, changes it, and leaves no room for a log as a full disk does.
  private func withoutRoom(after change: String = "") throws -> PlaceTile {
    let tile = try Tile(containing: Coordinate(latitude: 43.462, longitude: -80.52), zoom: 16)
    let cafe = TileDocument.feature(
      "amenity", "cafe", ids: "[1]", properties: #"{"amenity": "cafe", "name": "Alpha"}"#)
    let held = PlaceTile(tile, payload: Data(TileDocument.tile(cafe).utf8), receivedAt: 5)
    let places = try PlaceStore(path: path)
    try places.replace(held)
    try places.close()
    if !change.isEmpty {
      let queue = try DatabaseQueue(path: path)
      try queue.writeWithoutTransaction { try $0.execute(sql: change) }
      try queue.close()
    }
    try FileManager.default.createDirectory(atPath: path + "-wal", withIntermediateDirectories: false)
    return held
  }

  private func makeRoom() throws { try FileManager.default.removeItem(atPath: path + "-wal") }

  @Test("A file without room for its log is read as it lies")
  func withoutLog() throws {
    let held = try withoutRoom()
    let places = try PlaceStore(path: path)
    #expect(try places.search("alpha").map(\.name) == ["Alpha"])
    #expect(throws: BothyError.self) { try places.remove([held.tile]) }
    try places.close()
    try makeRoom()
    #expect(try PlaceStore(path: path).tile(held.tile) == held)
  }

  @Test("A file that was opened without room is written when the disk has some")
  func laterRoom() throws {
    let held = try withoutRoom()
    let places = try PlaceStore(path: path)
    #expect(throws: BothyError.self) { try places.remove([held.tile]) }
    try makeRoom()
    try places.remove([held.tile])
    #expect(try places.tile(held.tile) == nil)
    try places.close()
  }

  @Test("Without room, places of another version are read, and derived later")
  func withoutRoomForFeatures() throws {
    let held = try withoutRoom(after: "UPDATE tile SET parser = 1")
    let places = try PlaceStore(path: path)
    #expect(try places.search("alpha").map(\.name) == ["Alpha"])
    #expect(try places.held([held.tile]) == [held.tile: PlaceTile.never])
    try places.close()
    try makeRoom()
    #expect(try PlaceStore(path: path).held([held.tile]) == [held.tile: 5])
  }

  @Test("A file that is read as it lies isn't replaced when it seems damaged")
  func withoutRoomForRepair() throws {
    let held = try withoutRoom(after: "UPDATE version SET body = x''")
    let places = try PlaceStore(path: path)
    let error = #expect(throws: BothyError.self) { try places.search("alpha") }
    #expect(error?.code == .unavailable && places.repairs.isEmpty)
    try places.close()
    try makeRoom()
    let later = try PlaceStore(path: path)
    #expect(try later.tile(held.tile) == held)
    #expect(throws: BothyError.self) { try later.search("alpha") }
    #expect(try later.search("alpha").map(\.name) == ["Alpha"] && later.repairs.count == 1)
  }

  @Test("A newer file's tile is kept if the cache has its bytes")
  func elsewhere() throws {
    let path = scratch.file("places.sqlite")
    let tile = try Tile(x: 1, y: 1, zoom: 16)
    var held = PlaceTile(tile, payload: Data(TileDocument.tile().utf8), receivedAt: 5)
    held.isCached = true
    var places = try PlaceStore(path: path)
    try places.replace(held)
    #expect(try places.tile(tile)?.payload == Data())
    let stored = try DatabaseQueue(path: path).read { try Data.fetchOne($0, sql: "SELECT payload FROM tile") }
    #expect(throws: BothyError.self) { try GeoJSONTile(decoding: try #require(stored)) }
    try places.close()
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 99") }
    try queue.close()
    places = try PlaceStore(path: path)
    let kept = try #require(try places.tile(tile))
    #expect(kept.isCached && kept.receivedAt == 5 && kept.payload.isEmpty)
    #expect(try places.held([tile]).isEmpty && places.underived([tile]) == [tile], "not as an empty tile")
    #expect(try places.heldTiles().map(\.bytes) == [held.payload.count])
    // Even if the cache has earlier bytes only.
    held.receivedAt = 4
    held.validatedAt = 4
    #expect(try places.replace(held) == .updated)
    #expect(try places.held([tile]) == [tile: 4] && places.underived([tile]).isEmpty)
  }

  @Test("Equal bytes renew a tile, and a wrong clock outdates nothing")
  func times() throws {
    let places = try PlaceStore(path: scratch.file("places.sqlite"))
    let tile = try Tile(x: 1, y: 1, zoom: 16)
    let bytes = Data(TileDocument.tile().utf8)
    let others = Data(TileDocument.tile(TileDocument.feature("amenity", "cafe", ids: "[1]")).utf8)
    try places.replace(PlaceTile(tile, payload: bytes, receivedAt: 100))
    let confirmed = PlaceTile(tile, payload: bytes, receivedAt: 50, validatedAt: 900)
    #expect(try places.replace(confirmed) == .unchanged)
    #expect(try places.held([tile]) == [tile: 900] && places.tile(tile)?.receivedAt == 100)
    #expect(try places.replace(PlaceTile(tile, payload: others, receivedAt: 50), now: 1000) == .outdated)
    // The tile came when the clock was ahead.
    #expect(try places.replace(PlaceTile(tile, payload: others, receivedAt: 50), now: 60) == .updated)
    #expect(try places.held([tile]) == [tile: 50])
  }

  @Test("Uses from a wrong clock count as now, and deletions give back room")
  func clock() throws {
    let places = try PlaceStore(path: scratch.file("places.sqlite"))
    let tiles = try (0..<200).map { try Tile(x: $0, y: 0, zoom: 16) }
    for (number, tile) in tiles.enumerated() {
      let text = String(repeating: " ", count: 5000) + TileDocument.tile()
      try places.replace(PlaceTile(tile, payload: Data(text.utf8), receivedAt: Int64(number)))
    }
    try places.use(tiles.prefix(100), at: 1_000_000_000)
    try places.use(tiles.suffix(100), at: 10_000_000)
    let gone = try places.evict(at: 5_000_000)
    #expect(gone == Array(tiles.prefix(gone.count)) && !gone.isEmpty, "all were used at 5,000,000")
    let before = try places.room().pages
    while try !places.evict(at: 5_000_000).isEmpty {}
    #expect(try places.heldTiles().isEmpty)
    try places.shrink()
    try places.close()
    let size = try FileManager.default.attributesOfItem(atPath: places.path)[.size] as? Int64
    #expect(before > 1_000_000 && (size ?? .max) < 200_000)
  }
}
