import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Pending changes that are reverted after they were sent and got no answer.
@Suite("Reverted changes in doubt", .faultsStrike, .timeLimit(.minutes(5)))
struct RevertInDoubtTests {
  private static let faults: [FaultyRemote.Fault] = [.lostAnswer, .lostRequest]
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]
  private static let changes = ["update", "insert", "delete"]

  private static func make(_ change: String, _ device: SimulatedDevice) throws -> RecordID {
    switch change {
    case "update": try device.edit { ($0.title, $0.score) = ("mine", 5) }
    case "insert": try device.insert("T9", "mine")
    default: try device.remove()
    }
    return .note(change == "insert" ? "T9" : "T1")
  }

  /// Makes a change on A and sends it without an answer. Returns its record.
  @discardableResult
  private func send(_ pair: Pair, _ fault: FaultyRemote.Fault, _ change: String = "update") async throws
    -> RecordID
  {
    let id = try Self.make(change, pair.a)
    pair.a.remote.plan(fault, on: .operations, times: 1)
    await pair.a.store.sync()
    #expect(try pair.a.store.isPending(id))
    return id
  }

  private func expectStart(_ pair: Pair) async throws {
    #expect(try pair.a.noteIDs() == ["T1"])
    #expect(try pair.a.title() == "start")
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "start", "score": 0])
    #expect(try await pair.world.serverRecords().count == 1)
  }

  /// Promises: A-42
  @Test("A reverted change comes back nowhere", arguments: changes, faults)
  func reverted(change: String, fault: FaultyRemote.Fault) async throws {
    for policy in Self.policies {
      for isRelaunched in [false, true] {
        let pair = try await Pair.sharing(policy: policy)
        let id = try await send(pair, fault, change)
        let receipt = try pair.a.store.receipt(for: id)
        if isRelaunched { try pair.a.restart() }
        #expect(try pair.a.store.resolve(id, .revert))
        #expect(try pair.a.store.isPending(id))
        try await expectStart(pair)
        guard !isRelaunched else { continue }
        #expect(try await receipt.outcome() == .withdrawn)
        let reported = try pair.a.store.journal.entries(of: id).last { $0.cause == .reverted }
        #expect(reported?.outcome == .withdrawn)
      }
    }
  }

  /// Promises: A-42
  @Test("A save after the revert wins over the reverted value", arguments: faults)
  func saved(fault: FaultyRemote.Fault) async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(policy: policy)
      try await send(pair, fault)
      try pair.a.store.resolve(.note(), .revert)
      try pair.a.edit { $0.note = "later" }
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "start", "note": "later", "score": 0])
      #expect(try pair.a.store.journal.entries(losing: true).allSatisfy { $0.cause == .reverted })
    }
  }

  /// Promises: A-42
  @Test("A revert keeps what others changed meanwhile", arguments: faults)
  func others(fault: FaultyRemote.Fault) async throws {
    for isPulled in [false, true] {
      let pair = try await Pair.sharing(policy: .fieldByField)
      try await send(pair, fault)
      await pair.b.store.sync()
      try pair.b.edit { ($0.note, $0.score) = ("theirs", $0.score + 10) }
      await pair.b.store.sync()
      if isPulled { await pair.a.store.sync(.pull) }
      try pair.a.store.resolve(.note(), .revert)
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "start", "note": "theirs", "score": 10])
    }
  }

  @Test("A change made after the sending is reverted with it", arguments: changes, faults)
  func editedSince(change: String, fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing()
    let id = try await send(pair, fault, change)
    if change == "delete" {
      try pair.a.insert("T1", "again")
    } else {
      try pair.a.remove(id.id)
    }
    #expect(try pair.a.store.resolve(id, .revert))
    try await expectStart(pair)
  }

  @Test("A reverted change that never arrived overwrites nothing of others")
  func neverMade() async throws {
    for policy in Self.policies {
      let pair = try await Pair.sharing(policy: policy)
      try await send(pair, .lostRequest)
      try pair.b.retitle("theirs")
      await pair.b.store.sync()
      try pair.a.store.resolve(.note(), .revert)
      #expect(try await pair.isEven())
      #expect(try await pair.server("T1") == ["title": "theirs", "score": 0])
    }
  }

  @Test("A reverted change that the server rejects ends without a trace")
  func rejected() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    try pair.a.edit { $0.note = "refused" }
    pair.a.remote.plan(.lostRequest, on: .operations, times: 1)
    await pair.a.store.sync()
    try pair.a.store.resolve(.note(), .revert)
    await pair.a.store.sync()
    #expect(try pair.a.store.rejectedEntries().isEmpty)
    try await expectStart(pair)
  }

  /// Promises: A-42
  @Test("A reverted transaction is undone on the server as a whole", arguments: faults)
  func together(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing()
    try await pair.a.store.write(.atomic) { transaction in
      _ = try transaction.update(Note.self, id: "T1") { $0.title = "together" }
      try transaction.insert(Note(id: "T9", "together"))
    }
    pair.a.remote.plan(fault, on: .operations, times: 1)
    await pair.a.store.sync()
    try pair.a.store.resolve(.note(), .revert)
    pair.a.remote.forgetRequests()
    try await expectStart(pair)
    let undoing = pair.a.operations.filter { $0.kind == .delete || $0.fields["title"] == "start" }
    if fault == .lostAnswer { #expect(undoing.allSatisfy { $0.group?.size == 2 } && undoing.count == 2) }
  }

  @Test("A shared record that is reverted is shared with nobody", arguments: faults)
  func shared(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing()
    try await pair.a.store.sharing.share(.note(), with: .users("bob"))
    pair.a.remote.plan(fault, on: .operations, times: 1)
    await pair.a.store.sync()
    try pair.a.store.resolve(.note(), .revert)
    #expect(try pair.a.store.audience(of: .note()) == .nobody)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords()[.note()]?.sharing == .nobody)
  }
}
