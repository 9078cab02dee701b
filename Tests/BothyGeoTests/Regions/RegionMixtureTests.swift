import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import HTTPTypes
import Synchronization
import Testing

@Suite("Regions never mix two generations", .timeLimit(.minutes(5)))
struct RegionMixtureTests {
  /// Refreshes a region whose server has new tiles and sends all of them but the last.
  private func stageAllButLast(_ rig: RegionRig, _ region: Region, version: Int = 2) async throws {
    try rig.raise(region, to: version)
    let last = try #require(try region.plan.tiles().reduce(nil as Tile?) { $1 })
    rig.server.change { $0.statuses[last.description] = 500 }
    #expect(try await rig.regions.refresh(region.id).state == .outdated)
    rig.server.change { $0.statuses = [:] }
    rig.server.forget()
  }

  private func execute(_ sql: String, _ list: String) throws {
    let queue = try DatabaseQueue(path: list)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  @Test(
    "A region whose list is lost during a refresh is outdated and continues",
    arguments: [true, false])
  func listLost(isDamaged: Bool) async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    try await stageAllButLast(rig, region)
    let list = rig.scratch.file("regions.sqlite")
    rig = try await rig.reopened { _ in
      if isDamaged {
        try Data(repeating: 7, count: 40_000).write(to: URL(filePath: list))
      } else {
        try FileManager.default.removeItem(atPath: list)
      }
    }
    let seen = try await rig.regions.region(region.id)
    #expect(seen.state == .outdated && seen.reason?.contains("refresh") == true)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    #expect(rig.server.requests.isEmpty)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(!rig.server.requests.isEmpty)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
    #expect(try await rig.cache.stages().isEmpty)
  }

  @Test("Two regions that refresh one tile at once both have its new version")
  func sharedTile() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    let tile = try #require(try region.plan.tiles().first { _ in true })
    let (cache, key) = (rig.cache, try rig.source.key(tile))
    let latch = Latch()
    rig.server.change { $0.hold = (0, latch) }
    let stages = [EntryStage("one"), EntryStage("other")]
    let reads = stages.map { stage in
      var options = ResourceCache.Options(policy: .remote)
      options.stage = stage
      return Task { [options] in try await cache.value(key, options) }
    }
    while rig.server.state.withLock({ $0.running }) < 2, cache.counters[key.source]?.coalesced != 1 {
      await Task.yield()
    }
    latch.open()
    for (read, stage) in zip(reads, stages) {
      #expect(try await read.value.storage == .staged)
      #expect(try await cache.staged([key], on: stage) != [nil])
    }
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }

  @Test("New tiles that another region has replaced by older ones are requested again")
  func sharedVersions() async throws {
    let rig = try RegionRig()
    let (one, other) = (try await rig.loaded("One"), try await rig.loaded("Other"))
    try await stageAllButLast(rig, one)
    try await stageAllButLast(rig, other, version: 3)
    #expect(try await rig.regions.resume(one.id).state == .complete)
    #expect(try await rig.bodies(one).dropLast() == RegionRig.all(2, one).dropLast())
    #expect(try await rig.regions.resume(other.id).state == .complete)
    #expect(try await rig.bodies(other) == RegionRig.all(3, other))
  }

  @Test("A tile that gets an older version during a refresh is requested again")
  func replacedMeanwhile() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    let key = try rig.source.key(#require(try region.plan.tiles().first { _ in true }))
    let (older, own, latch) = (EntryStage("older"), EntryStage(region.id), Latch())
    var options = ResourceCache.Options(policy: .remote)
    options.stage = older
    #expect(try await rig.cache.value(key, options).storage == .staged)
    try rig.raise(region, to: 3)
    rig.server.change { $0.hold = (region.tiles - 8, latch) }
    let run = Task { try await rig.regions.refresh(region.id) }
    while try await rig.cache.staged([key], on: own) == [nil] { await Task.yield() }
    try await rig.cache.unstage([key], from: older)
    latch.open()
    #expect(try await run.value.state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(3, region))
  }

  @Test("A list that says complete beside a stage has its region outdated")
  func listOld() async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    try await stageAllButLast(rig, region)
    let list = rig.scratch.file("regions.sqlite")
    rig = try await rig.reopened { _ in
      try self.execute("UPDATE region SET state = 'complete', refresh = 0", list)
    }
    #expect(try await rig.regions.all().map(\.state) == [.outdated])
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test("A tile that comes after a 304 with another tag is staged like others")
  func otherTag() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    rig.server.change { $0.confirmsOthers = true }
    try await stageAllButLast(rig, region)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test("A stage whose pins are lost is pinned again and replaces the tiles")
  func stagePins() async throws {
    var rig = try RegionRig(inFiles: true)
    let region = try await rig.loaded()
    try await stageAllButLast(rig, region)
    rig = try await rig.reopened { index in
      try Data(repeating: 7, count: 40_000).write(to: URL(filePath: index))
    }
    #expect(try await rig.regions.all().map(\.state) == [.outdated])
    #expect(try await rig.cache.pinCount(by: EntryStage(region.id).holder) == region.tiles - 1)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == 1)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
    #expect(try await rig.cache.stages().isEmpty)
  }

  @Test("Removing all of a source removes what a refresh has staged of it")
  func removedSource() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    try await stageAllButLast(rig, region)
    try await rig.cache.removeAll("trails")
    #expect(try await rig.cache.totals().values.reduce(0) { $0 + $1.count } == 0)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == region.tiles)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test("Over plain HTTP, a pinned tile isn't replaced by one reader's response alone")
  func portalForReaders() async throws {
    let rig = try RegionRig(scheme: "http")
    let region = try await rig.loaded()
    let tiles = Array(try region.plan.tiles())
    let page = String(decoding: RegionServer.tile("sign in"), as: UTF8.self)
    rig.server.change { $0.page = (page, nil) }
    for tile in tiles.prefix(3) {
      for options in [ResourceCache.Options(policy: .remoteElseLocal), .reload] {
        let read = try await rig.cache.value(rig.source.key(tile), options)
        #expect(read.bytes.map { RegionServer.text($0) } == "sign in" && read.notStored != nil)
      }
    }
    rig.server.change { $0.page = nil }
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    #expect(try await rig.regions.region(region.id).state == .complete)
    rig.pass(.hours(1))
    try rig.raise(region, to: 2)
    let first = try await rig.cache.value(rig.source.key(tiles[0]), .reload)
    let second = try await rig.cache.value(rig.source.key(tiles[1]), .reload)
    #expect(first.notStored != nil && second.notStored == nil)
    let expected = try RegionRig.all(2, region).prefix(2) + RegionRig.all(1, region).dropFirst(2)
    #expect(try await rig.bodies(region) == Array(expected), "two different tiles confirm each other")
  }

  @Test("A refresh that continues asks for tiles that a reader has replaced meanwhile")
  func readerIsNoConfirmation() async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    rig.server.change { $0.answers = 0 }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    let page = String(decoding: RegionServer.tile("sign in"), as: UTF8.self)
    rig.server.change { ($0.answers, $0.page) = (nil, (page, nil)) }
    rig = try await rig.reopened()
    rig.pass(.minutes(1))
    let first = try #require(try region.plan.tiles().first { _ in true })
    _ = try await rig.cache.value(rig.source.key(first), .reload)
    rig.server.change { $0.page = nil }
    rig.server.forget()
    rig.pass(.minutes(1))
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.paths.contains(first.description))
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test(
    "A refresh after the clock stepped back requests and replaces every tile",
    arguments: [-1, -60, -299, -3600])
  func clockStep(seconds: Int) async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    _ = try await rig.regions.resume(region.id)
    rig.server.forget()
    rig.time.advance(by: Int64(seconds) * 1000)
    try rig.raise(region, to: 2)
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    #expect(rig.server.requests.count == region.tiles)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
    let tile = try #require(try region.plan.tiles().first { _ in true })
    let fields = try await rig.cache.value(rig.source.key(tile), policy: .local).metadata.fields
    #expect(!fields.contains { $0.name.rawName.hasPrefix("Bothy") })
  }

  @Test("A clock that steps back during a refresh leaves no old tile")
  func clockStepBetween() async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    rig.server.change { $0.answers = region.tiles / 2 }
    await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    rig.server.change { $0.answers = nil }
    rig = try await rig.reopened()
    rig.time.advance(by: -60_000)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == region.tiles, "staged tiles aren't requested again")
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test("An export during the replacement of tiles is refused, and leaves no file")
  func exportWhileReplaced() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    try await stageAllButLast(rig, region)
    // Another process has replaced a third of the tiles.
    try execute("UPDATE region SET flipping = 1", rig.scratch.file("regions.sqlite"))
    let keys = try region.plan.tiles().prefix(region.tiles / 3).map { try rig.source.key($0) }
    try await rig.cache.unstage(keys, from: EntryStage(region.id))
    let path = rig.scratch.file("oslo.mbtiles")
    let error = await #expect(throws: BothyError.self) {
      try await rig.regions.export(region.id, to: path, as: .mbtiles)
    }
    #expect(error?.code == .regionBusy && error?.message.contains("resume") == true)
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try await rig.regions.resume(region.id).state == .complete)
    let report = try await rig.regions.export(region.id, to: path, as: .mbtiles)
    #expect(report.written == region.tiles)
    let archive = try await TileArchives.open(path: path)
    for tile in try region.plan.tiles() {
      #expect(try await archive.content(of: tile) == RegionServer.tile("\(tile) v2"))
    }
  }

  @Test("A region is outdated when another one's refresh has changed their style")
  func otherStyle() async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    var plan = try await rig.plan("bright", zooms: 0...3)
    plan.name = "Other"
    let other = try await rig.regions.create(plan)
    #expect(try await rig.regions.resume(other.id).state == .complete)
    #expect(try await rig.regions.region(region.id).state == .complete)
    let address = "https://maps.test/tiles/omt.json"
    rig.server.change { $0.documents[address] = $0.documents[address]?.replacing("/omt/", with: "/omt2/") }
    #expect(try await rig.regions.refresh(other.id).state == .complete)
    let found = try await rig.regions.region(region.id)
    #expect(found.state == .outdated && found.reason?.contains("style") == true)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    rig.cache.suspendNetwork()
    var walk = StyleWalk(MapEndpoint(try await rig.style("bright"), in: rig.cache))
    try await walk.walk(RegionRig.oslo, 0...11, fonts: ["Noto Sans Bold", "Noto Sans Regular"])
    #expect(walk.missing == [] && walk.asked > 256)
  }

  @Test("A newer style whose tiles the server refuses or lacks takes no map away", arguments: [403, 404])
  func brokenStyle(status: Int) async throws {
    let rig = try StyleRig()
    let region = try await rig.loaded("bright")
    let address = "https://maps.test/tiles/omt.json"
    let tiles = Set(try region.plan.keys().compactMap { Tile($0)?.description })
    rig.server.change { state in
      state.documents[address] = state.documents[address]?.replacing("/omt/", with: "/omt2/")
      for tile in tiles {
        for host in ["a", "b"] { state.statuses["https://\(host).maps.test/omt2/\(tile).pbf"] = status }
      }
    }
    // Refused tiles are failures of the run. That the server has none is its error.
    let ended = try? await rig.regions.refresh(region.id)
    #expect((ended == nil) == (status == 404))
    #expect(try await rig.regions.region(region.id).state == .outdated)
    #expect(try await rig.shownTile().contains("/omt/3/4/2"))
    rig.server.change { $0.statuses = [:] }
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    #expect(try await rig.shownTile().contains("/omt2/3/4/2"))
  }

  @Test("A replacement that a kill interrupted releases what the older style needed")
  func killedStyle() async throws {
    var rig = try StyleRig()
    let region = try await rig.loaded("bright")
    let address = "https://maps.test/tiles/omt.json"
    rig.server.change { state in
      state.documents[address] = state.documents[address]?.replacing("/omt/", with: "/omt2/")
      for host in ["a", "b"] { state.statuses["https://\(host).maps.test/omt2/3/4/2.pbf"] = 500 }
    }
    #expect(try await rig.regions.refresh(region.id).state == .outdated)
    #expect(try await rig.cache.pinCount(by: region.holder) > region.tiles)
    try execute("UPDATE region SET flipping = 1", rig.scratch.file("regions.sqlite"))
    rig = try await rig.reopened()
    let seen = try await rig.regions.region(region.id)
    #expect(try await rig.cache.pinCount(by: region.holder) == seen.tiles)
  }

  @Test("An export takes no tile from memory that another process has replaced")
  func exportBeside() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    let other = try rig.beside()
    #expect(try await other.bodies(region) == RegionRig.all(1, region))
    try rig.raise(region, to: 2)
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    let path = rig.scratch.file("oslo.mbtiles")
    #expect(try await other.regions.export(region.id, to: path, as: .mbtiles).written == region.tiles)
    let archive = try await TileArchives.open(path: path)
    for tile in try region.plan.tiles() {
      #expect(try await archive.content(of: tile) == RegionServer.tile("\(tile) v2"))
    }
  }

  @Test("An export begins again if tiles were replaced meanwhile", arguments: [1, 9])
  func exportAgain(replacements: Int) async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    let list = rig.scratch.file("regions.sqlite")
    let path = rig.scratch.file("oslo.pmtiles")
    let begun = Mutex(0)
    let replace: @Sendable (RegionExport) -> Void = { report in
      guard report.written == 1 else { return }
      let isReplaced = begun.withLock { count in
        count += 1
        return count <= replacements
      }
      guard isReplaced else { return }
      do { try self.execute("UPDATE region SET generation = generation + 1", list) } catch {
        Issue.record("\(error)")
      }
    }
    if replacements == 1 {
      let report = try await rig.regions.export(region.id, to: path, as: .pmtiles, progress: replace)
      #expect(report.written == region.tiles && begun.withLock { $0 } == 2)
    } else {
      let error = await #expect(throws: BothyError.self) {
        try await rig.regions.export(region.id, to: path, as: .pmtiles, progress: replace)
      }
      #expect(error?.code == .regionBusy && begun.withLock { $0 } < replacements)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }
}
