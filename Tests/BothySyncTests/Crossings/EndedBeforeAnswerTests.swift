import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import GRDB
import Synchronization
import Testing

/// Changes that end here while their answer is under way: purged, or undone by the process that waited for it.
@Suite("Changes that end before their answer", .faultsStrike, .timeLimit(.minutes(5)))
struct EndedBeforeAnswerTests {
  /// Runs a body once, after the server has carried out A's next exchange with operations.
  private func beforeAnswer(_ pair: Pair, _ body: @escaping @Sendable (SyncedStore) async throws -> Void) {
    let (calls, store) = (Calls(), pair.a.store)
    pair.a.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do { try await body(store) } catch { Issue.record(error) }
    }
  }

  @Test("A purge during a push leaves no member of the transaction stale")
  func purged() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["T1", "T2"] { _ = try transaction.update(Note.self, id: id) { $0.title = "together" } }
    }
    beforeAnswer(pair) { try $0.purge(.note("T1"), includingPending: true) }
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    for id in ["T1", "T2"] {
      #expect(try await pair.serverTitle(id) == "together")
      #expect(try pair.a.title(id) == "together")
    }
  }

  @Test("A save that is purged while the server accepts it returns", arguments: [false, true])
  func single(isDeletion: Bool) async throws {
    let pair = try await Pair.sharing(["T1"])
    if isDeletion { try pair.a.remove("T1") } else { try pair.a.retitle("accepted") }
    beforeAnswer(pair) { try $0.purge(.note("T1"), includingPending: true) }
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == (isDeletion ? nil : "accepted"))
    #expect(try pair.a.title() == (isDeletion ? nil : "accepted"))
  }

  // One process saves on the server alone, and its request is lost or refused. Another one has sent the same operation
  // meanwhile, and hears of it after the first has undone the save.
  @Test(
    "An answer after the save was undone ends its doubt and brings the record",
    arguments: [FaultyRemote.Fault.lostRequest, .status(429, retryAfter: nil), .status(403, retryAfter: nil)])
  func undone(fault: FaultyRemote.Fault) async throws {
    let pair = try await Pair.sharing(["T1"])
    let service = pair.world.service
    let remote = FaultyRemote(
      InProcessRemote(space: pair.world.space, user: Caller("tester")) { service })
    let second = try SyncedStore(
      at: pair.a.path, schema: .notes, remote: remote, configuration: .quiet)
    var note = try #require(try pair.a.note())
    note.title = "made"
    let made = note
    let (isAnswered, answered) = AsyncStream<Void>.makeStream()
    let (isUndone, undone) = AsyncStream<Void>.makeStream()
    remote.setDuringExchange {
      answered.finish()
      for await _ in isUndone {}
    }
    pair.a.remote.plan(fault, on: .operations, times: 1)
    let syncing = Mutex<Task<SyncReport, Never>?>(nil)
    pair.a.remote.setBeforeSending { _ in
      let task = Task { await second.sync() }
      syncing.withLock { $0 = task }
      for await _ in isAnswered {}
    }
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.save(made, policy: .remote) }
    #expect(error?.message.contains("may have made the change of Note/T1") == true)
    pair.a.remote.setBeforeSending { _ in }
    #expect(try pair.a.title() == "start")
    undone.finish()
    _ = await syncing.withLock { $0 }?.value
    await second.sync()
    #expect(try pair.a.title() == "made")
    #expect(try await pair.isEven())
    let last = try #require(try pair.a.store.journal.entries(of: .note("T1")).first)
    if case .accepted = last.outcome {} else { Issue.record("\(last)") }
    let doubts = try await pair.a.store.store.read {
      try Int.fetchOne($0.database, sql: "SELECT count(*) FROM bothy_doubt")
    }
    #expect(doubts == 0)
  }
}
