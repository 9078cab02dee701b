import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Edits while a push is on its way", .faultsStrike, .timeLimit(.minutes(5)))
struct InFlightScenario {
  /// Promises: Scenario-4, H-43
  @Test(
    "An edit during a push stays pending, based on the server's new version"
  )
  func editInFlight() async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(policy: .counting(calls))
    let answered = Latch()
    pair.a.remote.setDuringExchange { await answered.pass() }
    try pair.a.retitle("sent")
    // A scope that only pushes makes one exchange, so that the state after it is visible.
    let a = pair.a.store
    let syncing = Task { await a.sync(.push) }
    await answered.reached()
    try pair.a.retitle("meanwhile")
    try pair.a.edit { $0.score += 1 }
    let during = try #require(try pair.a.store.outboxEntries().first)
    #expect(during.operationID != nil, "it is in doubt until the answer comes")
    #expect(during.base?.version == "1")
    pair.a.remote.plan(.lostRequest)
    pair.a.remote.setDuringExchange {}
    answered.open()
    _ = await syncing.value
    let entry = try #require(try pair.a.store.outboxEntries().first)
    let version = try #require(try await pair.world.serverRecords()[.note()]?.version)
    #expect(entry.base?.version == version)
    #expect(try entry.base?.fields.members()["title"] == "sent")
    #expect(try pair.a.title() == "meanwhile")
    #expect(try await pair.serverTitle() == "sent")
    pair.a.remote.setScript { .none }
    pair.a.remote.forgetRequests()
    await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(pair.a.operations.last?.fields == ["title": "meanwhile", "score": 1])
    #expect(try await pair.serverTitle() == "meanwhile")
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-4
  @Test(
    "A deletion and a new record with its id win after a concurrent push")
  func deletionInFlight() async throws {
    for madeAgain in [false, true] {
      let pair = try await Pair.sharing()
      let answered = Latch()
      pair.a.remote.setDuringExchange { await answered.pass() }
      try pair.a.retitle("sent")
      let a = pair.a.store
      let syncing = Task { await a.sync() }
      await answered.reached()
      try pair.a.remove()
      if madeAgain { try pair.a.insert("T1", "again") }
      answered.open()
      _ = await syncing.value
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle() == (madeAgain ? "again" : nil))
    }
  }
}
