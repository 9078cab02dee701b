import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("An atlas and saved places", .timeLimit(.minutes(10)))
struct NearbyMapSavedTests {
  /// Promises: B-19, T-15
  @Test("Selections and saved places survive a new version of the tile and clearing")
  func kept() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    let cafe = try #require(try rig.places.nearest(1, to: rig.start).first?.feature)
    let time = Date(timeIntervalSince1970: 1_800_000_000)
    try rig.mine.noteSelected(cafe, at: time)
    let marker = try rig.mine.addMarker("Bench", at: rig.start, for: cafe.key, createdAt: time)
    rig.server.set(version: 2)
    rig.pass(.seconds(8 * 24 * 3600))
    #expect(try await rig.atlas.refresh().loaded == rig.cover)
    try await rig.atlas.clear()
    try rig.places.clear()
    try await rig.cache.removeAll(rig.source.id)
    let recent = try #require(try rig.mine.recentlySelected().first)
    #expect(recent.feature == cafe.key && recent.name == "Version 1" && recent.createdAt == time)
    #expect(recent.position.distance(to: cafe.center) < 0.01)
    #expect(try rig.mine.markers() == [marker])
    await rig.atlas.close()
    // Stored in a separate file, which another run of the app opens.
    try rig.mine.store.close()
    let again = SavedPlaces(
      try LocalStore(at: rig.scratch.file("mine.sqlite"), schema: StoreSchema(types: SavedPlaces.types)))
    #expect(try again.recentlySelected() == [recent] && again.saved() == [marker])
  }

  /// Promises: T-42
  @Test("The tiles of markers and the destination are fetched and pinned until deleted")
  func pinned() async throws {
    let rig = try NearbyMapRig()
    let away = Geodesy.destination(from: rig.start, bearing: 45, distance: 9000)
    let far = Geodesy.destination(from: rig.start, bearing: 45, distance: 20_000)
    try rig.mine.setDestination("Hut", at: away)
    let marker = try rig.mine.addMarker("Spring", at: far)
    try rig.mine.save(SavedPlace(.location, "Somewhere", at: Coordinate(latitude: 1, longitude: 1)))
    let tiles = try Set([away, far].map { try Tile(containing: $0, zoom: 16) })
    #expect(try rig.mine.tiles(zoom: 16) == tiles)
    #expect(try await rig.atlas.update(rig.start)?.loaded == rig.cover.union(tiles))
    for tile in tiles { #expect(try rig.store.isPinned(rig.source.key(tile))) }
    try rig.mine.setDestination("Home", at: rig.start)
    try rig.mine.remove(marker.id)
    try await rig.atlas.refresh()
    for tile in tiles { #expect(try !rig.store.isPinned(rig.source.key(tile))) }
    #expect(try rig.store.isPinned(rig.source.key(Tile(containing: rig.start, zoom: 16))))
    #expect(try rig.mine.destination()?.name == "Home" && rig.mine.saved().count == 2)
    await rig.atlas.close()
  }

  /// Promises: T-42
  @Test("The tiles of saved places outlast a full disk and the budget")
  func evicted() async throws {
    let rig = try NearbyMapRig()
    let map = NearbyMap(
      places: rig.places, cache: rig.cache, source: rig.source, saved: rig.mine, budget: 1,
      clock: LoadClock(rig.clock, wall: rig.time.reader()))
    try rig.mine.setDestination("Hut", at: Geodesy.destination(from: rig.start, bearing: 45, distance: 9000))
    try rig.mine.addMarker("Spring", at: Geodesy.destination(from: rig.start, bearing: 45, distance: 20_000))
    let saved = try rig.mine.tiles(zoom: 16)
    #expect(saved.count == 2)
    for place in [rig.start, Geodesy.destination(from: rig.start, bearing: 225, distance: 9000)] {
      rig.pass(.seconds(86_400))
      try await map.update(place)
      let shown = await map.tiles
      let held = try Set(rig.places.heldTiles().map(\.tile))
      #expect(!shown.isEmpty && held == shown.union(saved))
    }
    try await rig.cache.setDiskLimits(DiskCache.Limits(count: 0))
    let held = try rig.places.heldTiles().map(\.tile)
    let stored = try held.filter { try rig.store.metadata(rig.source.key($0)) != nil }
    #expect(Set(stored) == saved)
    await map.close()
  }

  @Test("Maps of two zooms keep the tiles of saved places of both")
  func zooms() async throws {
    let rig = try NearbyMapRig()
    let coarse = NearbyMap(
      places: try PlaceStore(path: rig.scratch.file("coarse.sqlite")), cache: rig.cache, source: rig.source,
      saved: rig.mine, zoom: 14, clock: LoadClock(rig.clock, wall: rig.time.reader()))
    let away = Geodesy.destination(from: rig.start, bearing: 45, distance: 9000)
    let marker = try rig.mine.addMarker("Spring", at: away)
    let keys = try [14, 16].map { try rig.source.key(Tile(containing: away, zoom: $0)) }
    for map in [rig.atlas, coarse] { try await map.update(rig.start) }
    for key in keys { #expect(try rig.store.isPinned(key)) }
    try rig.mine.remove(marker.id)
    for map in [coarse, rig.atlas] { try await map.refresh() }
    for key in keys { #expect(try !rig.store.isPinned(key)) }
    for map in [coarse, rig.atlas] { await map.close() }
  }

  /// Promises: T-31, T-32, T-33, B-17
  @Test(
    "A snapshot has saved places first, and is created once for each state")
  func snapshot() async throws {
    let rig = try NearbyMapRig()
    #expect(try await rig.atlas.snapshot().places.isEmpty)
    try await rig.atlas.update(rig.start)
    // More tiles are stored than the position needs.
    _ = try await rig.atlas.fetch(around: Geodesy.destination(from: rig.start, bearing: 45, distance: 9000))
    let first = try await rig.atlas.snapshot()
    #expect(first.tiles == rig.cover && first.places.count == rig.cover.count)
    #expect(try rig.places.counts().features > first.places.count)
    let cafe = try #require(try rig.places.nearest(1, to: rig.start).first?.feature)
    #expect(first.places.contains(.feature(cafe)))
    #expect(try await rig.atlas.snapshot().revision == first.revision)

    let location = SavedPlace(.location, "Somewhere", at: rig.start)
    try rig.mine.save(location)
    let destination = try rig.mine.setDestination("Hut", at: rig.start)
    let marker = try rig.mine.addMarker("My café", at: cafe.center, for: cafe.key)
    let second = try await rig.atlas.snapshot()
    #expect(second.revision > first.revision)
    #expect(second.places.prefix(2) == [.saved(marker), .saved(destination)])
    #expect(second.places.last == .saved(location))
    #expect(!second.places.contains(.feature(cafe)) && second.places.count == first.places.count + 2)
    let near = second.within(radius: 150, of: cafe.center)
    #expect(near.places.contains(.saved(marker)) && near.places.count < second.places.count)
    #expect(
      near.places == second.places.filter { second.distance(of: $0, from: cafe.center) <= 150 })
    rig.server.set(version: 2)
    rig.pass(.seconds(8 * 24 * 3600))
    try await rig.atlas.refresh()
    #expect(try await rig.atlas.snapshot().places.last { $0.name == "Version 2" } != nil)
    await rig.atlas.close()
  }

  @Test("A snapshot has the places that another process has stored")
  func foreign() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    let first = try await rig.atlas.snapshot()
    let other = try PlaceStore(path: rig.scratch.file("places.sqlite"))
    let cafe = TileDocument.feature(
      "amenity", "cafe", properties: #"{"amenity": "cafe", "name": "Elsewhere"}"#)
    try other.replace(
      Tile(containing: rig.start, zoom: 16), payload: Data(TileDocument.tile(cafe).utf8),
      receivedAt: rig.time.now)
    let second = try await rig.atlas.snapshot()
    #expect(second.revision == first.revision + 1)
    #expect(second.places.contains { $0.name == "Elsewhere" })
    #expect(try await rig.atlas.snapshot().revision == second.revision)
    try other.close()
    await rig.atlas.close()
  }
}
