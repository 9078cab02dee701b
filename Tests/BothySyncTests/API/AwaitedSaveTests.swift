import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Saving and waiting for the server's verdict", .timeLimit(.minutes(5)))
struct AwaitedSaveTests {
  /// Promises: N-34, C-21
  @Test("An accepted save returns the record as the server has it")
  func stored() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let result = try await pair.a.store.save(note, policy: .local).result(within: .seconds(1000))
    #expect(result.origin == .merged)
    #expect(result.record?.title == "mine")
    #expect(result.record?.note == "theirs")
    if case .merged = result.verdict {} else { Issue.record("\(result.verdict)") }
    #expect(try pair.a.store.outboxEntries().isEmpty)
    let made = try await pair.a.store.save(Note(id: "T2", "new"), policy: .local).result(
      within: .seconds(1000))
    if case .accepted = made.verdict {} else { Issue.record("\(made.verdict)") }
    #expect(made.origin == .remote)
    let gone = try await pair.a.store.delete(Note.self, id: "T2", policy: .local).result(
      within: .seconds(1000))
    #expect(gone.record == nil)
    #expect(gone.origin == .remote)
    #expect(try await pair.isEven())
  }

  @Test("Without a server the record is stored here, with the reason why it waits")
  func offline() async throws {
    let pair = try await Pair.sharing()
    pair.a.remote.isOffline = true
    let saved = try await pair.a.store.save(Note(id: "T1", "mine"), policy: .local)
    #expect(saved.state == .pending(.update))
    let error = await #expect(throws: BothyError.self) { try await saved.result(within: .seconds(1000)) }
    #expect(error?.code == .unreachable)
    #expect(try await pair.a.store.fetch(Note.self, id: "T1", policy: .local)?.title == "mine")
    try pair.a.restart()
    #expect(try pair.a.title() == "mine")
    pair.a.remote.isOffline = false
    let receipt = try pair.a.store.receipt(for: .note())
    if case .accepted = try await receipt.result(within: .seconds(1000)).verdict {
    } else {
      Issue.record("not accepted")
    }
    #expect(try await pair.serverTitle() == "mine")
  }

  @Test("A rejection has its reason, and lost content is returned")
  func refused() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    let result = try await pair.a.store.save(Note(id: "T1", "mine", note: "no"), policy: .local).result(
      within: .seconds(1000))
    guard case .rejected(let reason) = result.verdict else {
      Issue.record("\(result.verdict)")
      return
    }
    #expect(reason.fields.map(\.field) == ["note"])
    #expect(result.origin == .local)
    let other = try await Pair.sharing()
    try other.b.retitle("theirs")
    await other.b.store.sync()
    let lost = try await other.a.store.save(Note(id: "T1", "mine"), policy: .local).result(
      within: .seconds(1000))
    if case .replaced = lost.verdict {} else { Issue.record("\(lost.verdict)") }
    #expect(lost.record?.title == "theirs")
    #expect(lost.overwritten?.title == "mine")
    #expect(lost.origin == .remote)
  }

  @Test("A receipt waits no longer than its limit while the loop runs offline")
  func bounded() async throws {
    let clock = VirtualClock()
    let pair = try Pair { $0.clock = clock }
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "mine"))
    let loop = Task { await pair.a.store.run() }
    #expect(try await receipt.outcome(within: .seconds(5)) == .pending)
    loop.cancel()
    await loop.value
  }

  @Test("An awaited save overtakes a sync that hangs")
  func overtakes() async throws {
    let pair = try await Pair.sharing()
    for number in 0..<20 { try pair.a.insert("N\(number)", "bulk") }
    let request = HeldRequest(of: pair.a)
    let store = pair.a.store
    async let bulk = store.sync()
    await request.waitUntilSent()
    let result = try await pair.a.store.save(Note(id: "T1", "mine"), policy: .local).result(
      within: .seconds(1000))
    if case .accepted = result.verdict {} else { Issue.record("\(result.verdict)") }
    #expect(try await pair.serverTitle() == "mine")
    request.release()
    _ = await bulk
    #expect(try await pair.isEven())
  }

  @Test("A save reports a field that gave way in a merge")
  func partlyLost() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    var note = try #require(try pair.a.note())
    (note.title, note.note) = ("mine", "kept")
    let result = try await pair.a.store.save(note, policy: .local).result(within: .seconds(1000))
    #expect(result.record?.note == "kept")
    if result.record?.title == "theirs" {
      #expect(result.overwritten?.title == "mine")
    } else {
      #expect(result.overwritten == nil)
    }
  }
}
