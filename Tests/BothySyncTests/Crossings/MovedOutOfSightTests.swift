import BothyStore
import BothySync
import BothyTesting
import Testing

/// Records that leave the subscriptions of a device, and what it says of answers that it had stored in full.
@Suite("Records that are moved out of all subscriptions", .timeLimit(.minutes(5)))
struct MovedOutOfSightTests {
  enum Way: CaseIterable { case ownMove, besideEdit, besideRevertedEdit }

  @Test("An answer that lacks a moved record no longer counts as complete", arguments: Way.allCases)
  func completeness(_ way: Way) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1)) { $0.scopes = [.container("left")] }
    let b = try world.device("b", memo(1))
    for id in ["left", "right"] { try b.put("Memo", id, ["title": .text(id)], in: id) }
    await b.store.sync()
    await a.store.sync()
    let (query, local) = (AnyQuery("Memo"), RequestOptions(readPolicy: .local))
    _ = try await a.store.fetchResult(query, options: .init(readPolicy: .remote))
    let before = try await a.store.fetchResult(query, options: local)
    #expect(before.isComplete && before.count == 2)
    let moved = RecordID(type: "Memo", id: "left")
    if way != .ownMove { try a.set("Memo", "left", ["note": .text("pending")]) }
    try (way == .ownMove ? a : b).change { _ = try $0.move(moved, to: "right") }
    await b.store.sync()
    if way == .besideRevertedEdit {
      await a.store.sync(.pull)
      try a.store.resolve(moved, .revert)
    }
    for _ in 0..<2 { await a.store.sync() }
    #expect(try a.store.outboxEntries().isEmpty)
    let after = try await a.store.fetchResult(query, options: local)
    #expect(after.count == 1 && !after.isComplete && after.age == nil)
    _ = try await a.store.fetchResult(query, options: .init(readPolicy: .remote))
    #expect(try await a.store.fetchResult(query, options: local).isComplete)
  }
}
