import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Saves in cancelled tasks.
@Suite("Cancelled saves", .faultsStrike, .timeLimit(.minutes(5)))
struct CancelledSaveTests {
  private static let online: [WritePolicy] = [.remoteThenLocal, .remote]

  /// Cancels the task of `body` during its first request, before or after the server has received it. The request
  /// continues at once, or only when `body` has returned if that doesn't wait for it.
  private func cancelling<Value: Sendable>(
    _ pair: Pair, afterAnswer: Bool, waits: Bool = true,
    _ body: @escaping @Sendable (SyncedStore) async throws -> Value
  ) async -> Result<Value, any Error> {
    let (began, begin) = AsyncStream<Void>.makeStream()
    let (held, release) = AsyncStream<Void>.makeStream()
    let calls = Calls()
    let hold: @Sendable () async -> Void = {
      guard calls.add() == 1 else { return }
      begin.finish()
      // A cancelled task continues here, like a request that is already sent.
      await Task { for await _ in held {} }.value
    }
    if afterAnswer {
      pair.a.remote.setDuringExchange(hold)
    } else {
      pair.a.remote.setBeforeSending { _ in await hold() }
    }
    let store = pair.a.store
    let task = Task { try await body(store) }
    for await _ in began {}
    task.cancel()
    if !waits { _ = await task.result }
    release.finish()
    return await task.result
  }

  @Test(
    "A cancelled awaited save is kept, and reports that the next sync sends it", arguments: [false, true])
  func kept(afterAnswer: Bool) async throws {
    let pair = try await Pair.sharing()
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let edited = note
    let result = await cancelling(pair, afterAnswer: afterAnswer, waits: false) {
      try await $0.save(edited, policy: .local).result(within: .seconds(1000))
    }
    guard case .failure(let error as BothyError) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(error.code == .cancelled)
    let message = error.message
    #expect(message.contains("is kept here") && message.contains("The next sync sends it."))
    #expect(try pair.a.title() == "mine")
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "mine")
  }

  @Test("An online save that has begun is completed", arguments: online, [false, true])
  func carriedThrough(save: WritePolicy, afterAnswer: Bool) async throws {
    let pair = try await Pair.sharing(policy: .remoteWins)
    var note = try #require(try pair.a.note())
    (note.title, note.score) = ("mine", 5)
    let edited = note
    let receipt = try await cancelling(pair, afterAnswer: afterAnswer) {
      try await $0.save(edited, options: .saving(save))
    }.get()
    if case .accepted = receipt.known {} else { Issue.record("\(receipt.state)") }
    #expect(try await pair.serverTitle() == "mine")
    if save == .remoteThenLocal { #expect(try pair.a.title() == "mine") }
    note.note = "more"
    try await pair.a.store.save(note, options: .saving(save))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "mine", "note": "more", "score": 5])
  }

  @Test("A cancelled online save without a response is kept here, or reports its loss")
  func withoutAnswer() async throws {
    for save in Self.online {
      let pair = try await Pair.sharing()
      pair.a.remote.plan(.lostRequest, on: .operations, times: 1)
      var note = try #require(try pair.a.note())
      note.title = "mine"
      let edited = note
      let result = await cancelling(pair, afterAnswer: false) {
        try await $0.save(edited, options: .saving(save))
      }
      switch save {
      case .remoteThenLocal:
        #expect(try result.get().known == .pending)
        #expect(try await pair.isEven())
        #expect(try await pair.serverTitle() == "mine")
      default:
        let error = #expect(throws: BothyError.self) { try result.get() }
        #expect(error?.code == .unreachable)
      }
    }
  }

  @Test(
    "A task that is cancelled before its save changes nothing, here or there")
  func notBegun() async throws {
    let pair = try await Pair.sharing { $0.localFailure = .tryRemote }
    let store = pair.a.store
    for save in Self.online + [.localThenRemote] {
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        try await store.save(Note(id: "T1", "never"), options: .saving(save))
      }
      task.cancel()
      let result = await task.result
      #expect(throws: (any Error).self) { try result.get() }
    }
    #expect(pair.a.operations.isEmpty)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "start")
  }

  @Test("A cancelled receipt reports why it has no verdict")
  func waiting() async throws {
    let pair = try await Pair.sharing()
    var note = try #require(try pair.a.note())
    note.title = "mine"
    let receipt = try await pair.a.store.save(note)
    let outcome = try await cancelling(pair, afterAnswer: false, waits: false) { _ in
      try await receipt.outcome(within: .seconds(1000))
    }.get()
    #expect(outcome == .pending)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == "mine")
  }
}
