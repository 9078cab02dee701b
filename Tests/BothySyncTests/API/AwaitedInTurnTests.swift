import BothyStore
import BothySync
import BothyTesting
import Testing

/// Receipts that are awaited one after the other. The request for the first of them takes the others along.
@Suite("Receipts awaited in turn", .timeLimit(.minutes(5)))
struct AwaitedInTurnTests {
  /// Saves new notes on A, `N1` and so on, for a later sync to send.
  private func save(_ count: Int, _ pair: Pair) async throws -> [SaveReceipt<Note>] {
    var receipts: [SaveReceipt<Note>] = []
    for number in 1...count {
      receipts.append(try await pair.a.store.save(Note(id: "N\(number)", "new"), policy: .local))
    }
    return receipts
  }

  private func verify(
    _ receipts: [SaveReceipt<Note>], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for receipt in receipts {
      let verdict = try await receipt.result().verdict
      if case .accepted = verdict { continue }
      Issue.record("\(receipt.record): \(verdict)", sourceLocation: sourceLocation)
    }
  }

  /// Returns the records of each request that A has sent.
  private func sent(_ pair: Pair) -> [[String]] {
    pair.a.remote.requests.map { $0.operations.map(\.record.id) }
  }

  @Test("Many receipts awaited in turn cost one request")
  func together() async throws {
    let pair = try await Pair.sharing()
    try await verify(save(40, pair))
    #expect(sent(pair).map(\.count) == [40])
    #expect(try await pair.isEven())
  }

  @Test("An awaited change comes first in a request, which has room for a batch")
  func first() async throws {
    let pair = try await Pair.sharing { $0.batchSize = 3 }
    try await verify(save(7, pair).reversed())
    #expect(sent(pair) == [["N7", "N1", "N2"], ["N6", "N3", "N4"], ["N5"]])
    #expect(try await pair.isEven())
  }

  @Test("A transaction that fills a request stays whole")
  func atomic() async throws {
    let pair = try await Pair.sharing { $0.batchSize = 3 }
    for pairs in [["G1", "G2"], ["H1", "H2"]] {
      try await pair.a.store.write(.atomic, policy: .local) { transaction in
        for id in pairs { try transaction.insert(Note(id: id, "new")) }
      }
    }
    try await verify(save(1, pair))
    #expect(sent(pair).count == 1)
    #expect([["N1", "G1", "G2"], ["N1", "H1", "H2"]].contains(sent(pair).first))
    #expect(try await pair.isEven())
  }

  @Test("A paused device sends only what is awaited")
  func paused() async throws {
    let pair = try await Pair.sharing()
    let receipts = try await save(3, pair)
    try pair.a.store.pause()
    try await verify([receipts[1]])
    #expect(sent(pair) == [["N2"]])
    try pair.a.store.resume()
    try await verify([receipts[2], receipts[0]])
    #expect(sent(pair) == [["N2"], ["N3", "N1"]])
    #expect(try await pair.isEven())
  }

  @Test("An awaited change travels alone beside a sync that hangs")
  func overtaking() async throws {
    let pair = try await Pair.sharing { $0.batchSize = 2 }
    let store = pair.a.store
    _ = try await save(5, pair)
    let request = HeldRequest(of: pair.a)
    let sync = Task { await store.sync() }
    await request.waitUntilSent()
    try await verify([store.save(Note(id: "T1", "mine"), policy: .local)])
    #expect(sent(pair).filter { $0.contains("T1") } == [["T1"]])
    request.release()
    #expect(await sync.value.obstacle == nil)
    #expect(try await pair.isEven())
  }

  @Test("A draft and a refused change don't travel with an awaited one")
  func waiting() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    let store = pair.a.store
    try await store.save(Note(id: "R1", "refused", note: "no"), policy: .local)
    await store.sync()
    pair.a.remote.forgetRequests()
    try await store.save(Note(id: "D1", "draft"), policy: .draft)
    try await verify(save(2, pair))
    #expect(sent(pair) == [["N1", "N2"]])
    #expect(try store.state(of: .note("D1")) == .draft)
  }
}
