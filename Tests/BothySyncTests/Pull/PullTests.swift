import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Pulling in pages", .faultsStrike, .timeLimit(.minutes(5)))
struct PullTests {
  /// Promises: Scenario-15
  @Test("A first pull interrupted after any page continues there, even after restarts")
  func interrupted() async throws {
    for lost in 1...6 {
      let pair = try Pair { $0.pageSize = 4 }
      for number in 0..<22 { try pair.b.insert("N\(100 + number)", "n") }
      await pair.b.store.sync()
      pair.a.loseConnection(after: lost - 1)
      let first = await pair.a.store.sync()
      #expect((first.obstacle == nil) == (lost > 6))
      // Records of an incomplete pull are not visible.
      #expect(try pair.a.noteIDs().isEmpty)
      #expect(try pair.a.store.diagnose().findings.isEmpty)
      try pair.a.restart()
      pair.a.remote.forgetRequests()
      pair.a.remote.setScript { .none }
      await pair.a.store.sync()
      #expect(pair.a.remote.requests.count == 7 - lost, "lost request \(lost)")
      #expect(try await pair.isEven())
    }
  }

  /// Promises: Scenario-15
  @Test("Records changed together are never seen half, however small the pages are")
  func torn() async throws {
    let pair = try await Pair.sharing(["A", "B"]) { $0.pageSize = 1 }
    let pages = Calls()
    let torn = Calls()
    pair.a.remote.setDuringExchange { [store = pair.a.store.store] in
      pages.add()
      do {
        let titles = try await store.read { transaction in
          try ["A", "B"].map { try transaction.fetch(Note.self, id: $0)?.title }
        }
        if titles[0] != titles[1] { torn.add() }
      } catch { Issue.record(error) }
    }
    for round in 0..<5 {
      try pair.b.change { transaction in
        for id in ["A", "B"] { _ = try transaction.update(Note.self, id: id) { $0.title = "round \(round)" } }
      }
      await pair.b.store.sync()
      await pair.a.store.sync()
      #expect(try pair.a.title("A") == "round \(round)")
    }
    #expect(pages.count >= 10)
    #expect(torn.count == 0)
  }

  /// Promises: Scenario-15
  @Test("Local edits during a first pull are kept")
  func editsWhileFilling() async throws {
    let pair = try Pair(policy: .fieldByField) { $0.pageSize = 2 }
    for number in 0..<6 { try pair.b.insert("N\(number)", "n") }
    await pair.b.store.sync()
    pair.a.loseConnection(after: 2)
    await pair.a.store.sync()
    try pair.a.insert("mine", "mine")
    pair.a.remote.setScript { .none }
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    #expect(try pair.a.noteIDs().count == 7)
  }

  /// Promises: Scenario-18
  @Test("After an epoch change all records are compared again and unsynced edits stay", arguments: [1, 1000])
  func epoch(pageSize: Int) async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"]) { $0.pageSize = pageSize }
    try pair.a.retitle("T1", "edited")
    try pair.a.remove("T2")
    try pair.a.insert("T9", "new")
    try await pair.world.storage.startEpoch(space: "test")
    await pair.a.store.sync(.pull)
    #expect(try pair.a.title("T1") == "edited")
    #expect(try pair.a.note("T2") == nil)
    #expect(try pair.a.title("T9") == "new")
    #expect(try pair.a.store.outboxEntries().count == 3)
    await pair.a.store.sync()
    #expect(try await pair.serverTitle("T1") == "edited")
    #expect(try await pair.server("T2") == nil)
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-17
  @Test(
    "A device away longer than tombstones drops deleted records and keeps its edits")
  func floor() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"], policy: .localWins)
    try pair.b.remove("T2")
    try pair.b.remove("T3")
    await pair.b.store.sync()
    try await pair.world.storage.compact(space: "test", upTo: 100)
    try pair.a.retitle("T3", "edited")
    await pair.a.store.sync()
    #expect(try pair.a.note("T2") == nil)
    #expect(try await pair.serverTitle("T3") == "edited")
    #expect(try await pair.isEven())
  }

  @Test("A scope contains its container and descendants, and a pull leaves others alone")
  func scopes() async throws {
    let pair = try Pair()
    try pair.b.change { transaction in
      for path in ["trips", "trips/oslo", "trips/oslo/day1", "tripsy", "other"] {
        try transaction.insert(Note(id: path, "n"), in: path)
      }
    }
    await pair.b.store.sync()
    await pair.a.store.sync(.pull, container: "trips")
    #expect(try pair.a.noteIDs() == ["trips", "trips/oslo", "trips/oslo/day1"])
    let scope = SyncScope(container: "trips", includesChildren: true)
    let remote = try await pair.a.store.maintenance.remoteDigest(scope)
    #expect(try pair.a.store.digest(scope).digest == remote.digest)
    #expect(try pair.a.store.containers().map(\.scope) == [scope])
  }

  /// Promises: S-4, S-82
  @Test("The completeness of a fetch follows from complete pulls")
  func completeness() async throws {
    let pair = try await Pair.sharing()
    let options = RequestOptions(readPolicy: .local)
    pair.world.time.advance(by: 5_000)
    let known = try await pair.a.store.fetchResult(RecordQuery<Note>(), options: options)
    #expect(known.isComplete && known.age == .seconds(5))
    let fresh = try Pair()
    let unknown = try await fresh.a.store.fetchResult(RecordQuery<Note>(), options: options)
    #expect(!unknown.isComplete && unknown.age == nil)
  }
}
