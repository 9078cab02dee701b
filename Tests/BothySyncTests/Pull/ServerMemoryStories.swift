import BothyStore
import BothySync
import BothyTesting
import Testing

/// A record with pending changes takes the state of the last pull when those changes end.
@Suite("The last known server state", .faultsStrike, .timeLimit(.minutes(5)))
struct ServerMemoryStories {
  private func bank() async throws -> Pair {
    let pair = try Pair(schema: .bank)
    try pair.b.open(["x": 100, "y": 100])
    await pair.b.store.sync()
    await pair.a.store.sync()
    return pair
  }

  private func set(_ id: String, to balance: Int, on device: SimulatedDevice) throws {
    try device.change { _ = try $0.update(BankAccount.self, id: id) { $0.balance = balance } }
  }

  @Test("A transaction that gives way takes the state of an earlier pull")
  func givesWay() async throws {
    let pair = try await bank()
    try set("x", to: 77, on: pair.b)
    await pair.b.store.sync()
    try set("x", to: 90, on: pair.a)
    await pair.a.store.sync(.pull)
    try pair.a.transfer(5, from: "x", to: "y")
    for _ in 0..<3 { await pair.a.store.sync() }
    #expect(try await pair.world.serverBalances() == ["x": 77, "y": 100])
    #expect(try pair.a.balances() == ["x": 77, "y": 100])
    #expect(try await pair.isEven())
  }

  @Test("A new record in a transaction that gives way keeps the server's state")
  func insertGivesWay() async throws {
    let pair = try await bank()
    try pair.a.put(AnyRecord("BankAccount", id: "w", ["balance": .int(1)]))
    pair.a.loseAnswer(carrying: "w")
    await pair.a.store.sync(.push)
    await pair.b.store.sync()
    try set("w", to: 50, on: pair.b)
    try set("x", to: 77, on: pair.b)
    await pair.b.store.sync()
    await pair.a.store.sync(.pull)
    try pair.a.transfer(5, from: "x", to: "w")
    for _ in 0..<3 { await pair.a.store.sync() }
    #expect(try await pair.world.serverBalances() == ["x": 77, "y": 100, "w": 50])
    #expect(try pair.a.balances() == ["x": 77, "y": 100, "w": 50])
    #expect(try await pair.isEven())
  }

  @Test("A record in a transaction that gives way disappears if other devices deleted it")
  func deletedGivesWay() async throws {
    let pair = try await bank()
    try set("x", to: 90, on: pair.a)
    try pair.b.change { _ = try $0.delete(BankAccount.self, id: "x") }
    await pair.b.store.sync()
    await pair.a.store.sync(.pull)
    try pair.a.transfer(5, from: "x", to: "y")
    for _ in 0..<3 { await pair.a.store.sync() }
    #expect(try pair.a.balances() == ["y": 100])
    #expect(try await pair.isEven())
  }

  @Test("An insert with a lost response leaves no ghost after deletion and snapshot")
  func ghost() async throws {
    let pair = try await Pair.sharing()
    try pair.a.insert("T9", "mine")
    pair.a.loseAnswer(carrying: "T9")
    await pair.a.store.sync(.push)
    await pair.b.store.sync()
    try pair.b.remove("T9")
    await pair.b.store.sync()
    _ = try pair.a.store.purge(.note("T1"))
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["T1"])
    #expect(try await pair.isEven())
  }

  @Test("An edit that is reverted after a snapshot without its record leaves no ghost")
  func undone() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.a.retitle("T2", "mine")
    try pair.b.remove("T2")
    await pair.b.store.sync()
    _ = try pair.a.store.purge(.note("T1"))
    await pair.a.store.sync(.pull)
    #expect(try pair.a.title("T2") == "mine")
    #expect(try pair.a.store.resolve(.note("T2"), .revert))
    #expect(try pair.a.noteIDs() == ["T1"])
    #expect(try await pair.isEven())
  }

  @Test("A record that moved within one snapshot is not taken for deleted")
  func movedWithinSnapshots() async throws {
    let scopes = ["trips/oslo", "trips/rome"].map { SyncScope(container: $0) }
    for order in [scopes, scopes.reversed()] {
      let pair = try Pair(policy: .fieldByField)
      try pair.a.restart(configuration: .following(order, .fieldByField))
      try pair.b.change { transaction in
        for id in ["T1", "T2"] { try transaction.insert(Note(id: id, "start"), in: "trips/oslo") }
      }
      await pair.b.store.sync()
      await pair.a.store.sync()
      try await pair.b.store.move(.note("T1"), to: "trips/rome")
      await pair.b.store.sync()
      try pair.a.edit("T1") { $0.note = "mine" }
      _ = try pair.a.store.purge(.note("T2"))
      await pair.a.store.sync(.pull)
      #expect(try pair.a.store.resolve(.note("T1"), .revert))
      #expect(try pair.a.record("Note", "T1")?.container == "trips/rome")
      #expect(try pair.a.noteIDs() == ["T1", "T2"])
    }
  }

  @Test("A record that is moved back into the subscription stays here")
  func movedBack() async throws {
    let oslo = SyncScope(container: "trips/oslo", includesChildren: true)
    let pair = try Pair(policy: .localWins)
    try pair.a.restart(configuration: .following([oslo], .localWins))
    try pair.b.change { try $0.insert(Note(id: "T1", "start"), in: "trips/oslo") }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.retitle("mine")
    try await pair.b.store.move(.note("T1"), to: "trips/rome")
    await pair.b.store.sync()
    await pair.a.store.sync(.pull)
    try await pair.a.store.move(.note("T1"), to: "trips/oslo/day2")
    for _ in 0..<2 { await pair.a.store.sync() }
    #expect(try await pair.world.serverRecords()[.note("T1")]?.container == "trips/oslo/day2")
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.record("Note", "T1")?.container == "trips/oslo/day2")
    #expect(
      try pair.a.store.digest(oslo).digest == (try await pair.a.store.maintenance.remoteDigest(oslo)).digest)
  }

  @Test("A device that first pulled an empty space learns which records left its scope")
  func firstPosition() async throws {
    let inbox = SyncScope(container: "inbox")
    let pair = try Pair()
    try pair.a.restart(configuration: .following([inbox]))
    await pair.a.store.sync()
    try pair.a.change { try $0.insert(Note(id: "T1", "start"), in: "inbox") }
    await pair.a.store.sync(.push)
    await pair.b.store.sync()
    try await pair.b.store.move(.note("T1"), to: "archive")
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs().isEmpty)
  }

  @Test("A record moved out of the subscription disappears even if a conflict reports it")
  func movedAwayByOthers() async throws {
    let oslo = SyncScope(container: "trips/oslo", includesChildren: true)
    let pair = try Pair()
    try pair.a.restart(configuration: .following([oslo]))
    try pair.b.change { try $0.insert(Note(id: "T1", "start"), in: "trips/oslo") }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.retitle("mine")
    try await pair.b.store.move(.note("T1"), to: "trips/rome")
    await pair.b.store.sync()
    for _ in 0..<2 { await pair.a.store.sync() }
    #expect(try pair.a.noteIDs().isEmpty)
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }
}
