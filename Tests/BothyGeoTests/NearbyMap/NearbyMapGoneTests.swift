import BothyCache
import BothyGeo
import BothyStore
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("An atlas whose server says that tiles are gone", .timeLimit(.minutes(10)))
struct NearbyMapGoneTests {
  /// Returns a rig that has the tiles around its start, all of them old.
  private func stocked() async throws -> NearbyMapRig {
    let rig = try NearbyMapRig()
    try await rig.atlas.update(rig.start)
    rig.server.forget()
    rig.pass(.days(8))
    return rig
  }

  private func expectKept(
    _ report: NearbyMap.Report, _ rig: NearbyMapRig, _ code: BothyError.Code = .absent
  ) throws {
    #expect(Set(report.failed.keys) == rig.cover && report.fromStale == rig.cover && report.absent.isEmpty)
    for case let error as BothyError in report.failed.values {
      #expect(error.code == code && error.message.contains("stays"), "\(error.code) \(error.message)")
    }
    #expect(try rig.names() == ["Version 1"] && rig.places.held(rig.cover).count == rig.cover.count)
  }

  /// Promises: T-29
  @Test("Places and validators stay for a week of such answers", arguments: [404, 410, 204, 200])
  func week(_ status: Int) async throws {
    let rig = try await stocked()
    rig.server.set(status: status)
    for _ in 0..<7 {
      // Empty documents in place of all tiles are one content, as a network sends that wants a sign-in.
      try expectKept(try await rig.atlas.refresh(), rig, status == 200 ? .signInRequired : .absent)
      #expect(await rig.atlas.state == .ready)
      #expect(await rig.atlas.tiles == rig.cover)
      rig.pass(.days(1))
    }
    // Before a tile loses all places, another one is requested as a witness.
    #expect(rig.server.requests.count == 7 * rig.cover.count * (status == 200 ? 2 : 1))
    rig.server.set(status: nil)
    rig.server.forget()
    #expect(try await rig.atlas.refresh().unchanged == rig.cover)
    #expect(rig.server.requests.allSatisfy { $0.fields[.ifNoneMatch] == "\"v1\"" })
    await rig.atlas.close()
  }

  @Test("Places stay although the cache has lost their bytes")
  func lostBytes() async throws {
    let rig = try await stocked()
    rig.server.set(status: 404)
    try await rig.cache.removeAll(rig.source.id)
    try expectKept(try await rig.atlas.refresh(), rig)
    rig.server.set(status: nil)
    rig.pass(.days(1))
    #expect(try await rig.atlas.refresh().unchanged == rig.cover)
    await rig.atlas.close()
  }

  @Test("Places stay although another reader has stored such an answer")
  func storedAnswer() async throws {
    let rig = try await stocked()
    rig.server.set(status: 404)
    for tile in rig.cover {
      #expect(try await rig.cache.value(rig.source.key(tile), policy: .remote).isAbsent)
    }
    rig.server.set(isDown: true)
    try expectKept(try await rig.atlas.refresh(), rig)
    rig.server.set(isDown: false)
    rig.server.set(status: nil)
    rig.pass(.days(1))
    rig.clock.advance(by: .days(1))
    let again = try await rig.atlas.refresh()
    #expect(again.unchanged == rig.cover, "\(again)")
    await rig.atlas.close()
  }

  /// Promises: B-19e
  @Test("Such a tile rests for ten minutes, unless a fetch asks for it")
  func rest() async throws {
    let rig = try await stocked()
    rig.server.set(status: 404)
    for minutes in [0, 1, 8] {
      rig.pass(.seconds(60 * minutes))
      try expectKept(try await rig.atlas.refresh(), rig)
      #expect(rig.server.requests.count == rig.cover.count)
    }
    rig.pass(.seconds(60))
    try expectKept(try await rig.atlas.refresh(), rig)
    #expect(rig.server.requests.count == 2 * rig.cover.count)
    _ = try await rig.atlas.fetch(around: rig.start)
    #expect(rig.server.requests.count == 3 * rig.cover.count)
    await rig.atlas.close()
  }

  @Test("A tile that isn't stored is absent, and asked for once")
  func absent() async throws {
    let rig = try NearbyMapRig()
    rig.server.set(status: 404)
    let report = try #require(try await rig.atlas.update(rig.start))
    #expect(report.absent == rig.cover && report.failed.isEmpty)
    #expect(await rig.atlas.state == .ready)
    #expect(try await rig.atlas.refresh().absent == rig.cover)
    #expect(rig.server.requests.count == rig.cover.count)
    rig.server.set(status: nil)
    rig.pass(.days(8))
    let again = try await rig.atlas.refresh()
    #expect(again.loaded == rig.cover, "\(again)")
    await rig.atlas.close()
  }
}
