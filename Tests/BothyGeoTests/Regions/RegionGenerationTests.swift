import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

@Suite("Generations of a region", .timeLimit(.minutes(5)))
struct RegionGenerationTests {
  /// Refreshes from a server that stops. The error comes if the last loads fail one after another, and else the state alone.
  private func refreshPartly(_ rig: RegionRig, _ region: Region) async {
    let ended = try? await rig.regions.refresh(region.id)  // its error is not the subject
    #expect(ended?.state ?? .outdated == .outdated)
  }

  @Test("Readers receive the old tiles until a refresh is complete", arguments: [true, false])
  func flips(inFiles: Bool) async throws {
    var rig = try RegionRig(inFiles: inFiles)
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    rig.server.change { $0.answers = region.tiles - 5 }
    await refreshPartly(rig, region)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    #expect(try await rig.regions.region(region.id).state == .outdated)
    rig = try await rig.reopened()
    #expect(try await rig.regions.region(region.id).state == .outdated)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    rig.server.change { $0.answers = nil }
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .complete && done.progress.done == region.tiles)
    #expect(rig.server.requests.count == region.tiles && rig.server.requests.allSatisfy(\.isConditional))
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
    #expect(try await rig.regions.stored(region.id).count == region.tiles)
    #expect(try await rig.cache.totals().values.reduce(0) { $0 + $1.count } == region.tiles)
    #expect(try await rig.cache.pins().count == region.tiles)
  }

  @Test("Another process reads the new tiles once they have replaced the old ones", arguments: [true, false])
  func beside(isFresh: Bool) async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    let other = try rig.beside()
    #expect(try await other.bodies(region) == RegionRig.all(1, region))
    try rig.raise(region, to: 2)
    #expect(try await rig.regions.refresh(region.id).state == .complete)
    if !isFresh { rig.pass(.days(8)) }
    other.cache.suspendNetwork()
    for tile in try region.plan.tiles() {
      let key = try other.source.key(tile)
      #expect(other.cache.peek(key) == nil)
      let body = try await other.cache.value(key, priority: .visible).bytes
      #expect(body == RegionServer.tile("\(tile) v2"))
    }
  }

  @Test("A tile that a reader has renewed since stays")
  func renewed() async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    rig.server.change { $0.answers = region.tiles - 5 }
    await refreshPartly(rig, region)
    rig.server.change { $0.answers = nil }
    rig = try await rig.reopened()
    rig.pass(.hours(1))
    let first = try #require(try region.plan.tiles().first { _ in true })
    rig.server.change { $0.versions[first.description] = 3 }
    _ = try await rig.cache.value(rig.source.key(first), policy: .remote)
    #expect(try await rig.regions.resume(region.id).state == .complete)
    let expected = try region.plan.tiles().map { "\($0) v\($0 == first ? 3 : 2)" }
    #expect(try await rig.bodies(region) == expected)
  }

  @Test("Tiles that the server can't send now keep the old generation", arguments: [500, 429, 408])
  func waits(status: Int) async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    let last = try #require(try region.plan.tiles().reduce(nil as Tile?) { $1 }).description
    rig.server.change { $0.statuses[last] = status }
    let done = try await rig.regions.refresh(region.id)
    #expect(done.state == .outdated && done.progress.failed == 1)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    rig.server.change { $0.statuses = [:] }
    rig.server.forget()
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.paths == [last])
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test("A replacement that a kill has interrupted continues at the next opening")
  func killed() async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    let last = try #require(try region.plan.tiles().reduce(nil as Tile?) { $1 })
    rig.server.change { $0.statuses[last.description] = 500 }
    _ = try await rig.regions.refresh(region.id)
    rig.server.forget()
    let list = rig.scratch.file("regions.sqlite")
    rig = try await rig.reopened { _ in
      let queue = try DatabaseQueue(path: list)
      try queue.write { try $0.execute(sql: "UPDATE region SET flipping = 1") }
      try queue.close()
    }
    let seen = try await rig.regions.region(region.id)
    #expect(seen.state == .outdated && rig.server.requests.isEmpty)
    let expected = try region.plan.tiles().map { "\($0) v\($0 == last ? 1 : 2)" }
    #expect(try await rig.bodies(region) == expected)
    rig.server.change { $0.statuses = [:] }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(2, region))
  }

  @Test("Equal tiles from before a kill are requested again, as is one alone", arguments: [1, 3])
  func equal(count: Int) async throws {
    var rig = try RegionRig()
    let region = try await rig.loaded()
    rig.server.change { state in
      state.page = (String(decoding: RegionServer.tile("sign in"), as: UTF8.self), nil)
      state.answers = count
    }
    await refreshPartly(rig, region)
    rig.server.change { ($0.page, $0.answers) = (nil, nil) }
    rig = try await rig.reopened()
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }

  @Test("Redirects to another host over plain HTTP stop a load", arguments: ["http", "https"])
  func redirects(scheme: String) async throws {
    let rig = try RegionRig(scheme: scheme)
    let region = try await rig.regions.create(rig.plan())
    rig.server.change { $0.portal = "hotel.test" }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .signInRequired)
    #expect(try await rig.regions.stored(region.id).count == 0)
    rig.server.change { $0.portal = nil }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    rig.pass(.days(1))
    rig.server.change { $0.portal = "hotel.test" }
    let later = await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(later?.code == .signInRequired)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }

  @Test("A file that was cut off makes its region damaged, without reading any body")
  func cutOff() async throws {
    var rig = try RegionRig(inFiles: true)
    let region = try await rig.loaded()
    let folder = URL(filePath: rig.scratch.file("tiledb"))
    rig = try await rig.reopened { _ in
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
      let first = try #require(
        try files?.compactMap { $0 as? URL }.first {
          try $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
        })
      try Data("cut".utf8).write(to: first)
    }
    #expect(try await rig.regions.all().map(\.state) == [.damaged])
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(rig.server.requests.count == 1)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }

  @Test("Deleting a region removes its staged tiles")
  func deleted() async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    try rig.raise(region, to: 2)
    rig.server.change { $0.answers = 5 }
    await refreshPartly(rig, region)
    #expect(try await rig.cache.totals().count > 1)
    try await rig.regions.delete(region.id)
    #expect(try await rig.cache.totals().keys.map(\.name) == ["trails"])
    #expect(try await rig.cache.pins().isEmpty)
  }
}
