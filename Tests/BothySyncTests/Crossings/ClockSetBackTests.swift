import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Times that were noted by a clock which was ahead, and counted by it after it was set right.
@Suite("A clock that was ahead", .timeLimit(.minutes(5)))
struct ClockSetBackTests {
  private let hour: Int64 = 3_600_000

  @Test("An answer's age counts from the last sync after the clock was set back", arguments: [true, false])
  func age(hasNews: Bool) async throws {
    let pair = try await Pair.sharing()
    pair.world.time.advance(by: 24 * hour)
    await pair.a.store.sync()
    pair.world.time.advance(by: -24 * hour)
    if hasNews {
      try pair.b.retitle("news")
      await pair.b.store.sync()
    }
    await pair.a.store.sync()
    pair.world.time.advance(by: 2 * hour)
    let found = try await pair.a.store.fetchResult(
      RecordQuery<Note>(), options: RequestOptions(readPolicy: .local))
    #expect(found.age == .seconds(7200))
    #expect(try pair.a.store.containersNeedingSync(notPulledFor: .seconds(3600)) == [""])
  }

  @Test("After a clock was set back, a blob still comes before its record")
  func blob() async throws {
    let pair = try SnapPair()
    pair.world.time.advance(by: 24 * hour)
    let blob = try await pair.a.snap("1", picture())
    #expect(await pair.a.store.sync().uploadedBlobs == 1)
    pair.world.time.advance(by: -24 * hour)
    try pair.a.change { _ = try $0.delete(Snap.self, id: "1") }
    await pair.a.store.sync()
    // The server keeps blobs without a record for a limited time.
    try await pair.world.service.blobs?.remove(space: "test")
    try await pair.a.snap("2", picture())
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.world.service.blobHolding(space: "test", blob.sha256) == .whole(size: 45))
  }
}
