import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Waiting for a verdict with a limit and without, which differ in nothing else.
@Suite("Waiting for a verdict", .faultsStrike, .timeLimit(.minutes(5)))
struct WaitingForVerdictTests {
  private static let limits: [Duration?] = [nil, .seconds(60)]

  private func verify(_ receipt: SaveReceipt<Note>, _ limit: Duration?) async throws {
    let verdict = try await receipt.result(within: limit).verdict
    if case .accepted = verdict {} else { Issue.record("\(verdict)") }
  }

  @Test("An awaited save overtakes a sync that hangs", arguments: limits)
  func overtaking(limit: Duration?) async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    let request = HeldRequest(of: pair.a)
    let store = pair.a.store
    try pair.a.retitle("mine")
    let sync = Task { await store.sync() }
    await request.waitUntilSent()
    try await verify(store.save(Note(id: "T2", "other"), policy: .local), limit)
    request.release()
    #expect(await sync.value.obstacle == nil)
    #expect(try await pair.isEven())
  }

  @Test("An awaited save is sent while syncing is paused", arguments: limits)
  func paused(limit: Duration?) async throws {
    let pair = try await Pair.sharing()
    try pair.a.store.pause()
    try pair.a.insert("T2", "waits")
    try await verify(pair.a.store.save(Note(id: "T1", "mine"), policy: .local), limit)
    #expect(try await pair.serverTitle() == "mine")
    #expect(try await pair.serverTitle("T2") == nil)
  }

  @Test("The receipt of a draft has the verdict once the draft is released", arguments: limits)
  func released(limit: Duration?) async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    let receipt = try await store.save(Note(id: "T1", "mine"), policy: .draft)
    let error = await #expect(throws: BothyError.self) { try await receipt.result(within: limit) }
    #expect(error?.code == .pendingChanges)
    #expect(pair.a.operations.isEmpty)
    try store.release([.note()])
    try await verify(receipt, limit)
  }

  @Test("All drafts are released at once, and other records stay as they are")
  func allReleased() async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    for id in ["T1", "T2"] { _ = try await store.save(Note(id: id, "mine"), policy: .draft) }
    _ = try await store.save(Note(id: "T3", "sent"), policy: .local)
    #expect(try store.release([.note("T3")]).isEmpty)
    #expect(try store.releaseDrafts() == [.note("T1"), .note("T2")])
    #expect(try store.releaseDrafts().isEmpty)
    #expect(try store.pendingCounts().drafts == 0)
    _ = await store.sync()
    #expect(pair.a.operations.count == 3)
  }

  @Test("A server-first save of a draft says that it is one")
  func serverFirst() async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    _ = try await store.save(Note(id: "T1", "mine"), policy: .draft)
    let error = await #expect(throws: BothyError.self) {
      try await store.save(Note(id: "T1", "more"), policy: .remote)
    }
    #expect(error?.code == .pendingChanges && error?.message.contains("is a draft") == true)
  }

  @Test("A write that became a draft has the draft's error", arguments: limits)
  func held(limit: Duration?) async throws {
    let pair = try await Pair.sharing()
    let store = pair.a.store
    let receipt = try await store.save(Note(id: "T1", "mine"), policy: .local)
    try await store.writeDraft { _ = try $0.update(Note.self, id: "T1") { $0.note = "not yet" } }
    let error = await #expect(throws: BothyError.self) { try await receipt.result(within: limit) }
    #expect(error?.message.contains("outbox.release") ?? false)
    #expect(pair.a.operations.isEmpty)
  }
}
