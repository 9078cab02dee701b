import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Differences that no change announced, which digests find, narrow down, repair and report.
@Suite("Digest and repair", .timeLimit(.minutes(5)))
struct RepairTests {
  /// Returns two devices that share `count` notes with the server.
  private func pair(_ count: Int = 40) async throws -> Pair {
    try await Pair.sharing((0..<count).map { "T\(1000 + $0)" })
  }

  /// Changes a row of `a` to content that the server never sent.
  private func damage(_ pair: Pair, _ id: String, _ title: String) throws {
    try pair.a.store.damage { transaction in
      let table = try transaction.catalog.table("Note")
      guard var row = try transaction.row(table, id: id) else { return }
      row.values[0] = .text(title)
      try transaction.put(table, id: id, row)
    }
  }

  @Test("Without differences, a repair costs one request after the pull")
  func equal() async throws {
    let pair = try await pair(3)
    let reports = try await pair.a.store.maintenance.repairs()
    #expect(reports.map(\.isEqual) == [true])
    #expect(reports.first?.requests == 2 && pair.a.remote.reads == 1)
    #expect(reports.first?.repaired == [])
  }

  @Test("One wrong record among many is located, fetched alone and reported")
  func narrowed() async throws {
    let pair = try await pair(600)
    try damage(pair, "T1234", "wrong")
    let report = try #require(try await pair.a.store.maintenance.repairs().first)
    #expect(report.repaired == [.note("T1234")])
    #expect(report.isEqual)
    #expect(report.compared < 20)
    #expect(report.requests == 4)
    #expect(try pair.a.title("T1234") == "start")
    #expect(try await pair.isEven())
  }

  @Test("A repair deletes extra records, fetches missing ones, corrects wrong ones, spares pending ones")
  func kinds() async throws {
    let pair = try await pair()
    try pair.a.retitle("T1001", "mine")
    try damage(pair, "T1002", "wrong")
    try pair.a.store.damage { transaction in
      let table = try transaction.catalog.table("Note")
      try transaction.evict(table, id: "T1003")
      guard var row = try transaction.row(table, id: "T1004") else { return }
      row.version = "1"
      try transaction.put(table, id: "ghost", row)
    }
    try pair.a.insert("new", "mine too")
    let report = try #require(try await pair.a.store.maintenance.repairs().first)
    #expect(Set(report.repaired) == [.note("T1002"), .note("T1003"), .note("ghost")])
    #expect(report.kept.isEmpty && report.isEqual)
    #expect(try pair.a.title("T1001") == "mine")
    #expect(try pair.a.title("new") == "mine too")
    #expect(try pair.a.note("ghost") == nil)
    #expect(try await pair.isEven())
  }

  @Test(
    "A record with a wrong base keeps its pending change, which is then merged")
  func pendingBase() async throws {
    let pair = try await Pair.sharing(["T1", "T2"], policy: .fieldByField)
    try damage(pair, "T1", "wrong")
    try pair.a.edit { $0.note = "mine" }
    let report = try #require(try await pair.a.store.maintenance.repairs().first)
    #expect(report.repaired.isEmpty)
    #expect(try pair.a.isPending() && pair.a.note()?.note == "mine")
    await pair.a.store.sync()
    #expect(try await pair.server("T1")?["note"] == "mine")
    #expect(try await pair.isEven())
  }

  @Test("A scope is pulled whole if most records differ or parts can't be compared")
  func wholePull() async throws {
    let pair = try await pair(1500)
    try pair.a.store.damage { transaction in
      let table = try transaction.catalog.table("Note")
      for number in 0..<1500 { try transaction.evict(table, id: "T\(1000 + number)") }
    }
    let report = try #require(try await pair.a.store.maintenance.repairs().first)
    #expect(report.isEqual && report.compared == 0)
    #expect(try pair.a.noteIDs().count == 1500)
    #expect(try await pair.isEven())
  }

  @Test("A scope is pulled whole if its stamps are too many for an answer")
  func tooManyStamps() async throws {
    let pair = try await pair()
    var rules = pair.world.service.rules
    rules.answerSize = 60
    pair.world.setRules(rules)
    try pair.a.store.damage { transaction in
      try transaction.evict(transaction.catalog.table("Note"), id: "T1002")
    }
    let report = try #require(try await pair.a.store.maintenance.repairs().first)
    #expect(report.isEqual && report.compared == 0)
    #expect(try pair.a.noteIDs().count == 40)
  }

  @Test("Only the followed part of a scope is compared")
  func scopes() async throws {
    let pair = try await pair(2)
    let oslo = SyncScope(container: "trips/oslo")
    try pair.a.restart(configuration: .following([oslo]))
    await pair.a.store.sync()
    #expect(try await pair.a.store.maintenance.repairs(.everything).map(\.scope) == [oslo])
    #expect(try await pair.a.store.maintenance.repairs(SyncScope(container: "Note")).isEmpty)
    #expect(try await pair.a.store.maintenance.repairs().map(\.isEqual) == [true])
  }

  @Test("Changes by others during the comparison don't count as damage")
  func movingTarget() async throws {
    let pair = try await pair(5)
    let calls = Calls()
    pair.a.remote.setDuringExchange { [store = pair.b.store] in
      guard calls.add() == 1 else { return }
      do {
        _ = try await store.save(Note(id: "later", "n"), options: RequestOptions(writePolicy: .remote))
      } catch {
        Issue.record(error)
      }
    }
    let report = try #require(try await pair.a.store.maintenance.repairs().first)
    #expect(report.isEqual && report.repaired.isEmpty)
    #expect(try pair.a.title("later") == "n")
  }

  @Test("Without a network, a repair reports so and changes nothing")
  func offline() async throws {
    let pair = try await pair(2)
    try damage(pair, "T1001", "wrong")
    pair.a.remote.isOffline = true
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.maintenance.repairs() }
    #expect(error?.code == .unreachable)
    #expect(try pair.a.title("T1001") == "wrong")
  }
}

extension SyncedStore {
  /// Changes rows without making them pending.
  func damage(_ body: (WriteTransaction) throws -> Void) throws { try store.write(origin: .remote, body) }
}
