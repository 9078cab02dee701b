import BothyStore
import BothySync
import BothyTesting
import Testing

/// Two transactions over the same two records, an edit of one of them on top, and another device's edit of the other.
@Suite("Two transactions over the same records", .timeLimit(.minutes(5)))
struct NoProgressForEverTests {
  private let account = RecordID(type: "Memo", id: "account")
  private let sale = RecordID(type: "Memo", id: "sale")

  @Test(
    "A sync of transactions over the same two records ends",
    arguments: [MergePolicy.fieldByField, .remoteWins, .localWins], [false, true])
  func theSyncEnds(policy: MergePolicy, isContested: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1), policy: policy)
    let b = try world.device("b", memo(1))
    try a.put("Memo", "account", ["title": .text("100")])
    await a.store.sync()
    await b.store.sync()
    if isContested {
      try b.set("Memo", "account", ["title": .text("theirs")])
      await b.store.sync()
    }
    try a.atomic {
      _ = try $0.update(account, fields: ["title": .text("90")])
      try $0.insert(AnyRecord("Memo", id: "sale", ["title": .text("first")]))
    }
    try a.atomic {
      _ = try $0.update(account, fields: ["title": .text("80")])
      _ = try $0.update(sale, fields: ["title": .text("second")])
    }
    try a.set("Memo", "sale", ["note": .text("third")])
    var skipped: [SyncStop?] = []
    for _ in 0..<4 {
      world.time.advance(by: 3_600_000)
      a.remote.forgetRequests()
      let report = await a.store.sync()
      skipped.append(report.stop)
      let doubled = a.remote.requests.filter { Set($0.operations.map(\.id)).count < $0.operations.count }
      #expect(doubled.isEmpty, "\(doubled.count) requests have the same operation twice")
    }
    #expect(skipped.allSatisfy { $0 == nil })
    #expect(try a.store.outboxEntries().map(\.id) == [])
    await b.store.sync()
    #expect(try await world.snapshot().unevenness == [])
  }
}
