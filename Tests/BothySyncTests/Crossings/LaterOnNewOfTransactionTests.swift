import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Changes on top of a record whose transaction gave way", .timeLimit(.minutes(5)))
struct LaterOnNewOfTransactionTests {
  private let sale = RecordID(type: "Memo", id: "sale")

  /// Writes a sale and the account that pays for it in one transaction, which gives way because the account was changed
  /// elsewhere.
  private func story(
    resolve: Bool = false, _ later: (SimulatedDevice) async throws -> Void
  ) async throws -> (SimulatedWorld, SimulatedDevice) {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1), policy: .remoteWins)
    let b = try world.device("b", memo(1))
    try b.put("Memo", "account", ["title": .text("100")])
    await b.store.sync()
    await a.store.sync()
    try b.set("Memo", "account", ["title": .text("70")])
    await b.store.sync()
    try a.atomic {
      try $0.insert(AnyRecord("Memo", id: "sale", ["title": .text("sale of 50")]))
      _ = try $0.update(RecordID(type: "Memo", id: "account"), fields: ["title": .text("50")])
    }
    a.store.options.writePolicy = .local
    try await later(a)
    for _ in 0..<3 { await a.store.sync() }
    return (world, a)
  }

  @Test("Without a change on top, nothing of the transaction stays")
  func nothing() async throws {
    let (world, a) = try await story { _ in }
    #expect(try await world.server("Memo", "account")?["title"] == "70")
    #expect(try await world.server("Memo", "sale") == nil)
    #expect(try a.record("Memo", "sale") == nil)
  }

  @Test("Sharing alone creates no record that gave way")
  func shared() async throws {
    let (world, a) = try await story { try await $0.store.sharing.share(sale, with: .users("bob")) }
    #expect(try await world.server("Memo", "account")?["title"] == "70")
    #expect(try await world.server("Memo", "sale") == nil)
    #expect(try a.record("Memo", "sale") == nil)
  }

  @Test("Moving alone creates no record that gave way")
  func moved() async throws {
    let (world, _) = try await story { d in
      try d.change { _ = try $0.move(sale, to: "drawer") }
    }
    #expect(try await world.server("Memo", "account")?["title"] == "70")
    #expect(try await world.server("Memo", "sale") == nil)
  }
}
