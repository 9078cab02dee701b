import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Awaited saves, which overtake other requests, beside online saves of the same record.
@Suite("Awaited saves beside online saves of one record", .faultsStrike, .timeLimit(.minutes(5)))
struct OvertakingTests {
  private static let policies: [MergePolicy] = [.remoteWins, .fieldByField, .localWins]

  /// Begins an awaited save during the first request, which continues once the save is durable here.
  private func awaiting(_ pair: Pair, _ note: Note) -> Task<SaveResult<Note>, any Error> {
    let (began, begin) = AsyncStream<Void>.makeStream()
    let (saved, save) = AsyncStream<Void>.makeStream()
    let (store, calls) = (pair.a.store, Calls())
    let task = Task {
      defer { save.finish() }
      for await _ in began {}
      let receipt = try await store.save(note, policy: .local)
      save.finish()
      return try await receipt.result(within: .seconds(1000))
    }
    pair.a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      begin.finish()
      for await _ in saved {}
      // The awaited save has had the chance to push.
      for _ in 0..<200 { await Task.yield() }
    }
    return task
  }

  @Test("An awaited save beside an online save of the record loses neither", arguments: policies)
  func both(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing(policy: policy)
    var note = try #require(try pair.a.note())
    var other = note
    (note.title, note.score) = ("mine", 1)
    (other.note, other.score) = ("awaited", 10)
    let awaited = awaiting(pair, other)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    let result = try await awaited.value
    if case .accepted = result.verdict {} else { Issue.record("\(result.verdict)") }
    #expect(result.record?.title == "mine" && result.record?.score == 11)
    #expect(try await pair.server("T1") == ["title": "mine", "note": "awaited", "score": 11])
    #expect(try await pair.isEven())
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  @Test("A save of a value read before an online save loses neither", arguments: policies)
  func after(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing(policy: policy)
    var note = try #require(try pair.a.note())
    var other = note
    (note.title, note.score) = ("mine", 1)
    (other.note, other.score) = ("awaited", 10)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    let result = try await pair.a.store.save(other, policy: .local).result(within: .seconds(1000))
    if case .accepted = result.verdict {} else { Issue.record("\(result.verdict)") }
    #expect(try await pair.server("T1") == ["title": "mine", "note": "awaited", "score": 11])
    #expect(try await pair.isEven())
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty)
  }

  @Test("An awaited save waits for an unanswered one, and both count once")
  func unanswered() async throws {
    let pair = try await Pair.sharing(policy: .remoteWins)
    pair.a.remote.plan(.lostAnswer, on: .operations, times: 1)
    var note = try #require(try pair.a.note())
    var other = note
    (note.title, note.score) = ("mine", 1)
    (other.note, other.score) = ("awaited", 10)
    let awaited = awaiting(pair, other)
    try await pair.a.store.save(note, options: .saving(.remoteThenLocal))
    let result = try await awaited.value
    if case .accepted = result.verdict {} else { Issue.record("\(result.verdict)") }
    #expect(try await pair.server("T1") == ["title": "mine", "note": "awaited", "score": 11])
    #expect(try await pair.isEven())
  }

  @Test("An awaited save beside an online deletion recreates the record", arguments: policies)
  func deletion(policy: MergePolicy) async throws {
    let pair = try await Pair.sharing(policy: policy)
    var note = try #require(try pair.a.note())
    note.note = "awaited"
    let awaited = awaiting(pair, note)
    try await pair.a.store.delete(.note(), options: .saving(.remoteThenLocal))
    _ = try await awaited.value
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["note"] == "awaited")
    #expect(try pair.a.note()?.note == "awaited")
  }

  @Test("An awaited save of another record overtakes an online save that hangs")
  func other() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    let request = HeldRequest(of: pair.a)
    let store = pair.a.store
    let online = Task { try await store.save(Note(id: "T1", "mine"), options: .saving(.remoteThenLocal)) }
    await request.waitUntilSent()
    let result = try await store.save(Note(id: "T2", "other"), policy: .local).result(within: .seconds(1000))
    if case .accepted = result.verdict {} else { Issue.record("\(result.verdict)") }
    request.release()
    _ = try await online.value
    #expect(try await pair.isEven())
  }

  @Test("An awaited save waits for another no longer than its limit")
  func limit() async throws {
    let clock = VirtualClock()
    let pair = try await Pair.sharing { $0.clock = clock }
    let request = HeldRequest(of: pair.a)
    let store = pair.a.store
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let (online, awaited) = (note, note)
    let save = Task { try await store.save(online, options: .saving(.remoteThenLocal)) }
    await request.waitUntilSent()
    let waiting = Task { try await store.save(awaited, policy: .local).result(within: .seconds(5)) }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: BothyError.self) { try await waiting.value }
    #expect(error?.code == .unreachable)
    #expect(try store.isPending(.note()))
    request.release()
    _ = try await save.value
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "mine")
  }
}
