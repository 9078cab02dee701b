import BothyCache
import BothyGeo
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Synchronization
import Testing

@Suite("Confirmed tiles of a refresh", .timeLimit(.minutes(5)))
struct RegionConfirmationTests {
  /// A rig with a region of more tiles than are noted together, loaded a day ago.
  private func loaded() async throws -> (rig: RegionRig, region: Region) {
    let rig = try RegionRig()
    let region = try await rig.regions.create(rig.plan(zooms: 0...14))
    _ = try await rig.regions.resume(region.id)
    rig.server.forget()
    rig.pass(.days(1))
    return (rig, region)
  }

  private func list<Result>(_ rig: RegionRig, _ body: (Database) throws -> Result) throws -> Result {
    let queue = try DatabaseQueue(path: rig.scratch.file("regions.sqlite"))
    let result = try queue.write(body)
    try queue.close()
    return result
  }

  /// Returns the number of tiles that the list has as confirmed.
  private func confirmed(_ rig: RegionRig) throws -> Int {
    try list(rig) { database in
      let parts = try Data.fetchAll(database, sql: "SELECT tiles FROM confirmed")
      return parts.joined().reduce(0) { $0 + $1.nonzeroBitCount }
    }
  }

  @Test("A refresh that changes nothing writes to the list once for many tiles")
  func together() async throws {
    let (rig, region) = try await loaded()
    try list(rig) { database in
      try database.execute(
        sql: """
          CREATE TABLE written (what TEXT);
          CREATE TRIGGER written_confirmed AFTER INSERT ON confirmed BEGIN INSERT INTO written VALUES ('tiles'); END;
          CREATE TRIGGER written_new AFTER INSERT ON part BEGIN INSERT INTO written VALUES ('manifest'); END;
          CREATE TRIGGER written_part AFTER UPDATE ON part BEGIN INSERT INTO written VALUES ('manifest'); END
          """)
    }
    let done = try await rig.regions.refresh(region.id)
    #expect(done.state == .complete && done.progress.confirmed == region.tiles && region.tiles > 200)
    let writes = try list(rig) { try String.fetchAll($0, sql: "SELECT what FROM written") }
    #expect(writes.count < region.tiles / 16, "\(writes.count) for \(region.tiles)")
    #expect(!writes.contains("manifest"))
    #expect(try confirmed(rig) == region.tiles)
  }

  @Test("Confirmed tiles are written to the cache together, and before the list has them")
  func cached() async throws {
    let (rig, region) = try await loaded()
    rig.regions.setPolicy(PrefetchPolicy(concurrentLoads: 1))
    let keys = try region.plan.tiles().map { try rig.source.key($0) }
    let latch = Latch()
    rig.server.change { $0.hold = (100, latch) }
    let run = Task { try await rig.regions.refresh(region.id) }
    await latch.reached()
    let renewed = try await rig.cache.stored(keys).count { $0?.validatedAt == rig.time.now }
    #expect(renewed == 64)
    latch.open()
    #expect(try await run.value.state == .complete)
    #expect(try await rig.cache.stored(keys).allSatisfy { $0?.validatedAt == rig.time.now })
  }

  @Test("A crash loses the last confirmations and invents none, a cancellation loses none")
  func lost() async throws {
    let (rig, region) = try await loaded()
    let latch = Latch()
    rig.server.change { $0.hold = (100, latch) }
    let run = Task { try await rig.regions.refresh(region.id) }
    await latch.reached()
    // A process that is killed now leaves this.
    #expect(try confirmed(rig) == 64)
    run.cancel()
    latch.open()
    await #expect(throws: (any Error).self) { try await run.value }
    // The requests that were running end after the run. Another cache joins none of them.
    try await until { rig.server.state.withLock { $0.running } == 0 }
    let again = try await rig.reopened()
    let known = try confirmed(again)
    #expect(try await again.regions.region(region.id).progress.confirmed == known)
    #expect(known > 64 && known < region.tiles)
    again.server.forget()
    #expect(try await again.regions.resume(region.id).state == .complete)
    #expect(again.server.requests.count == region.tiles - known)
  }
}
