import BothyLegacy
import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Sharing beneath a transaction that gave way", .timeLimit(.minutes(5)))
struct SharingForgottenTests {
  private let one = RecordID(type: "Memo", id: "1")
  private let two = RecordID(type: "Memo", id: "2")

  /// Changes a shared record in two transactions, of which the first gives way because of another record.
  @Test(
    "A device knows the audience of a record after giving way",
    arguments: [MergePolicy.remoteWins, .fieldByField], [false, true])
  func theDeviceStillKnowsWhomItIsSharedWith(policy: MergePolicy, isTogether: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1), policy: policy)
    a.store.options.writePolicy = .local
    let b = try world.device("b", memo(1))
    for id in ["1", "2"] { try a.put("Memo", id, ["title": .text("one"), "note": .text("n")]) }
    try await a.store.sharing.share(one, with: .users("bob"))
    await a.store.sync()
    await b.store.sync()
    try b.set("Memo", "2", ["title": .text("theirs")])
    await b.store.sync()
    try a.atomic {
      _ = try $0.update(one, fields: ["note": .text("first")])
      _ = try $0.update(two, fields: ["title": .text("mine")])
    }
    if isTogether {
      try a.atomic { _ = try $0.update(one, fields: ["note": .text("second")]) }
    } else {
      try a.set("Memo", "1", ["note": .text("second")])
    }
    for _ in 0..<3 { await a.store.sync() }
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try await world.serverRecords()[one]?.sharing == .users("bob"))
    #expect(try a.store.audience(of: one) == .users("bob"))
    // Bob loses access.
    try await a.store.updateSharing(of: one, to: .nobody)
    await a.store.sync()
    #expect(try await world.serverRecords()[one]?.sharing == .nobody)
  }
}
