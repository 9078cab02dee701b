import BothyCache
import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("An atlas around a walking person", .timeLimit(.minutes(10)))
struct NearbyMapTests {
  /// Promises: T-22, T-23, T-30
  @Test(
    "Missing tiles are fetched, old ones by condition, and only changes are reported")
  func walk() async throws {
    let rig = try NearbyMapRig()
    let changes = Gathering(rig.atlas.changes)
    let current = try Tile(containing: rig.start, zoom: 16)
    let first = try #require(try await rig.atlas.update(rig.start))
    #expect(first.loaded == rig.cover && first.failed.isEmpty)
    #expect(rig.server.requests.count == rig.cover.count)
    #expect(rig.server.requests.first?.url == "https://tiles.example/\(current).json")
    #expect(rig.server.requests.allSatisfy { $0.fields[.ifNoneMatch] == nil })
    #expect(try rig.places.in(box: .world).count == rig.cover.count)
    #expect(try await rig.atlas.update(rig.start) == nil)
    rig.server.forget()
    #expect(try await rig.atlas.refresh().count == 0 && rig.server.requests.isEmpty)
    rig.pass(.seconds(8 * 24 * 3600))
    #expect(try await rig.atlas.refresh().unchanged == rig.cover)
    #expect(rig.server.requests.count == rig.cover.count)
    #expect(rig.server.requests.allSatisfy { $0.fields[.ifNoneMatch] == "\"v1\"" })
    rig.server.forget()
    #expect(try await rig.atlas.refresh().count == 0 && rig.server.requests.isEmpty)
    rig.server.set(version: 2)
    rig.pass(.seconds(8 * 24 * 3600))
    #expect(try await rig.atlas.refresh().loaded == rig.cover)
    #expect(try rig.names() == ["Version 2"])
    #expect(await rig.atlas.tiles == rig.cover)
    await rig.atlas.close()
    #expect(
      await changes.all() == [
        TileChange(added: rig.cover), TileChange(updated: rig.cover),
      ])
  }

  /// Promises: T-23
  @Test("A tile whose bytes the cache lost is asked for by its tag")
  func lostBytes() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    let tiles = rig.cover.sorted()
    for version in [1, 1, 2] {
      try await rig.cache.removeAll(rig.source.id)
      rig.server.forget()
      rig.server.set(version: version)
      rig.pass(.seconds(8 * 24 * 3600))
      let report = try await rig.atlas.refresh()
      #expect(version == 1 ? report.unchanged == rig.cover : report.loaded == rig.cover)
      #expect(report.failed.isEmpty && report.fromStale.isEmpty)
      #expect(rig.server.requests.count == rig.cover.count)
      #expect(rig.server.requests.allSatisfy { $0.fields[.ifNoneMatch] == "\"v1\"" })
      #expect(try rig.names() == ["Version \(version)"])
      #expect(try rig.places.held(tiles).values.allSatisfy { $0 == rig.time.now })
      let isStored = try await rig.cache.stored(tiles.map { try rig.source.key($0) }).map { $0 != nil }
      #expect(isStored.allSatisfy { $0 == (version == 2) })
      rig.server.forget()
      #expect(try await rig.atlas.refresh().count == 0 && rig.server.requests.isEmpty)
    }
    await rig.atlas.close()
  }

  /// Promises: T-35
  @Test("The current tile is reported before the old ones if only it is missing")
  func currentFirst() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    let current = try Tile(containing: rig.start, zoom: 16)
    try rig.places.remove([current])
    rig.pass(.seconds(8 * 24 * 3600))
    rig.server.set(version: 2)
    let changes = Gathering(rig.atlas.changes)
    #expect(try await rig.atlas.refresh().loaded == rig.cover)
    await rig.atlas.close()
    #expect(
      await changes.all() == [
        TileChange(removed: [current]), TileChange(added: [current]),
        TileChange(updated: rig.cover.subtracting([current])),
      ])
  }

  /// Promises: T-30
  @Test("One slow tile doesn't delay the others")
  func slowTile() async throws {
    let rig = try NearbyMapRig()
    let slow = try #require(rig.cover.max())
    rig.server.holdBack(slow)
    let changes = Gathering(rig.atlas.changes)
    async let run = rig.atlas.update(rig.start)
    while try rig.places.held(rig.cover).count < rig.cover.count - 1 { await Task.yield() }
    while !rig.clock.sleepers.contains(where: { $0 <= .seconds(2) }) { await Task.yield() }
    rig.clock.advance(by: .seconds(2))
    while await rig.atlas.tiles.isEmpty { await Task.yield() }
    #expect(await rig.atlas.tiles == rig.cover.subtracting([slow]))
    rig.server.answerAll()
    #expect(try await run?.loaded == rig.cover)
    await rig.atlas.close()
    #expect(
      await changes.all() == [
        TileChange(added: rig.cover.subtracting([slow])), TileChange(added: [slow]),
      ])
  }

  /// Promises: T-29, T-37
  @Test(
    "Without a network old tiles are ready, and a missing one is an error"
  )
  func offline() async throws {
    let rig = try NearbyMapRig()
    let states = Gathering(await rig.atlas.states)
    rig.cache.suspendNetwork()
    let none = try #require(try await rig.atlas.update(rig.start))
    #expect(Set(none.failed.keys) == rig.cover && none.fromStale.isEmpty)
    #expect(await rig.atlas.state == .error)
    rig.cache.resumeNetwork()
    // No caller triggers the atlas: it tries again by itself.
    while await rig.atlas.state == .error {
      rig.clock.advance(by: .seconds(10))
      await Task.yield()
    }
    while await rig.atlas.tiles != rig.cover { await Task.yield() }
    while await rig.atlas.state != .ready { await Task.yield() }
    rig.server.set(isDown: true)
    rig.pass(.seconds(8 * 24 * 3600))
    let old = try await rig.atlas.refresh()
    #expect(old.fromStale == rig.cover && Set(old.failed.keys) == rig.cover)
    #expect(try rig.names() == ["Version 1"])
    #expect(await rig.atlas.state == .ready)
    await rig.atlas.close()
    let all = await states.all()
    #expect(all.prefix(4) == [.waitingForLocation, .loading, .error, .loading] && all.last == .ready)
  }

  /// Promises: T-38
  @Test("A start without a network sends no request, and is ready with the tile")
  func coldStart() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    await rig.atlas.close()
    rig.cache.suspendNetwork()
    rig.server.forget()
    rig.pass(.seconds(8 * 24 * 3600))
    let clock = LoadClock(rig.clock, wall: rig.time.reader())
    let atlas = NearbyMap(places: rig.places, cache: rig.cache, source: rig.source, clock: clock)
    #expect(try await atlas.update(rig.start)?.fromStale == rig.cover)
    #expect(await atlas.state == .ready)
    #expect(await atlas.tiles == rig.cover)
    rig.pass(.seconds(60))
    try await atlas.update(Geodesy.destination(from: rig.start, bearing: 45, distance: 9000))
    #expect(await atlas.state == .error)
    #expect(rig.server.requests.isEmpty)
    await atlas.close()
  }

  /// Promises: T-36
  @Test(
    "An unreachable server isn't waited for, and the atlas recovers by itself")
  func serverDown() async throws {
    // Few requests at a time, so that some still wait for their turn when the host has failed too often.
    let rig = try NearbyMapRig(requestsPerHost: 2)
    rig.server.set(isDown: true)
    let none = try #require(try await rig.atlas.update(rig.start))
    // The clock did not advance, so a load that waits for the host could not have ended.
    #expect(Set(none.failed.keys) == rig.cover && none.fromStale.isEmpty)
    #expect(rig.server.requests.count < rig.cover.count)
    #expect(await rig.atlas.state == .error)
    rig.server.set(isDown: false)
    while await rig.atlas.state == .error {
      rig.clock.advance(by: .seconds(10))
      await Task.yield()
    }
    while await rig.atlas.tiles != rig.cover { await Task.yield() }
    while await rig.atlas.state != .ready { await Task.yield() }
    await rig.atlas.close()
  }

  /// Promises: T-39
  @Test(
    "Waits grow after errors, and a network that returns ends the wait"
  )
  func recovery() async throws {
    let rig = try NearbyMapRig()
    rig.cache.suspendNetwork()
    try await rig.atlas.update(rig.start)
    for seconds in [10, 20, 40, 80, 160, 320, 600, 600] {
      // Shorter waits belong to runs that are about to end.
      var sleepers = rig.clock.sleepers
      while sleepers.count != 1 || sleepers[0] < .seconds(5) {
        await Task.yield()
        sleepers = rig.clock.sleepers
      }
      let wait = sleepers[0]
      #expect(wait >= .seconds(seconds) / 2 && wait <= .seconds(seconds))
      rig.clock.advance(by: wait)
    }
    while rig.clock.sleepers.first.map({ $0 < .seconds(5) }) ?? true { await Task.yield() }
    rig.cache.resumeNetwork()
    #expect(try await rig.atlas.setNetwork(.reachable)?.loaded == rig.cover)
    #expect(await rig.atlas.state == .ready)
    // Only the hold of the connectivity remains.
    while rig.clock.sleepers.contains(where: { $0 > .seconds(3) }) { await Task.yield() }
    #expect(try await rig.atlas.setNetwork(.reachable) == nil)
    await rig.atlas.close()
  }

  /// Promises: T-40, B-10, T-34
  @Test("A fetch elsewhere during another run completes with its own tiles and counts")
  func elsewhere() async throws {
    let rig = try NearbyMapRig()
    let away = Geodesy.destination(from: rig.start, bearing: 45, distance: 9000)
    let cover = Set(try NearbyMapPlan(around: away, held: [:], at: 0).cover)
    rig.server.holdBack()
    async let own = rig.atlas.update(rig.start)
    let steps = Mutex<[String]>([])
    async let other = rig.atlas.fetch(around: away) { done, total in
      steps.withLock { $0.append("\(done)/\(total)") }
    }
    while rig.server.requests.count < 2 { await Task.yield() }
    rig.server.answerAll()
    #expect(try await other.loaded == cover)
    #expect(steps.withLock { $0 } == (1...cover.count).map { "\($0)/\(cover.count)" })
    #expect(try await own?.loaded == rig.cover)
    #expect(await rig.atlas.tiles == rig.cover)
    #expect(rig.server.requests.count == rig.cover.count + cover.count)
    #expect(try await rig.atlas.fetch(around: away).count == 0)
    await rig.atlas.close()
  }

  /// Promises: T-41, B-11
  @Test("Clearing during a run discards running loads and fetches again")
  func cleared() async throws {
    let rig = try NearbyMapRig()
    rig.server.holdBack()
    async let run = rig.atlas.update(rig.start)
    while rig.server.requests.isEmpty { await Task.yield() }
    async let cleared = rig.atlas.clear()
    while rig.places.generation == 0 { await Task.yield() }
    rig.server.answerAll()
    #expect(try await cleared.loaded.isEmpty == false)
    _ = try await run
    _ = try await rig.atlas.refresh()
    #expect(await rig.atlas.state == .ready)
    #expect(await rig.atlas.tiles == rig.cover)
    #expect(try rig.places.counts() == (rig.cover.count, rig.cover.count))
    await rig.atlas.close()
  }

  @Test("Clearing and content that isn't a tile remove no pinned tile")
  func clearedBesideRegion() async throws {
    let rig = try NearbyMapRig()
    let pinned = try rig.source.key(Tile(containing: rig.start, zoom: 16))
    try await rig.cache.pin([pinned], by: "region")
    rig.server.set(body: #"{"a": 1}"#)
    _ = try await rig.cache.value(pinned)
    let report = try await rig.atlas.update(rig.start)
    #expect(report?.failed.count == rig.cover.count)
    #expect(try rig.store.metadata(pinned) != nil)
    rig.server.set(body: nil)
    try await rig.atlas.refresh()
    rig.server.set(isDown: true)
    try await rig.atlas.clear()
    let keys = try rig.cover.map { try rig.source.key($0) }
    #expect(try keys.filter { try rig.store.metadata($0) != nil } == [pinned])
    await rig.atlas.close()
  }

  /// Promises: E-19
  @Test("A page in place of a tile is rejected, and the old version stays")
  func loginPage() async throws {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    let held = try rig.places.held(rig.cover)
    rig.server.set(body: "<html>Log in</html>")
    rig.server.set(version: 2)
    rig.pass(.seconds(8 * 24 * 3600))
    let report = try await rig.atlas.refresh()
    #expect(Set(report.failed.keys) == rig.cover && report.fromStale == rig.cover)
    #expect(report.failed.values.allSatisfy { ($0 as? BothyError)?.code == .notATile })
    #expect(try rig.names() == ["Version 1"] && rig.places.held(rig.cover) == held)
    for (page, type) in [("{\"sign\": \"in\"}", "application/json"), ("Sign in", "text/plain")] {
      rig.server.set(body: page, type: type)
      #expect(Set(try await rig.atlas.refresh().failed.keys) == rig.cover)
    }
    rig.server.forget()
    rig.server.set(body: nil)
    rig.server.set(version: 1)
    #expect(
      try await rig.atlas.refresh().unchanged == rig.cover, "the cached copy and its validator are there")
    #expect(rig.server.requests.allSatisfy { $0.fields[.ifNoneMatch] == "\"v1\"" })
    rig.server.set(version: 2)
    rig.pass(.seconds(8 * 24 * 3600))
    #expect(try await rig.atlas.refresh().loaded == rig.cover)
    #expect(try rig.names() == ["Version 2"])
    await rig.atlas.close()
  }

  /// Promises: T-42
  @Test("A tile that stays required while a marker moves survives a full disk")
  func requiredAgain() async throws {
    let rig = try NearbyMapRig()
    let markers = try (5...7).map { try Tile(x: $0, y: 6, zoom: 16) }
    try await rig.atlas.require([markers[0], markers[1]], for: "markers")
    try await rig.atlas.update(rig.start)
    try await rig.cache.setDiskLimits(DiskCache.Limits(count: 0))
    try await rig.atlas.require([markers[0], markers[2]], for: "markers")
    let (kept, gone) = try (rig.source.key(markers[0]), rig.source.key(markers[1]))
    #expect(try rig.store.metadata(kept) != nil && rig.store.metadata(gone) == nil)
    #expect(try rig.store.isPinned(rig.source.key(markers[2])) && !rig.store.isPinned(gone))
    await rig.atlas.close()
  }

  @Test("A position beyond 180 degrees is normalized")
  func beyond() async throws {
    let rig = try NearbyMapRig()
    let position = Coordinate(latitude: -16.8, longitude: 181)
    let report = try await rig.atlas.update(position)
    let meant = try Tile(containing: Coordinate(latitude: -16.8, longitude: -179), zoom: 16)
    #expect(report?.loaded.contains(meant) == true)
    #expect(rig.server.requests.allSatisfy { !$0.url.contains("/65535/") })
    await rig.atlas.close()
  }

  /// Promises: T-42
  @Test("Required tiles elsewhere are fetched with the others and pinned")
  func required() async throws {
    let rig = try NearbyMapRig()
    let marker = try Tile(x: 5, y: 6, zoom: 16)
    try await rig.atlas.require([marker], for: "markers")
    let report = try await rig.atlas.update(rig.start)
    #expect(report?.loaded == rig.cover.union([marker]))
    #expect(try rig.store.isPinned(rig.source.key(marker)))
    #expect(try !rig.store.isPinned(rig.source.key(Tile(containing: rig.start, zoom: 16))))
    try await rig.atlas.require([], for: "markers")
    #expect(try !rig.store.isPinned(rig.source.key(marker)))
    #expect(await rig.atlas.tiles == rig.cover)
    await rig.atlas.close()
  }
}
