import BothyCache
import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("An atlas whose network answers in place of the server", .timeLimit(.minutes(10)))
struct NearbyMapForeignTests {
  /// A tile that is valid and has no places.
  private static let empty = #"{"type": "FeatureCollection", "features": []}"#

  /// A tile that has one place and is the same for each address.
  private static let cafe = TileDocument.tile(TileDocument.feature("amenity", "cafe"))

  /// Returns a rig that has the tiles around its start, all of them old, and whose server sends the empty tile for each.
  private func emptied() async throws -> NearbyMapRig {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    rig.server.set(version: 2)
    rig.server.set(body: Self.empty)
    rig.pass(.days(8))
    return rig
  }

  private func isSignIn(_ error: (any Error)?) -> Bool {
    let error = error as? BothyError
    return error?.code == .signInRequired && error?.message.contains("stays") == true
  }

  @Test("One content in place of all tiles takes no places away", arguments: [false, true])
  func all(hasLostBytes: Bool) async throws {
    let rig = try await emptied()
    if hasLostBytes { try await rig.cache.removeAll(rig.source.id) }
    for _ in 0..<3 {
      let report = try await rig.atlas.refresh()
      #expect(Set(report.failed.keys) == rig.cover && report.fromStale == rig.cover)
      #expect(report.failed.values.allSatisfy { isSignIn($0) })
      #expect(try rig.names() == ["Version 1"])
      #expect(try rig.places.counts() == (rig.cover.count, rig.cover.count))
      #expect(await rig.atlas.state == .ready)
    }
    for tile in rig.cover where !hasLostBytes {
      let stored = try await rig.cache.value(rig.source.key(tile), policy: .local).bytes
      #expect(stored.map { String(decoding: $0, as: UTF8.self).contains("Version 1") } == true)
    }
    rig.server.set(body: nil)
    #expect(try await rig.atlas.refresh().loaded == rig.cover)
    #expect(try rig.names() == ["Version 2"])
    #expect(try rig.places.counts() == (rig.cover.count, rig.cover.count))
    await rig.atlas.close()
  }

  @Test("One tile with a place replaces none of several tiles")
  func equal() async throws {
    let rig = try await emptied()
    rig.server.set(body: Self.cafe)
    let report = try await rig.atlas.refresh()
    #expect(report.fromStale == rig.cover && report.failed.values.allSatisfy { isSignIn($0) })
    #expect(try rig.names() == ["Version 1"])
    await rig.atlas.close()
  }

  /// Returns another map of the rig that covers one tile at a time, as in another launch of the app.
  private func narrow(_ rig: NearbyMapRig) -> NearbyMap {
    NearbyMap(
      places: rig.places, cache: rig.cache, source: rig.source, radius: 1,
      clock: LoadClock(rig.clock, wall: rig.time.reader()))
  }

  @Test("Tiles that are refreshed one by one are compared with the one before", arguments: [false, true])
  func oneByOne(isEmpty: Bool) async throws {
    let rig = try await emptied()
    if !isEmpty { rig.server.set(body: Self.cafe) }
    await rig.atlas.close()
    let map = narrow(rig)
    var failed: [Tile: any Error] = [:]
    for tile in rig.cover {
      rig.pass(.seconds(60))
      let report = try #require(try await map.update(tile.bounds.center))
      #expect(report.count == 1)
      failed.merge(report.failed) { $1 }
    }
    // One tile alone may have got other places on the server.
    #expect(failed.count == rig.cover.count - (isEmpty ? 0 : 1) && failed.values.allSatisfy { isSignIn($0) })
    #expect(try rig.places.counts() == (rig.cover.count, rig.cover.count))
    await map.close()
  }

  @Test("A tile without places takes none away, in a later launch neither")
  func launches() async throws {
    let rig = try await emptied()
    await rig.atlas.close()
    for tile in rig.cover {
      let map = narrow(rig)
      let report = try #require(try await map.update(tile.bounds.center))
      #expect(report.fromStale == [tile] && isSignIn(report.failed[tile]))
      await map.close()
    }
    #expect(try rig.names() == ["Version 1"])
    #expect(try rig.places.counts() == (rig.cover.count, rig.cover.count))
  }

  @Test("A tile without places replaces one if the server knows another tile")
  func witness() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    await rig.atlas.close()
    rig.pass(.days(8))
    let tiles = rig.cover.sorted { $0.morton < $1.morton }
    for (place, tile) in tiles.prefix(2).enumerated() {
      rig.server.set(body: Self.empty, of: tile)
      rig.server.forget()
      // The other tile has not changed, or has other places.
      rig.server.set(version: place + 1)
      let map = narrow(rig)
      let report = try #require(try await map.update(tile.bounds.center))
      #expect(report.loaded == [tile] && rig.server.requests.count == 2)
      #expect(rig.server.requests.allSatisfy { $0.fields[.ifNoneMatch] == "\"v1\"" })
      #expect(try rig.places.counts() == (tiles.count, tiles.count - place - 1))
      await map.close()
    }
    #expect(try rig.names() == ["Version 1"])
  }

  @Test("The only tile with places becomes empty after 30 days without a confirmation", arguments: [29, 31])
  func alone(days: Int) async throws {
    let rig = try NearbyMapRig()
    let map = narrow(rig)
    let tile = try #require(rig.cover.first)
    let first = try #require(try await map.update(tile.bounds.center))
    #expect(first.loaded == [tile])
    rig.server.set(body: Self.empty, of: tile)
    rig.pass(.days(days))
    let report = try await map.refresh()
    let isOver = days > 30
    #expect(report.loaded == (isOver ? [tile] : []) && report.fromStale == (isOver ? [] : [tile]))
    #expect(try rig.places.counts() == (1, isOver ? 0 : 1))
    await map.close()
    await rig.atlas.close()
  }

  @Test("The last tiles with places become empty together after 30 unconfirmed days", arguments: [29, 31])
  func last(days: Int) async throws {
    let rig = try await emptied()
    rig.pass(.days(days - 8))
    let report = try await rig.atlas.refresh()
    let isOver = days > 30
    #expect(report.loaded == (isOver ? rig.cover : []) && report.fromStale == (isOver ? [] : rig.cover))
    #expect(try rig.places.counts() == (rig.cover.count, isOver ? 0 : rig.cover.count))
    await rig.atlas.close()
  }

  @Test("A confirmation of one tile keeps the places of the others")
  func kept() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    await rig.atlas.close()
    let tiles = rig.cover.sorted { $0.morton < $1.morton }
    rig.pass(.days(31))
    let first = narrow(rig)
    let confirmed = try #require(try await first.update(tiles[0].bounds.center))
    #expect(confirmed.unchanged == [tiles[0]])
    await first.close()
    rig.server.set(version: 2)
    rig.server.set(body: Self.empty)
    let second = narrow(rig)
    let report = try #require(try await second.update(tiles[1].bounds.center))
    #expect(report.fromStale == [tiles[1]] && isSignIn(report.failed[tiles[1]]))
    #expect(try rig.places.counts() == (tiles.count, tiles.count))
    await second.close()
  }

  @Test("A tile without places replaces one if another of its group is confirmed")
  func group() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    let tile = try #require(rig.cover.first)
    rig.server.set(body: Self.empty, of: tile)
    rig.server.forget()
    rig.pass(.days(8))
    let report = try await rig.atlas.refresh()
    #expect(report.loaded == [tile] && report.unchanged.count == rig.cover.count - 1)
    #expect(rig.server.requests.count == rig.cover.count)
    await rig.atlas.close()
  }

  @Test("Two tiles become empty together if the server knows the others")
  func several() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    // Each of these is the other one's witness until further tiles are confirmed.
    let emptied = Set(rig.cover.sorted { $0.morton < $1.morton }.suffix(2))
    for tile in emptied { rig.server.set(body: Self.empty, of: tile) }
    rig.pass(.days(8))
    let first = try await rig.atlas.refresh()
    #expect(first.unchanged == rig.cover.subtracting(emptied))
    let second = try await rig.atlas.refresh()
    #expect(first.loaded.union(second.loaded) == emptied && second.failed.isEmpty)
    #expect(try rig.places.counts() == (rig.cover.count, rig.cover.count - 2))
    await rig.atlas.close()
  }

  @Test("One content that another reader has stored takes no places away")
  func storedContent() async throws {
    let rig = try await emptied()
    for tile in rig.cover { _ = try await rig.cache.value(rig.source.key(tile), policy: .remote) }
    let report = try await rig.atlas.refresh()
    #expect(report.fromStale == rig.cover && report.failed.values.allSatisfy { isSignIn($0) })
    #expect(try rig.names() == ["Version 1"])
    rig.server.set(body: nil)
    rig.server.set(version: 3)
    #expect(try await rig.atlas.refresh().loaded == rig.cover)
    #expect(try rig.names() == ["Version 3"])
    await rig.atlas.close()
  }

  @Test(
    "After the server has confirmed a tile, another one may have equal content", arguments: [true, false])
  func confirmed(isEmpty: Bool) async throws {
    let content = isEmpty ? Self.empty : Self.cafe
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    await rig.atlas.close()
    rig.pass(.days(8))
    let map = narrow(rig)
    let tiles = rig.cover.sorted { $0.morton < $1.morton }
    for (place, tile) in tiles.prefix(3).enumerated() {
      rig.pass(.seconds(60))
      if place != 1 { rig.server.set(body: content, of: tile) }
      let report = try #require(try await map.update(tile.bounds.center))
      #expect(report.failed.isEmpty && report.unchanged.count == (place == 1 ? 1 : 0))
    }
    await map.close()
  }
}
