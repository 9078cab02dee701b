import BothyStore
import BothySync
import BothyTesting
import Testing

/// Subscriptions that change while the device is offline.
@Suite("Subscriptions that change offline", .timeLimit(.minutes(5)))
struct Scenario19Following {
  private let trips = SyncScope(container: "trips", includesChildren: true)
  private let oslo = SyncScope(container: "trips/oslo", includesChildren: true)

  /// Promises: Scenario-19, N-7
  @Test(
    "Narrowing a subscription offline loses no unsynced edit, even outside of it",
    arguments: [false, true])
  func narrowing(restarts: Bool) async throws {
    let pair = try Pair(policy: .fieldByField)
    try pair.a.restart(configuration: .following([trips], .fieldByField))
    try pair.b.change { transaction in
      for id in ["O1", "O2"] { try transaction.insert(Note(id: id, "n"), in: "trips/oslo") }
      for id in ["R1", "R2", "R3", "R4"] { try transaction.insert(Note(id: id, "n"), in: "trips/rome") }
    }
    await pair.b.store.sync()
    await pair.a.store.sync()
    // Another device edits meanwhile.
    try pair.b.edit("R1") { $0.note = "theirs" }
    try pair.b.retitle("R4", "theirs")
    await pair.b.store.sync()
    pair.a.remote.isOffline = true
    try pair.a.retitle("R1", "mine")
    try pair.a.remove("R2")
    try pair.a.change { try $0.insert(Note(id: "R9", "made here"), in: "trips/rome") }
    if restarts {
      try pair.a.restart(configuration: .following([oslo], .fieldByField))
    } else {
      try await pair.a.store.follow([oslo])
    }
    #expect(try pair.a.noteIDs() == ["O1", "O2", "R1", "R9"])
    // A write outside of the subscription.
    try pair.a.change { try $0.insert(Note(id: "P1", "outside"), in: "trips/paris") }
    await pair.a.store.sync()
    #expect(try pair.a.store.outboxEntries().count == 4)
    pair.a.remote.isOffline = false
    for _ in 0..<2 { #expect(await pair.a.store.sync().obstacle == nil) }
    #expect(try pair.a.store.outboxEntries().isEmpty)
    // All changes are on the server, and records outside the subscription are not here.
    #expect(try await pair.server("R1")?["title"] == "mine")
    #expect(try await pair.server("R1")?["note"] == "theirs")
    #expect(try await pair.server("R2") == nil)
    #expect(try await pair.serverTitle("R9") == "made here")
    #expect(try await pair.serverTitle("P1") == "outside")
    #expect(try pair.a.noteIDs().filter { $0.hasPrefix("R") }.isEmpty)
    #expect(try pair.a.title("P1") == "outside")
    #expect(
      try pair.a.store.digest(oslo).digest == (await pair.a.store.maintenance.remoteDigest(oslo)).digest)
    // With the wider subscription, the device equals the others.
    try await pair.a.store.follow([.everything])
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-19
  @Test("Widening a subscription before the edits were sent keeps their records")
  func backAgain() async throws {
    let pair = try Pair(policy: .fieldByField)
    try pair.a.restart(configuration: .following([trips], .fieldByField))
    try pair.b.change { try $0.insert(Note(id: "R1", "n"), in: "trips/rome") }
    await pair.b.store.sync()
    await pair.a.store.sync()
    pair.a.remote.isOffline = true
    try pair.a.retitle("R1", "mine")
    try await pair.a.store.follow([oslo])
    try await pair.a.store.follow([trips])
    pair.a.remote.isOffline = false
    await pair.a.store.sync()
    #expect(try pair.a.title("R1") == "mine")
    #expect(try await pair.serverTitle("R1") == "mine")
    try await pair.a.store.follow([.everything])
    #expect(try await pair.isEven())
  }
}
