import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

@Suite("Damaged lists of regions", .timeLimit(.minutes(5)))
struct RegionRepairTests {
  private func loaded(_ rig: RegionRig, _ plan: OfflineRegions.Plan) async throws -> Region {
    let region = try await rig.regions.create(plan)
    _ = try await rig.regions.resume(region.id)
    return region
  }

  private func reopened(
    _ rig: RegionRig, damage: @escaping (_ list: String) throws -> Void
  ) async throws -> RegionRig {
    let list = rig.scratch.file("regions.sqlite")
    return try await rig.reopened { _ in try damage(list) }
  }

  private func execute(_ sql: String, _ list: String) throws {
    let queue = try DatabaseQueue(path: list)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  private func isReported(_ rig: RegionRig) async throws -> Bool {
    let events = rig.cache.events
    try await rig.cache.close()
    return await events.reduce(false) { told, event in
      if case .storeReplaced = event { true } else { told }
    }
  }

  @Test("A list of a newer version keeps its regions, and the repair is reported")
  func newer() async throws {
    var rig = try RegionRig()
    let region = try await loaded(rig, rig.plan())
    rig = try await reopened(rig) { list in
      try self.execute("ALTER TABLE region ADD COLUMN later TEXT; PRAGMA user_version = 99", list)
    }
    rig.server.forget()
    let seen = try await rig.regions.all()
    #expect(seen.map(\.name) == ["Oslo"] && seen.map(\.state) == [.complete])
    #expect(seen.first?.id == region.id && seen.first?.completedAt != nil)
    #expect(rig.server.requests.isEmpty)
    #expect(try await isReported(rig))
  }

  @Test(
    "A list that is noise is recovered from the pins, with all tiles",
    arguments: [(true, true), (true, false), (false, true), (false, false)])
  func noise(isDeleted: Bool, hasPlans: Bool) async throws {
    var rig = try RegionRig(disk: DiskCache.Limits(count: 2))
    let oslo = try await loaded(rig, rig.plan())
    let fiji = try await loaded(
      rig, rig.plan("Fiji", box: GeoBox(west: 177, south: -19, east: -178, north: -16), zooms: 4...8))
    rig.server.forget()
    rig = try await reopened(rig) { list in
      try FileManager.default.removeItem(atPath: list)
      let folder = URL(filePath: list).deletingLastPathComponent()
      for id in [oslo.id, fiji.id] where !hasPlans {
        try FileManager.default.removeItem(at: folder.appending(path: "region-\(id).json"))
      }
      if !isDeleted { try Data(repeating: 7, count: 40_000).write(to: URL(filePath: list)) }
    }
    let seen = try await rig.regions.all()
    #expect(Set(seen.map(\.id)) == [oslo.id, fiji.id])
    for region in seen {
      let old = region.id == oslo.id ? oslo : fiji
      #expect(region.state == .complete && region.name.hasPrefix(hasPlans ? old.name : "Recovered "))
      #expect(region.tiles == old.tiles && region.reason?.contains("recovered") == true)
      #expect(try Set(region.plan.tiles()) == Set(old.plan.tiles()))
      #expect(try await rig.regions.stored(region.id).count == old.tiles)
    }
    #expect(rig.server.requests.isEmpty)
    try await rig.regions.delete(oslo.id)
    #expect(try await rig.regions.all().map(\.id) == [fiji.id])
  }

  @Test("Regions without list and index are damaged, and unknown stages are removed")
  func listAndIndex() async throws {
    var rig = try RegionRig(inFiles: true)
    let oslo = try await loaded(rig, rig.plan())
    let other = try await loaded(rig, rig.plan("Other"))
    let paths = try rig.paths(other.plan)
    let last = try #require(try other.plan.tiles().reduce(nil as Tile?) { $1 })
    rig.server.change { state in
      for path in paths { state.versions[path] = 2 }
      state.statuses[last.description] = 500
    }
    #expect(try await rig.regions.refresh(other.id).state == .outdated)
    rig.server.change { ($0.versions, $0.statuses) = ([:], [:]) }
    rig.server.forget()
    let folder = URL(filePath: rig.scratch.path)
    rig = try await rig.reopened { index in
      try FileManager.default.removeItem(at: folder.appending(path: "region-\(other.id).json"))
      for path in [index, folder.appending(path: "regions.sqlite").path] {
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }  // if any
      }
    }
    let seen = try await rig.regions.all()
    #expect(seen.map(\.id) == [oslo.id] && seen.map(\.name) == ["Oslo"])
    #expect(seen.first?.state == .damaged && seen.first?.reason?.contains("plan") == true)
    #expect(try await rig.cache.stages().isEmpty)
    #expect(try await rig.cache.pins(by: oslo.holder).count == oslo.tiles)
    #expect(try await rig.regions.resume(oslo.id).state == .complete)
    #expect(rig.server.requests.isEmpty, "its tiles were there")
    try await rig.regions.delete(oslo.id)
    rig = try await rig.reopened()
    #expect(try await rig.regions.all().isEmpty)
  }

  @Test("A repair of the list that a kill has interrupted keeps states and failures")
  func interrupted() async throws {
    var rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    let last = try #require(try region.plan.tiles().reduce(nil as Tile?) { $1 })
    rig.server.change { $0.statuses[last.description] = 500 }
    #expect(try await rig.regions.resume(region.id).state == .partial)
    let before = try await rig.regions.region(region.id)
    let failures = try await rig.regions.failures(of: region.id)
    rig = try await reopened(rig) { list in
      try FileManager.default.moveItem(atPath: list, toPath: list + ".unread")
    }
    #expect(try await rig.regions.all() == [before])
    #expect(try await rig.regions.failures(of: region.id) == failures && failures.count == 1)
    #expect(try await isReported(rig))
  }

  @Test("A process follows a list that another one has repaired")
  func beside() async throws {
    let rig = try RegionRig()
    let region = try await loaded(rig, rig.plan())
    let list = rig.scratch.file("regions.sqlite")
    let files = FileManager.default
    for side in ["", "-wal"] where files.fileExists(atPath: list + side) {
      try files.moveItem(atPath: list + side, toPath: list + ".unread" + side)
    }
    if files.fileExists(atPath: list + "-shm") { try files.removeItem(atPath: list + "-shm") }
    let other = try rig.beside()
    #expect(try await other.regions.all().map(\.id) == [region.id])
    _ = try await rig.regions.create(rig.plan("New"))
    #expect(try await other.regions.all().map(\.name) == ["New", "Oslo"])
    #expect(try await rig.regions.region(region.id).state == .complete)
  }

  @Test("A damaged page of the list costs no region")
  func page() async throws {
    var rig = try RegionRig()
    for number in 0..<60 {
      _ = try await rig.regions.create(rig.plan("Region \(number)", zooms: 0...6))
    }
    let region = try await loaded(rig, rig.plan("Loaded"))
    rig = try await reopened(rig) { list in
      var bytes = try Data(contentsOf: URL(filePath: list))
      let leaves = stride(from: 4096, to: bytes.count, by: 4096).filter { bytes[$0] == 0x0D }
      let page = try #require(leaves.dropFirst(leaves.count / 2).first)
      bytes.replaceSubrange(page..<page + 4096, with: Data(repeating: 0xA5, count: 4096))
      try bytes.write(to: URL(filePath: list))
    }
    let seen = try await rig.regions.all()
    #expect(seen.contains { $0.id == region.id && $0.state == .complete })
    #expect(seen.count > 20)
  }

  @Test("A changed byte of a region or of an index costs no region", arguments: [true, false])
  func byte(inIndex: Bool) async throws {
    var rig = try RegionRig()
    let region = try await loaded(rig, rig.plan())
    rig = try await reopened(rig) { list in
      guard inIndex else { return try self.execute("UPDATE region SET area = '%' || substr(area, 2)", list) }
      let queue = try DatabaseQueue(path: list)
      let root = try queue.read { database in
        try Int.fetchOne(
          database, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_region_1'")
      }
      try queue.close()
      var bytes = try Data(contentsOf: URL(filePath: list))
      let page = (try #require(root) - 1) * 4096
      let place = try #require(bytes.range(of: Data(region.id.utf8), in: page..<page + 4096))
      bytes[place.lowerBound] = UInt8(ascii: "z")
      try bytes.write(to: URL(filePath: list))
    }
    rig.server.forget()
    let seen = try await rig.regions.all()
    #expect(seen.map(\.id) == [region.id] && seen.map(\.name) == ["Oslo"])
    #expect(seen.map(\.state) == [.complete] && rig.server.requests.isEmpty)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }
}
