import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("The order of operations in doubt", .faultsStrike, .timeLimit(.minutes(5)))
struct OperationOrderTests {
  @Test("Operations that are sent again keep their order: each parent before its child")
  func parentsFirst() async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.batchSize = 500 }
    try pair.a.change { transaction in
      for number in 0..<200 {
        try transaction.insert(.parent("P\(number)"))
        try transaction.insert(.child("C\(number)", of: "P\(number)"))
      }
    }
    await pair.a.store.sync(.pull)
    pair.a.remote.forgetRequests()
    pair.a.loseConnection(after: 0)
    await pair.a.store.sync()
    pair.a.remote.setScript { .none }
    let report = await pair.a.store.sync()
    let sent = pair.a.remote.requests.map { $0.operations.map(\.id) }.filter { !$0.isEmpty }
    #expect(sent.count == 2 && sent.first?.count == 400)
    #expect(sent.first == sent.last)
    #expect(report.rejected.isEmpty && report.blocked.isEmpty)
    #expect(try await pair.world.serverRecords().count == 400)
  }
}
