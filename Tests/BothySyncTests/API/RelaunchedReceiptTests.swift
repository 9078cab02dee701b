import BothyStore
import BothySync
import BothyTesting
import Testing

/// Receipts that are made again after a relaunch, of writes that the server has decided about.
@Suite("Receipts after a relaunch", .timeLimit(.minutes(5)))
struct RelaunchedReceiptTests {
  @Test("A receipt has the content that others replaced before the relaunch")
  func replaced() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    try pair.a.retitle("mine")
    await pair.a.store.sync()
    try pair.a.restart()
    let note = try #require(try pair.a.note())
    let result = try await pair.a.store.outbox.receipt(for: note).result()
    guard case .replaced = result.verdict else {
      Issue.record("\(result.verdict)")
      return
    }
    #expect(result.record?.title == "theirs" && result.overwritten?.title == "mine")
  }

  @Test("A receipt has the content of a change that was rejected and undone")
  func discarded() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .discardAndRefetch }
    try pair.a.edit { $0.note = "refused" }
    await pair.a.store.sync()
    try pair.a.restart()
    let note = try #require(try pair.a.note())
    let result = try await pair.a.store.outbox.receipt(for: note).result()
    guard case .rejected = result.verdict else {
      Issue.record("\(result.verdict)")
      return
    }
    #expect(result.record?.note == nil && result.overwritten?.note == "refused")
  }
}
