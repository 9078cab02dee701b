import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import HTTPTypes
import Testing

@Suite("Regions that a network can't damage", .timeLimit(.minutes(5)))
struct RegionSafetyTests {
  private func old(_ region: Region) throws -> [String?] { try region.plan.tiles().map { "\($0) v1" } }

  /// Promises: E-19, R-30
  @Test(
    "A network with a sign-in page stops a refresh and replaces nothing",
    arguments: [
      ("<html>Log in to the hotel</html>", "text/html"), ("<!doctype html>\n<p>Log in", nil),
      ("{\"error\": \"sign in\"}", "application/json"), ("Sign in", "application/octet-stream"),
    ])
  func portal(body: String, type: String?) async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    rig.server.change { $0.page = (body, type) }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(
      error?.code == .signInRequired && error?.message.contains("sign-in") == true,
      "\(error?.message ?? "")")
    #expect(rig.server.requests.count < region.tiles)
    let stopped = try await rig.regions.region(region.id)
    #expect(stopped.state == .outdated && stopped.reason?.contains("sign-in") == true)
    #expect(try await rig.bodies(region) == old(region))
    rig.server.change { $0.page = nil }
    rig.server.forget()
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .complete && rig.server.requests.allSatisfy(\.isConditional))
    #expect(try await rig.bodies(region) == old(region))
  }

  @Test("A region's first load stops at a sign-in page, and stores none")
  func firstLoad() async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    rig.server.change { $0.page = ("<html>Log in", "text/html") }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .signInRequired && rig.server.requests.count < region.tiles)
    #expect(try await rig.regions.region(region.id).state == .interrupted)
    #expect(try await rig.regions.stored(region.id).count == 0)
  }

  @Test("A server that suddenly has no tiles stops a refresh, and the tiles stay")
  func moved() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    let paths = try rig.paths(region.plan)
    rig.server.change { state in for path in paths { state.statuses[path] = 404 } }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(error?.code == .interrupted)
    #expect(try await rig.bodies(region) == old(region))
  }

  /// Returns a region of five tiles that was loaded a day ago.
  private func small(_ rig: RegionRig) async throws -> Region {
    let plan = try rig.plan("Small", box: GeoBox(west: 0, south: 0, east: 40, north: 40), zooms: 3...4)
    let region = try await rig.regions.create(plan)
    #expect(try await rig.regions.resume(region.id).state == .complete && region.tiles < 6)
    rig.pass(.days(1))
    return region
  }

  @Test(
    "A refresh of a small region keeps tiles that are gone, and reports them",
    arguments: [404, 410, 204])
  func gone(status: Int) async throws {
    var rig = try RegionRig()
    let region = try await small(rig)
    let paths = try rig.paths(region.plan)
    rig.server.change { state in for path in paths { state.statuses[path] = status } }
    let done = try await rig.regions.refresh(region.id)
    #expect(
      done.state == .complete && done.progress.gone == region.tiles && done.progress.done == region.tiles)
    #expect(
      done.reason?.contains("\(region.tiles) of its \(region.tiles) tiles are gone; they are kept") == true)
    let told = try await rig.regions.failures(of: region.id)
    #expect(Set(told.map(\.tile?.description)) == paths)
    #expect(told.allSatisfy { $0.message.contains("(\(status))") })
    #expect(try await rig.bodies(region) == old(region))
    rig = try await rig.reopened()
    let later = try await rig.regions.region(region.id)
    #expect(later.progress.gone == region.tiles && later.reason == done.reason)
    let agreed = try await rig.regions.refresh(region.id, removingGone: true)
    #expect(agreed.state == .complete && agreed.progress.gone == 0)
    #expect(agreed.reason?.hasPrefix("No tile of '") == true)
    #expect(try await rig.bodies(region).allSatisfy { $0 == nil })
  }

  @Test("Tiles that another region has pinned too stay when one lets them go")
  func goneOfOne() async throws {
    let rig = try RegionRig()
    let region = try await small(rig)
    let other = try await rig.regions.create(
      rig.plan("Other", box: GeoBox(west: 0, south: 0, east: 40, north: 40), zooms: 3...3))
    #expect(try await rig.regions.resume(other.id).state == .complete && other.tiles < region.tiles)
    let paths = try rig.paths(region.plan)
    rig.server.change { state in for path in paths { state.statuses[path] = 404 } }
    let done = try await rig.regions.refresh(region.id, removingGone: true)
    #expect(done.state == .complete && done.progress.gone == other.tiles)
    #expect(done.reason?.contains("pinned them too") == true)
    #expect(try await rig.bodies(other) == old(other))
    #expect(try await rig.bodies(region).compactMap { $0 }.count == other.tiles)
    try await rig.regions.delete(other.id)
    let alone = try await rig.regions.refresh(region.id, removingGone: true)
    #expect(alone.state == .complete && alone.progress.gone == 0)
    #expect(try await rig.bodies(region).allSatisfy { $0 == nil })
  }

  @Test("A small region whose tiles all become identical keeps its tiles")
  func sameInSmall() async throws {
    let rig = try RegionRig()
    let region = try await small(rig)
    rig.server.change { state in
      state.page = (String(decoding: RegionServer.tile("sign in"), as: UTF8.self), nil)
    }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(error?.code == .signInRequired)
    #expect(try await rig.bodies(region) == old(region))
  }

  @Test("A list of regions of the first format is migrated completely")
  func firstFormat() async throws {
    var rig = try RegionRig()
    let region = try await small(rig)
    let list = rig.scratch.file("regions.sqlite")
    rig = try await rig.reopened { _ in
      let queue = try DatabaseQueue(path: list)
      try queue.writeWithoutTransaction {
        try $0.execute(
          sql: """
            ALTER TABLE region DROP COLUMN gone; ALTER TABLE region DROP COLUMN flipping; DROP TABLE part;
            ALTER TABLE region DROP COLUMN generation; DROP TABLE confirmed;
            ALTER TABLE region DROP COLUMN map;
            PRAGMA user_version = 1
            """)
      }
      try queue.close()
    }
    let seen = try await rig.regions.region(region.id)
    #expect(seen.state == .complete && seen.progress.done == region.tiles && seen.progress.gone == 0)
    #expect(try await rig.regions.refresh(region.id).progress.confirmed == region.tiles)
  }

  @Test(
    "On a read-only disk tiles are read, regions listed, and nothing is quarantined",
    arguments: [true, false])
  func unwritable(inFiles: Bool) async throws {
    var rig = try RegionRig(inFiles: inFiles)
    let region = try await small(rig)
    let list = rig.scratch.file("regions.sqlite")
    var blocked: [String] = []
    rig = try await rig.reopened { index in
      // SQLite can't create the files that it needs beside these, as on a full disk.
      blocked = [index, list].flatMap { ["\($0)-wal", "\($0)-shm"] }
      for path in blocked {
        try? FileManager.default.removeItem(atPath: path)  // if it exists
        try FileManager.default.createDirectory(atPath: path + "/x", withIntermediateDirectories: true)
      }
    }
    #expect(try await rig.bodies(region) == old(region))
    #expect(try await rig.regions.all().map(\.state) == [.complete])
    let tile = try #require(try region.plan.tiles().first { _ in true })
    #expect(try await rig.cache.value(rig.source.key(tile), policy: .remoteElseLocal).bytes != nil)
    await #expect(throws: (any Error).self) { try await rig.regions.refresh(region.id) }
    rig = try await rig.reopened { _ in
      for path in blocked { try FileManager.default.removeItem(atPath: path) }
    }
    #expect(try await rig.bodies(region) == old(region))
    #expect(try await rig.cache.pins(by: region.holder).count == region.tiles)
    #expect(try await rig.regions.refresh(region.id).state == .complete)
  }

  @Test("A list that was opened without room is written when the disk has some")
  func laterRoom() async throws {
    var rig = try RegionRig()
    let region = try await small(rig)
    let log = rig.scratch.file("regions.sqlite-wal")
    rig = try await rig.reopened { _ in
      try? FileManager.default.removeItem(atPath: log)  // if it exists
      try FileManager.default.createDirectory(atPath: log, withIntermediateDirectories: false)
    }
    await #expect(throws: BothyError.self) { try await rig.regions.delete(region.id) }
    #expect(try await rig.regions.all().map(\.state) == [.complete])
    try FileManager.default.removeItem(atPath: log)
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    try await rig.regions.delete(region.id)
    #expect(try await rig.regions.all().isEmpty)
  }

  @Test("Many different changes of tiles, and some equal ones, are accepted")
  func honest() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    let tiles = try region.plan.tiles().map(\.description)
    rig.server.change { state in
      for (place, path) in tiles.enumerated() {
        if place % 5 == 0 { state.statuses[path] = 404 } else { state.versions[path] = 2 }
      }
    }
    let done = try await rig.regions.refresh(region.id)
    #expect(done.state == .complete && done.progress.done == region.tiles)
  }

  @Test("A region waits for a free network reported by the cache's own loader")
  func metered() async throws {
    let (stream, network) = AsyncStream.makeStream(of: NetworkState.self)
    let rig = try RegionRig(RegionServer(network: stream))
    network.yield(NetworkState(isReachable: true, isExpensive: true))
    while !rig.cache.networkState.isExpensive { await Task.yield() }
    let region = try await rig.regions.create(rig.plan())
    let progress = rig.regions.progress(of: region.id)
    let run = Task { try await rig.regions.resume(region.id) }
    var obstacle: PrefetchPolicy.Obstacle?
    for await seen in progress where seen.obstacle != nil || seen.done > 0 {
      obstacle = seen.obstacle
      break
    }
    #expect(obstacle == .metered && rig.server.requests.isEmpty)
    network.yield(.reachable)
    #expect(try await run.value.state == .complete)
  }

  @Test("Progress that is requested before a run reports that run to its end")
  func earlyProgress() async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    let stream = rig.regions.progress(of: region.id)
    let seen = Task { await stream.reduce(into: []) { $0.append($1) } }
    let done = try await rig.regions.resume(region.id)
    #expect(await seen.value.last == done.progress)
    let idle = rig.regions.progress(of: region.id)
    try rig.regions.close()
    for await _ in idle { Issue.record("nothing ran") }
  }

  private func setFormat(_ index: String) throws {
    let queue = try DatabaseQueue(path: index)
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 1") }
    try queue.close()
  }

  @Test("Pins are restored when the cache recreates its index, and tiles outlast limits")
  func pinsBack() async throws {
    var rig = try RegionRig(disk: DiskCache.Limits(count: 2), inFiles: true)
    let region = try await rig.loaded()
    rig = try await rig.reopened(after: setFormat)
    #expect(try await rig.regions.all().map(\.state) == [.complete])
    #expect(try await rig.cache.pins(by: region.holder).count == region.tiles)
    try await rig.cache.setDiskLimits(DiskCache.Limits(count: 1))
    #expect(try await rig.bodies(region) == old(region))
    rig = try await rig.reopened { index in
      try Data(repeating: 7, count: 40_000).write(to: URL(filePath: index))
      // Programs that don't open the regions, such as the tool, come first.
      let folder = URL(filePath: index).deletingLastPathComponent()
      for _ in 0..<2 { try DiskCache.folder(folder).open(limits: DiskCache.Limits(count: 2)).close() }
    }
    #expect(try await rig.regions.all().map(\.state) == [.complete])
    #expect(try await rig.cache.pins(by: region.holder).count == region.tiles)
    #expect(try await rig.bodies(region) == old(region))
  }

  @Test("A region that lost tiles is damaged, and complete again after a resume")
  func damaged() async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    rig = try await rig.reopened { index in
      try Data(repeating: 7, count: 40_000).write(to: URL(filePath: index))
    }
    let seen = try await rig.regions.region(region.id)
    #expect(seen.state == .damaged && seen.reason?.contains("\(region.tiles)") == true)
    #expect(try await rig.regions.all().map(\.state) == [seen.state])
    #expect(try await rig.cache.pins(by: region.holder).count == region.tiles)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == old(region))
    try await rig.cache.remove([rig.source.key(zoom: 0, x: 0, y: 0)])
    #expect(try await rig.regions.region(region.id).state == seen.state)
  }

  @Test("Events while a cache was opened reach later listeners")
  func lateEvents() async throws {
    var rig = try RegionRig()
    _ = try await rig.loaded()
    rig = try await rig.reopened(after: setFormat)
    for _ in 0..<2 {
      let events = rig.cache.events
      _ = try await rig.cache.value(rig.source.key(zoom: 9, x: 0, y: 0), .reload)
      var first = events.makeAsyncIterator()
      guard case .storeReplaced? = await first.next() else {
        Issue.record("the event is lost")
        return
      }
    }
  }
}
