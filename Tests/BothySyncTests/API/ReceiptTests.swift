import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Receipts and decisions", .timeLimit(.minutes(5)))
struct ReceiptTests {
  @Test("An accepted save has its version, even after a relaunch")
  func accepted() async throws {
    let pair = try Pair()
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    #expect(try await receipt.outcome() == .accepted(version: "1"))
    try pair.a.restart()
    #expect(try await pair.a.store.receipt(for: .note()).outcome() == .accepted(version: "1"))
  }

  /// Promises: N-35, N-36
  @Test("A waiting save is still pending after a relaunch, and its receipt still works")
  func reopened() async throws {
    let pair = try Pair()
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    let error = await #expect(throws: BothyError.self) { try await receipt.outcome() }
    #expect(error?.code == .unreachable)
    try pair.a.restart()
    pair.a.remote.isOffline = false
    let again = try pair.a.store.receipt(for: .note())
    #expect(again.known == .pending)
    #expect(try await again.outcome() == .accepted(version: "1"))
  }

  @Test("A save that a later edit joined isn't accepted before the server has it")
  func joined() async throws {
    let pair = try Pair()
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    try pair.a.retitle("b")
    await #expect(throws: BothyError.self) { try await receipt.outcome() }
    pair.a.remote.isOffline = false
    #expect(try await receipt.outcome() == .accepted(version: "1"))
  }

  @Test("A save that gives way in a conflict reports that it was overwritten")
  func overwritten() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let receipt = try await pair.a.store.save(Note(id: "T1", "mine"))
    #expect(try await receipt.outcome() == .overwritten(version: "2"))
    #expect(try pair.a.title() == "theirs")
  }

  @Test("A rejected save has its reason, under every rejection policy")
  func rejected() async throws {
    for policy in [SyncOptions.RejectionPolicy.keepPending, .quarantine(after: 1), .discardAndRefetch] {
      let pair = try Pair(rules: .withoutNotes) { $0.rejectionPolicy = policy }
      let receipt = try await pair.a.store.save(Note(id: "T1", "a", note: "refused"))
      guard case .rejected(let reason) = try await receipt.outcome() else {
        Issue.record("not rejected under \(policy)")
        continue
      }
      #expect(reason.code == "invalid")
    }
  }

  @Test("A receipt is settled by the running loop")
  func loop() async throws {
    let pair = try Pair { $0.triggers = [.save] }
    let store = pair.a.store
    let loop = Task { await store.run(clock: VirtualClock()) }
    try await until { store.status.phase == .idle }
    let receipt = try await store.save(Note(id: "T1", "a"))
    #expect(try await receipt.outcome() == .accepted(version: "1"))
    loop.cancel()
    await loop.value
  }

  @Test("A draft or a record that refers to one reports that no verdict exists", arguments: [false, true])
  func drafts(isRunning: Bool) async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.triggers = [.save] }
    let store = pair.a.store
    let loop = Task { if isRunning { await store.run(clock: VirtualClock()) } }
    if isRunning { try await until { store.status.phase == .idle } }
    let calls = Calls()
    Task {
      for record in [AnyRecord.parent("P"), .child("C", of: "P")] {
        let isDraft = record.type == "Parent"
        let receipt = try await store.save(
          record, options: RequestOptions(writePolicy: isDraft ? .draft : nil))
        let asked = try isDraft ? store.receipt(for: record.recordID) : receipt
        let error = await #expect(throws: BothyError.self) { try await asked.outcome() }
        #expect(error?.code == .pendingChanges, "\(record.type)")
      }
      // A pending change becomes a draft.
      let pet = try await store.save(AnyRecord.parent("Q"), options: RequestOptions(writePolicy: .local))
      try await store.writeDraft {
        try $0.save(AnyRecord("Parent", id: "Q", ["name": .text("held")]), in: nil)
      }
      let error = await #expect(throws: BothyError.self) { try await pet.outcome() }
      #expect(error?.code == .pendingChanges)
      calls.add()
    }
    try await until { calls.count == 1 }
    try store.release([RecordID(type: "Parent", id: "P"), RecordID(type: "Parent", id: "Q")])
    let sent = try await store.receipt(for: RecordID(type: "Child", id: "C")).outcome()
    if case .accepted = sent {} else { Issue.record("\(sent)") }
    loop.cancel()
    await loop.value
  }

  @Test("Without a server a receipt reports so at once, with a loop or without", arguments: [false, true])
  func unreachable(isRunning: Bool) async throws {
    let pair = try Pair { $0.triggers = [.save] }
    pair.a.remote.isOffline = true
    let store = pair.a.store
    let loop = Task { if isRunning { await store.run(clock: VirtualClock()) } }
    let calls = Calls()
    Task {
      let receipt = try await store.save(Note(id: "T1", "a"))
      let error = await #expect(throws: BothyError.self) { try await receipt.outcome() }
      #expect(error?.code == .unreachable)
      calls.add()
    }
    try await until { calls.count == 1 }
    loop.cancel()
    await loop.value
  }

  /// Returns a pair on whose A the server has rejected T1.
  private func refused() async throws -> Pair {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .quarantine(after: 1) }
    try pair.a.edit { $0.note = "refused" }
    await pair.a.store.sync()
    #expect(try pair.a.store.state(of: .note()).name == "quarantined")
    return pair
  }

  @Test("Retrying sends a rejected change again")
  func retry() async throws {
    let pair = try await refused()
    pair.a.remote.forgetRequests()
    try pair.a.store.resolve(.note(), .retry)
    await pair.a.store.sync()
    #expect(pair.a.operations.count == 1)
  }

  /// Promises: C-15
  @Test("Reverting restores the server's version, and deletes an insert")
  func revert() async throws {
    let pair = try await refused()
    try pair.a.store.resolve(.note(), .revert)
    #expect(try pair.a.note()?.note == nil)
    try pair.a.insert("T9", "nine", note: "refused")
    await pair.a.store.sync()
    try pair.a.store.resolve(.note("T9"), .revert)
    #expect(try pair.a.note("T9") == nil)
    try pair.a.remove()
    try pair.a.store.resolve(.note(), .revert)
    #expect(try pair.a.title() == "start")
    #expect(try await pair.isEven())
  }

  /// Promises: S-69
  @Test("Accepting the local content stops its push, until a pull brings the server's")
  func keepLocal() async throws {
    let pair = try await refused()
    try pair.a.store.resolve(.note(), .keepLocal)
    #expect(try pair.a.note()?.note == "refused")
    #expect(try pair.a.store.state(of: .note()) == .synced)
    #expect(try await pair.isEven())
    #expect(try pair.a.note()?.note == nil)
  }

  /// Promises: N-17
  @Test("Evicting removes the record here, and the next pull restores the server's version")
  func evict() async throws {
    let pair = try await refused()
    try pair.a.store.resolve(.note(), .removeLocal)
    #expect(try pair.a.note() == nil)
    #expect(try await pair.serverTitle() == "start")
    #expect(try await pair.isEven())
  }

  @Test("A decision about a record without pending changes throws")
  func nothingPending() async throws {
    let pair = try await Pair.sharing()
    let error = #expect(throws: BothyError.self) { try pair.a.store.resolve(.note(), .revert) }
    let remedy = "Read the outbox again, as a sync may have sent it."
    #expect(error == BothyError(.notPending, "\(RecordID.note()) has no pending change. \(remedy)"))
  }
}
