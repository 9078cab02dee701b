import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@Suite("The budget of places and their tiles", .timeLimit(.minutes(10)))
struct NearbyMapBudgetTests {
  /// Returns a map with a budget on the files and the server of the rig.
  private func map(_ rig: NearbyMapRig, budget: Int64) -> NearbyMap {
    NearbyMap(
      places: rig.places, cache: rig.cache, source: rig.source, budget: budget,
      clock: LoadClock(rig.clock, wall: rig.time.reader()))
  }

  private func away(_ rig: NearbyMapRig, _ kilometres: Int) -> Coordinate {
    Geodesy.destination(from: rig.start, bearing: 45, distance: Double(kilometres) * 1000)
  }

  /// The bytes of the places file that are in use, and those of its tiles in the cache.
  private func room(_ rig: NearbyMapRig) throws -> Int64 {
    let queue = try DatabaseQueue(path: rig.places.path)
    defer { try? queue.close() }  // a test's own reader
    let pages = try queue.read {
      try Int64.fetchOne(
        $0,
        sql: """
          SELECT (page_count - freelist_count) * page_size
          FROM pragma_page_count, pragma_freelist_count, pragma_page_size
          """)
    }
    return try (pages ?? 0) + rig.places.heldTiles().reduce(0) { $0 + Int64($1.bytes) }
  }

  /// Promises: B-19c
  @Test("A commuter's year stays within the budget, and the way of today is complete")
  func commuter() async throws {
    let rig = try NearbyMapRig()
    let budget: Int64 = 200_000
    let map = map(rig, budget: budget)
    var first: Set<Tile> = []
    var last: Set<Tile> = []
    for day in 0..<30 {
      rig.pass(.seconds(86_400))
      last = try await map.fetch(around: away(rig, 5 * day)).loaded
      if day == 0 { first = last }
      let taken = try room(rig)
      #expect(taken <= budget, "day \(day)")
    }
    let held = try Set(rig.places.heldTiles().map(\.tile))
    #expect(last.isSubset(of: held) && first.isDisjoint(with: held) && !first.isEmpty)
    for tile in first { #expect(try await rig.cache.stored([rig.source.key(tile)]) == [nil]) }
    #expect(try rig.places.in(box: .world).count == held.count, "places without a tile")
    await map.close()
  }

  /// Promises: B-19c, T-42
  @Test("Shown tiles, required ones and pinned bytes stay whatever the budget is")
  func kept() async throws {
    let rig = try NearbyMapRig()
    let map = map(rig, budget: 1)
    let (hut, valley) = (away(rig, 10), away(rig, 20))
    let (required, pinned) = try (Tile(containing: hut, zoom: 16), Tile(containing: valley, zoom: 16))
    try await rig.cache.pin([rig.source.key(pinned)], by: "region")
    _ = try await map.fetch(around: valley)
    try await map.require([required], for: "hut")
    try await map.update(rig.start)
    #expect(try Set(rig.places.heldTiles().map(\.tile)) == rig.cover.union([required]))
    #expect(try await rig.cache.stored([rig.source.key(pinned)]).first.flatMap { $0 } != nil)
    // The places of the pinned tile are derived again without a request.
    rig.server.set(isDown: true)
    rig.server.forget()
    _ = try await map.setNetwork(.notReachable)
    _ = try await map.fetch(around: valley)
    #expect(rig.server.requests.isEmpty)
    #expect(try rig.places.held([pinned]).count == 1)
    await map.close()
  }

  @Test("The tiles that were shown last stay")
  func lastUse() async throws {
    let rig = try NearbyMapRig()
    let map = map(rig, budget: .max)
    try await map.update(rig.start)
    rig.pass(.seconds(86_400))
    let other = try await map.fetch(around: away(rig, 10)).loaded
    #expect(try Set(rig.places.heldTiles(limit: rig.cover.count).map(\.tile)) == rig.cover)
    rig.pass(.seconds(86_400))
    try await map.refresh()
    #expect(try Set(rig.places.heldTiles(limit: other.count).map(\.tile)) == other)
    let now = Double(rig.time.now) / 1000
    #expect(try rig.places.heldTiles().last?.lastUse.timeIntervalSince1970 == now)
    await map.close()
  }

  /// Promises: B-8
  @Test("The bytes of a tile are stored once, and another table needs no network")
  func once() async throws {
    let rig = try NearbyMapRig()
    let map = map(rig, budget: .max)
    try await map.update(rig.start)
    for tile in rig.cover {
      let held = try #require(try rig.places.tile(tile))
      #expect(held.isCached && held.payload.isEmpty)
      #expect(try await rig.cache.stored([rig.source.key(tile)]).first.flatMap { $0 } != nil)
    }
    #expect(try rig.places.heldTiles().allSatisfy { $0.bytes > 100 })
    let table = CategoryTable(version: 77, [.landmark: ["cafe"]])
    try rig.places.setCategories(table)
    #expect(try rig.places.in(box: .world).map(\.category).contains(.landmark) == false, "kept until read")
    rig.server.forget()
    _ = try await map.setNetwork(.notReachable)
    try await map.refresh()
    #expect(try Set(rig.places.in(box: .world).map(\.category)) == [.landmark])
    #expect(rig.server.requests.isEmpty)
    await map.close()
  }

  /// Promises: B-8
  @Test("A later launch's table counts for tiles that the server only confirms")
  func laterTable() async throws {
    let rig = try NearbyMapRig()
    let first = map(rig, budget: .max)
    try await first.update(rig.start)
    await first.close()
    try rig.places.close()
    rig.pass(.seconds(8 * 86_400))
    rig.server.forget()
    let table = CategoryTable(version: 77, [.landmark: ["cafe"]])
    let places = try PlaceStore(path: rig.scratch.file("places.sqlite"), categories: table)
    let later = NearbyMap(
      places: places, cache: rig.cache, source: rig.source,
      clock: LoadClock(rig.clock, wall: rig.time.reader()))
    #expect(try await later.update(rig.start)?.loaded == rig.cover)
    #expect(rig.server.requests.isEmpty)
    #expect(try Set(places.in(box: .world).map(\.category)) == [.landmark])
    #expect(try await later.refresh().unchanged == rig.cover)
    #expect(rig.server.requests.count == rig.cover.count)
    #expect(rig.server.requests.allSatisfy { $0.fields[.ifNoneMatch] == "\"v1\"" })
    #expect(try Set(places.in(box: .world).map(\.category)) == [.landmark])
    await later.close()
  }

  @Test("Maps on one file keep each other's tiles")
  func several() async throws {
    let rig = try NearbyMapRig()
    let (one, two) = (map(rig, budget: 1), map(rig, budget: 1))
    try await one.update(rig.start)
    try await two.update(away(rig, 10))
    let tiles = await one.tiles.union(two.tiles)
    try await one.refresh()
    #expect(try Set(rig.places.heldTiles().map(\.tile)) == tiles)
    await two.close()
    try await one.refresh()
    #expect(try Set(rig.places.heldTiles().map(\.tile)) == rig.cover)
    await one.close()
  }

  @Test("Bytes that the cache doesn't keep stay with the places")
  func uncached() async throws {
    let rig = try NearbyMapRig()
    let map = map(rig, budget: .max)
    try await map.update(rig.start)
    let tile = try #require(rig.cover.min())
    // Earlier bytes are in the cache.
    var other = try #require(try rig.places.tile(tile))
    let key = try rig.source.key(tile)
    try await rig.cache.remove(key)
    rig.server.set(version: 2)
    try rig.places.remove([tile])
    try await map.refresh()
    other = try #require(try rig.places.tile(tile))
    #expect(other.isCached)
    try rig.places.replace(PlaceTile(tile, payload: Data(TileDocument.tile().utf8), receivedAt: .max - 1))
    #expect(try rig.places.tile(tile)?.isCached == false)
    await map.close()
  }
}
