import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

@Suite("Repairs of the file of the places", .timeLimit(.minutes(5)))
struct PlaceRepairTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  private var path: String { scratch.file("places.sqlite") }

  private func tiles(_ count: Int) throws -> [Tile] {
    try (0..<count).map { try Tile(x: $0, y: 3, zoom: 16) }
  }

  /// Returns a tile of one café, whose bytes take more than a page for every tenth one.
  private func content(_ tile: Tile) -> PlaceTile {
    let text = TileDocument.tile(
      TileDocument.feature(
        "amenity", "cafe", ids: "[\(tile.x + 1)]",
        properties: #"{"amenity": "cafe", "name": "Number\#(1000 + tile.x)"}"#))
    let padding = String(repeating: " ", count: tile.x % 10 == 0 ? 9000 : 500)
    return PlaceTile(tile, payload: Data((text + padding).utf8), receivedAt: Int64(tile.x + 1))
  }

  private func filled(_ tiles: [Tile]) throws {
    let places = try PlaceStore(path: path)
    for tile in tiles { try places.replace(content(tile)) }
    try places.close()
  }

  private func execute(_ sql: String, _ path: String) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// Overwrites a leaf page that has the beginning of a tile's bytes.
  private func damagePage() throws {
    let file = URL(filePath: path)
    var bytes = try Data(contentsOf: file)
    let leaves = stride(from: 4096, to: bytes.count, by: 4096).filter { start in
      bytes[start] == 0x0D && bytes[start..<start + 4096].range(of: Data("feature_type".utf8)) != nil
    }
    let page = try #require(leaves.dropFirst(leaves.count / 2).first)
    bytes.replaceSubrange(page..<page + 4096, with: Data(repeating: 0xA5, count: 4096))
    try bytes.write(to: file)
  }

  private func isThere(_ ending: String) -> Bool { FileManager.default.fileExists(atPath: path + ending) }

  /// Promises: B-19k, T-52
  @Test("An unreadable page costs its own tiles alone, and opening reports the repair")
  func page() throws {
    let tiles = try tiles(300)
    try filled(tiles)
    try damagePage()
    var places = try PlaceStore(path: path)
    #expect(places.repairs.count == 1 && places.repairs[0].contains("damaged"))
    var kept = 0
    for tile in tiles {
      guard let held = try places.tile(tile) else { continue }
      kept += 1
      #expect(held == content(tile))
      #expect(try places.search("Number\(1000 + tile.x)").map(\.ids) == [[Int64(tile.x + 1)]])
    }
    #expect(kept < 300 && kept > 285, "\(kept)")
    #expect(try places.counts().features == kept && places.held(tiles).count == kept)
    #expect(isThere(".damaged") && !isThere(".unread"))
    try places.close()
    places = try PlaceStore(path: path)
    #expect(try places.counts().tiles == kept && places.repairs.isEmpty)
  }

  @Test("A tile whose bytes don't match their checksum isn't kept")
  func checksum() throws {
    let tiles = try tiles(3)
    try filled(tiles)
    try execute(
      """
      UPDATE tile SET payload = CAST(replace(CAST(payload AS TEXT), 'Number1001', 'Number7001') AS BLOB)
      WHERE received_at = 2;
      PRAGMA user_version = 99;
      """, path)
    let places = try PlaceStore(path: path)
    #expect(try places.held(tiles).count == 2 && places.tile(tiles[1]) == nil)
    #expect(try places.search("Number7001").isEmpty)
  }

  @Test("A tile on an unreadable page is kept if the cache has its bytes")
  func cachedOnPage() throws {
    let tiles = try tiles(200)
    try filled(tiles)
    try execute("UPDATE tile_use SET is_cached = 1", path)
    try damagePage()
    let places = try PlaceStore(path: path)
    // Only a use of the places finds the damage.
    for tile in tiles { _ = try? places.tile(tile) }
    #expect(places.repairs.count == 1)
    #expect(try places.heldTiles().count == 200)
    let unread = try places.underived(tiles)
    #expect(!unread.isEmpty && unread.count < 15, "those of the page; others have their bytes here")
  }

  @Test("A repair that was interrupted is continued by the next opening")
  func interrupted() throws {
    let tiles = try tiles(40)
    try filled(tiles)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".unread")
    let places = try PlaceStore(path: path)
    #expect(try places.held(tiles).count == 40 && places.repairs.count == 1)
    #expect(isThere(".damaged") && !isThere(".unread"))
  }

  /// Renames the file as another process does that repairs it, and returns the store of that process.
  private func repairedByOther() throws -> PlaceStore {
    let files = FileManager.default
    for side in ["", "-wal"] where isThere(side) {
      try files.moveItem(atPath: path + side, toPath: path + ".unread" + side)
    }
    if isThere("-shm") { try files.removeItem(atPath: path + "-shm") }
    return try PlaceStore(path: path)
  }

  private func fileNumber() throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
  }

  @Test("What a process stores after another one's repair is in the repaired file")
  func writtenBeside() throws {
    let tiles = try tiles(20)
    try filled(Array(tiles.dropLast()))
    let places = try PlaceStore(path: path)
    let other = try repairedByOther()
    try places.replace(content(tiles[19]))
    #expect(try places.held(tiles).count == 20)
    #expect(try other.held(tiles).count == 20)
    try other.close()
    try places.close()
  }

  @Test("A process reads and keeps the file that another one has repaired")
  func readBeside() throws {
    let tiles = try tiles(100)
    try filled(tiles)
    let places = try PlaceStore(path: path)
    let other = try repairedByOther()
    let number = try fileNumber()
    // The file that this process opened, which the other one has put aside.
    let aside = try FileHandle(forUpdating: URL(filePath: path + ".damaged"))
    try aside.seek(toOffset: 4096)
    try aside.write(contentsOf: Data(repeating: 0xA5, count: 400_000))
    try aside.close()
    for tile in tiles { #expect(try places.tile(tile) == content(tile)) }
    #expect(try places.search("Number1010").count == 1)
    #expect(try fileNumber() == number && places.repairs.isEmpty)
    try other.close()
    try places.close()
  }

  @Test("A map reads a repaired file's tiles from the cache and reports the repair")
  func map() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    await rig.atlas.close()
    try rig.places.close()
    try execute("PRAGMA user_version = 99", rig.places.path)
    rig.pass(.seconds(8 * 86_400))
    rig.server.forget()
    let places = try PlaceStore(path: rig.places.path)
    #expect(try places.counts() == (rig.cover.count, 0))
    let clock = LoadClock(rig.clock, wall: rig.time.reader())
    let maps = (0..<2).map { _ in
      NearbyMap(places: places, cache: rig.cache, source: rig.source, clock: clock)
    }
    _ = try await maps[0].setNetwork(.notReachable)
    let report = try #require(try await maps[0].update(rig.start))
    #expect(report.loaded == rig.cover && report.failed.isEmpty && rig.server.requests.isEmpty)
    #expect(try places.in(box: .world).count == rig.cover.count)
    #expect(await maps[0].state == .ready)
    for map in maps { await map.close() }
    let events = rig.cache.events
    try await rig.cache.close()
    let told = await events.reduce(into: 0) { count, event in
      if case .storeReplaced(let reason) = event, reason.contains("newer version") { count += 1 }
    }
    #expect(told == 1)
  }

  @Test("Without a network, a tile that waits for the cache is not available")
  func waiting() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    await rig.atlas.close()
    try rig.places.close()
    try execute("PRAGMA user_version = 99", rig.places.path)
    try await rig.cache.remove(before: .distantFuture, source: rig.source.id)
    let places = try PlaceStore(path: rig.places.path)
    let map = NearbyMap(
      places: places, cache: rig.cache, source: rig.source,
      clock: LoadClock(rig.clock, wall: rig.time.reader()))
    _ = try await map.setNetwork(.notReachable)
    let report = try #require(try await map.update(rig.start))
    #expect(report.failed.count == rig.cover.count)
    #expect(await map.state == .error)
    await map.close()
    try await rig.cache.close()
  }
}
