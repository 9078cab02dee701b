import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("First loads of regions on networks that want a sign-in", .timeLimit(.minutes(5)))
struct RegionNetworkTests {
  private static let logo = RegionServer.picture("Hotel")
  private static let features = Data(#"{"type": "FeatureCollection", "features": []}"#.utf8)

  /// Promises: E-19
  @Test(
    "Of a network that answers all tiles alike nothing is kept",
    arguments: [Self.logo, Data([0, 1, 2, 3])], ["http", "https"])
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
    let rig = try RegionRig()
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

  /// Contents that honest servers send for many tiles, with the number of requests besides those for tiles.
  struct Sea: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var more: Int
    var content: @Sendable (String) -> Data
  }

  static let seas = [
    Sea(testDescription: "one color everywhere", more: 0) { _ in RegionServer.picture("sea", bytes: 100) },
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
}
