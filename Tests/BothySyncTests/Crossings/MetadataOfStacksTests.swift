import BothyStore
import BothySync
import BothyTesting
import Synchronization
import Testing

@Suite("Metadata of stacked changes", .faultsStrike, .timeLimit(.minutes(5)))
struct MetadataOfStacksTests {
  private let one = RecordID(type: "Memo", id: "1")
  private let two = RecordID(type: "Memo", id: "2")

  private func expectSame(_ world: SimulatedWorld, _ device: SimulatedDevice) async throws {
    #expect(try device.store.outboxEntries().isEmpty)
    let here = try #require(try device.record("Memo", "1"))
    let there = try #require(try await world.serverRecords()[one])
    #expect(here.metadata == there.metadata)
    // Neither another sync nor a repair that finds everything equal corrects it.
    await device.store.sync()
    #expect(try device.record("Memo", "1")?.metadata.owner == "tester")
  }

  /// Creates a record, changes it in a transaction, and changes it in another one after the response was lost.
  @Test(
    "A record changed by transactions has the server's metadata",
    arguments: [FaultyRemote.Fault.lostAnswer, .lostRequest])
  func madeChangedChanged(fault: FaultyRemote.Fault) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    await a.store.sync()
    try a.put("Memo", "1", ["title": .text("one")])
    world.time.advance(by: 1000)
    try a.atomic {
      _ = try $0.update(one, fields: ["title": .text("two")])
      try $0.insert(AnyRecord("Memo", id: "2", ["title": .text("beside")]))
    }
    a.remote.plan(fault)
    await a.store.sync()
    a.remote.setScript { .none }
    world.time.advance(by: 1000)
    try a.atomic { _ = try $0.update(one, fields: ["title": .text("three")]) }
    world.time.advance(by: 1000)
    await a.store.sync()
    try await expectSame(world, a)
  }

  /// Undoes a deletion with its transaction, for a record that wasn't sent yet.
  @Test("An undone deletion restores the metadata")
  func deletionUndone() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    await a.store.sync()
    try a.put("Memo", "1", ["title": .text("one")])
    world.time.advance(by: 1000)
    try a.atomic {
      try $0.insert(AnyRecord("Memo", id: "2", ["title": .text("beside")]))
      _ = try $0.delete(one)
    }
    world.time.advance(by: 1000)
    try a.store.resolve(two, .revert)
    #expect(try a.record("Memo", "1")?.metadata.created != nil)
    await a.store.sync()
    try await expectSame(world, a)
  }

  /// Deletes a record and creates it again before a sync.
  @Test("A recreated record has the server's metadata", arguments: [false, true])
  func madeAgain(together: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1))
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    world.time.advance(by: 60_000)
    let body: (WriteTransaction) throws -> Void = {
      _ = try $0.delete(one)
      try $0.insert(AnyRecord("Memo", id: "1", ["title": .text("again")]))
    }
    if together { try a.atomic(body) } else { try a.change(body) }
    await a.store.sync()
    try await expectSame(world, a)
  }
}

@Suite("Metadata of changes sent in one request or several", .faultsStrike, .timeLimit(.minutes(5)))
struct MetadataOfStacksMoreTests {
  private let one = RecordID(type: "Memo", id: "1")

  /// Sends all changes without a fault, in one request or in two.
  @Test("A record changed by transactions has the server's metadata", arguments: [2, 500], [false, true])
  func madeChangedChanged(batch: Int, two: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", memo(1)) { $0.batchSize = batch }
    await a.store.sync()
    try a.put("Memo", "1", ["title": .text("one")])
    world.time.advance(by: 1000)
    try a.atomic { _ = try $0.update(one, fields: ["title": .text("two")]) }
    world.time.advance(by: 1000)
    if two { try a.atomic { _ = try $0.update(one, fields: ["title": .text("three")]) } }
    world.time.advance(by: 1000)
    await a.store.sync()
    let there = try #require(try await world.serverRecords()[one])
    #expect(try a.record("Memo", "1")?.metadata == there.metadata)
  }
}
