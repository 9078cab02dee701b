import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Requests sent again", .faultsStrike, .timeLimit(.minutes(5)))
struct SameOperationTwiceTests {
  private let one = RecordID(type: "Memo", id: "1")

  /// Creates a record, changes it together with another and edits it. All of it is sent without a response.
  @Test(
    "Stacked operations in doubt are sent again once each",
    arguments: [FaultyRemote.Fault.lostAnswer, .lostRequest])
  func aRequestIsSentAgainAsItWas(fault: FaultyRemote.Fault) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    await a.store.sync()
    try a.put("Memo", "1", ["title": .text("one")])
    try a.atomic {
      _ = try $0.update(one, fields: ["title": .text("two")])
      try $0.insert(AnyRecord("Memo", id: "2", ["title": .text("beside")]))
    }
    try a.set("Memo", "1", ["note": .text("three")])
    a.remote.plan(fault)
    await a.store.sync()
    a.remote.setScript { .none }
    for _ in 0..<4 {
      world.time.advance(by: 3_600_000)
      a.remote.forgetRequests()
      let report = await a.store.sync()
      for request in a.remote.requests {
        #expect(
          Set(request.operations.map(\.id)).count == request.operations.count, "the same operation twice")
      }
      #expect(report.obstacle == nil)
    }
    #expect(try a.store.outboxEntries().isEmpty)
    let there = try #require(try await world.serverRecords()[one])
    #expect(try there.fields.members() == ["title": "two", "note": "three", "count": 0])
    #expect(try a.record("Memo", "1")?.metadata == there.metadata)
  }

  /// Like the test above, but with other work to send.
  @Test("Stacked operations in doubt are sent once with more to send")
  func withMoreToSend() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    await a.store.sync()
    try a.put("Memo", "1", ["title": .text("one")])
    try a.atomic {
      _ = try $0.update(one, fields: ["title": .text("two")])
      try $0.insert(AnyRecord("Memo", id: "2", ["title": .text("beside")]))
    }
    try a.atomic {
      _ = try $0.update(RecordID(type: "Memo", id: "2"), fields: ["title": .text("two")])
      try $0.insert(AnyRecord("Memo", id: "3", ["title": .text("beside")]))
    }
    try a.set("Memo", "1", ["note": .text("three")])
    a.remote.plan(.lostRequest)
    await a.store.sync()
    a.remote.setScript { .none }
    for round in 0..<4 {
      try a.put("Memo", "n\(round)", ["title": .text("more")])
      world.time.advance(by: 3_600_000)
      let report = await a.store.sync()
      #expect(report.obstacle == nil)
    }
    #expect(try a.store.outboxEntries().isEmpty)
  }
}

@Suite("Owners of work sent in parts", .faultsStrike, .timeLimit(.minutes(5)))
struct OwnerOfHalvedRequestsTests {
  @Test("A record sent in parts has its owner", arguments: [SyncDirection.both, .push])
  func whatIsSentInPartsKnowsItsOwner(direction: SyncDirection) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1)) { $0.direction = direction }
    await a.store.sync()
    for n in 0..<4 { try a.put("Memo", "\(n)", ["title": .text("one")]) }
    // A proxy that rejects requests with this record.
    a.remote.plan(.status(413, retryAfter: nil), on: .operation(on: "2"))
    let report = await a.store.sync()
    #expect(report.pushed == 3)
    await a.store.sync()
    for n in [0, 1, 3] {
      let there = try #require(try await world.serverRecords()[RecordID(type: "Memo", id: "\(n)")])
      #expect(try a.record("Memo", "\(n)")?.metadata == there.metadata)
    }
  }
}
