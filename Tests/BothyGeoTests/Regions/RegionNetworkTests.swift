import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("First loads of regions on networks that want a sign-in", .timeLimit(.minutes(5)))
struct RegionNetworkTests {
  private static let logo = RegionServer.picture("Hotel")
  private static let features = Data(#"{"type": "FeatureCollection", "features": []}"#.utf8)

  /// Returns a JPEG picture of 256 pixels with the usual tables, and the coded squares of its pixels.
  private static func jpeg(_ squares: [UInt8]) -> Data {
    let levels: [UInt8] = [0xFF, 0xD8, 0xFF, 0xDB, 0, 132] + (0..<130).map { UInt8($0) }
    let size: [UInt8] = [0xFF, 0xC0, 0, 17, 8, 1, 0, 1, 0, 3] + [UInt8](repeating: 1, count: 9)
    let codes: [UInt8] = [0xFF, 0xC4, 1, 162] + (0..<416).map { UInt8($0 % 251) }
    let scan: [UInt8] = [0xFF, 0xDA, 0, 12] + [UInt8](repeating: 0, count: 10)
    return Data(levels) + Data(size) + Data(codes) + Data(scan) + Data(squares) + Data([0xFF, 0xD9])
  }

  /// A JPEG picture of one color: the same 32 bits for each square of 256 pixels.
  private static let plainJPEG = Self.jpeg((0..<1024).map { [0x28, 0xA2, 0x8A, 0x00][$0 % 4] })
  /// A JPEG picture that shows something in not many more bytes.
  private static let photo: Data = {
    var state: UInt32 = 1
    return Self.jpeg(
      (0..<2000).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(state >> 24)
      })
  }()

  /// Promises: E-19
  @Test(
    "Of a network that answers all tiles alike nothing is kept",
    arguments: [Self.logo, Self.photo, Data([0, 1, 2, 3])], ["http", "https"])
  func alike(content: Data, scheme: String) async throws {
    let rig = try RegionRig(scheme: scheme)
    let region = try await rig.regions.create(rig.plan())
    rig.server.change { $0.content = { _ in content } }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .signInRequired && rig.server.requests.count < region.tiles)
    let stopped = try await rig.regions.region(region.id)
    #expect(stopped.state == .interrupted && stopped.progress.done == 0)
    #expect(try await rig.regions.stored(region.id).count == 0)
    #expect(try await rig.cache.pins(by: region.holder).count == region.tiles)
    rig.server.change { $0.content = nil }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }

  /// Promises: E-19
  @Test("A network that begins to answer alike in a run keeps what came before")
  func later() async throws {
    // One load at a time, so that the last tile of before is stored before the others come.
    let rig = try RegionRig(policy: PrefetchPolicy(concurrentLoads: 1))
    let region = try await rig.regions.create(rig.plan())
    let answered = Locked(0)
    rig.server.change { state in
      state.content = { path in
        let count = answered.change { count -> Int in
          count += 1
          return count
        }
        return count > 8 ? Self.logo : RegionServer.picture(path)
      }
    }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .signInRequired)
    #expect(try await rig.regions.stored(region.id).count == 8)
  }

  /// Promises: E-19
  @Test("A region's last missing tile isn't taken from a network that answers alike")
  func last() async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    rig.server.change { $0.content = { path in RegionServer.picture(path) } }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    let lost = try #require(try region.plan.tiles().reduce(nil as Tile?) { $1 })
    try await rig.cache.remove([rig.source.key(lost)])
    rig.server.forget()
    rig.server.change { $0.content = { _ in Self.logo } }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .signInRequired && rig.server.paths == [lost.description, "0/0/0"])
    #expect(try await rig.regions.region(region.id).state == .damaged)
    #expect(try await rig.regions.stored(region.id).count == region.tiles - 1)
    rig.server.change { $0.content = { path in RegionServer.picture(path) } }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    let stored = try await rig.cache.value(rig.source.key(lost), policy: .local).bytes
    #expect(stored == RegionServer.picture(lost.description))
  }

  /// Promises: E-19
  @Test("A network that has no tiles makes no region complete", arguments: [404, 410, 204])
  func nothing(status: Int) async throws {
    var rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    rig.server.change { $0.answers = 8 }
    await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    let paths = try rig.paths(region.plan)
    rig.server.change { state in
      state.answers = nil
      for path in paths { state.statuses[path] = status }
    }
    rig = try await rig.reopened()
    let error = await #expect(throws: BothyError.self) { try await rig.regions.resume(region.id) }
    #expect(error?.code == .interrupted && error?.message.contains("no longer exist") == true)
    #expect(try await rig.regions.region(region.id).state == .interrupted)
    #expect(try await rig.regions.stored(region.id).count == 8)
    rig.server.change { $0.statuses = [:] }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.bodies(region) == RegionRig.all(1, region))
  }

  @Test("Many tiles that a server never had keep no region from being complete")
  func sparse() async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    let absent = try region.plan.tiles().filter { $0.zoom > 8 }.map(\.description)
    rig.server.change { state in for path in absent { state.statuses[path] = 404 } }
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .complete && done.progress.absent == absent.count && absent.count > 12)
  }

  /// Contents that honest servers send for many tiles, with the number of requests besides those for tiles.
  struct Sea: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var more: Int
    var content: @Sendable (String) -> Data
  }

  static let seas = [
    Sea(testDescription: "one color everywhere", more: 0) { _ in RegionServer.picture("sea", bytes: 100) },
    Sea(testDescription: "one color as JPEG", more: 0) { _ in Self.plainJPEG },
    Sea(testDescription: "a pattern, and land at the coarsest zoom", more: 1) { path in
      path == "0/0/0" ? RegionServer.picture(path) : RegionServer.picture("waves")
    },
    Sea(testDescription: "vector tiles", more: 0) { _ in RegionServer.tile("water") },
    Sea(testDescription: "no features", more: 0) { _ in Self.features },
    Sea(testDescription: "unknown bytes, and others at the coarsest zoom", more: 1) { path in
      Data([0, 1, path == "0/0/0" ? 1 : 0])
    },
  ]

  @Test("A sea of equal tiles is loaded as it is", arguments: Self.seas)
  func sea(_ sea: Sea) async throws {
    let rig = try RegionRig(scheme: "http")
    let box = GeoBox(west: 0, south: 0, east: 3, north: 3)
    let region = try await rig.regions.create(rig.plan(box: box, zooms: 6...9))
    rig.server.change { $0.content = sea.content }
    let done = try await rig.regions.resume(region.id)
    #expect(done.state == .complete && done.progress.loaded == region.tiles && region.tiles > 12)
    #expect(rig.server.requests.count == region.tiles + sea.more)
  }

  @Test(
    "A source whose server is down keeps no other source from a region",
    arguments: ["https://assets.test/", "https://api.test/v4/"])
  func oneDown(_ server: String) async throws {
    let rig = try StyleRig()
    let region = try await rig.regions.create(try await rig.plan("light", zooms: 0...4))
    rig.server.change { ($0.down, $0.requests) = (server, []) }
    let half = try await rig.regions.resume(region.id)
    #expect(half.state == .partial && half.progress.done + half.progress.failed == region.tiles)
    #expect(rig.server.requests.count { $0.hasPrefix(server) } <= 12)
    let key = ResourceKey("light/relief", zoom: 1, x: 1, y: 0)
    #expect(try await rig.cache.value(key, policy: .local).bytes?.isEmpty == false)
    rig.server.change { $0.down = nil }
    let whole = try await rig.regions.resume(region.id)
    #expect(whole.state == .complete)
    // A refresh replaces nothing until each source has answered.
    rig.server.change { state in
      state.down = server
      state.contents["https://relief.test/1/1/1"] = RegionServer.picture("newer")
    }
    rig.time.advance(by: Duration.days(1).wholeMilliseconds)
    #expect(try await rig.regions.refresh(region.id).state == .outdated)
    #expect(try await rig.cache.value(key, policy: .local).bytes != RegionServer.picture("newer"))
    rig.server.change { ($0.down, $0.requests) = (nil, []) }
    #expect(try await rig.regions.resume(region.id).state == .complete)
    #expect(try await rig.cache.value(key, policy: .local).bytes == RegionServer.picture("newer"))
    #expect(!rig.server.requests.contains { $0.hasPrefix("https://relief.test/") })
  }

  @Test("A region of which no tile exists says so, until a refresh finds some")
  func nothing() async throws {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan())
    let paths = try rig.paths(region.plan)
    rig.server.change { state in for path in paths { state.statuses[path] = 404 } }
    for _ in 0..<2 {
      let empty = try await rig.regions.resume(region.id)
      #expect(empty.state == .complete && empty.progress.absent == region.tiles)
      #expect(empty.reason?.hasPrefix("No tile of 'trails' exists there") == true)
    }
    rig.server.change { $0.statuses["0/0/0"] = nil }
    #expect(try await rig.regions.refresh(region.id).reason == nil)
    #expect(try await rig.regions.resume(region.id).reason == nil)
  }

  @Test(
    "A server that always wants fewer requests ends the run soon",
    arguments: [nil, "60", "3600"] as [String?])
  func throttled(after: String?) async throws {
    let rig = try RegionRig()
    let region = try await rig.loaded()
    let paths = try rig.paths(region.plan)
    rig.server.change { state in
      for path in paths { state.statuses[path] = 429 }
      state.fields[.retryAfter] = after
    }
    let error = await #expect(throws: BothyError.self) { try await rig.regions.refresh(region.id) }
    #expect(error?.code == .interrupted && rig.server.requests.count < region.tiles / 2)
    #expect(try await rig.regions.region(region.id).state == .outdated)
    rig.server.change { ($0.statuses, $0.fields) = ([:], [:]) }
    if after != "3600" { #expect(try await rig.regions.resume(region.id).state == .complete) }
  }
}
