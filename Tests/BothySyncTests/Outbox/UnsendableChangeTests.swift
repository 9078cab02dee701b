import BothyStore
import BothySync
import BothyTesting
import Testing

/// Changes that no server accepts as they are, because a file of an older version has a value that is nested too deep.
@Suite("Changes that can't be sent", .timeLimit(.minutes(5)))
struct UnsendableChangeTests {
  private let one = UnreadableRecordStories.page("P1")

  private func device(
    _ world: SimulatedWorld, _ configure: (inout SyncOptions) -> Void = { _ in }
  ) throws -> SimulatedDevice {
    try world.device("a", UnreadableRecordStories.schema, configure)
  }

  /// Gives P1 the value as its row, without the checks of a save.
  private func nest(_ device: SimulatedDevice) throws {
    let sql = "UPDATE Page SET meta = '\(UnreadableRecordStories.nested(33))' WHERE _id = 'P1'"
    try device.change { try PreparedStatement(sql, in: $0.database).run() }
  }

  private func insertBoth(_ device: SimulatedDevice) throws {
    try device.atomic {
      try $0.insert(AnyRecord("Page", id: "P1", ["title": .text("one")]))
      try $0.insert(AnyRecord("Page", id: "P2", ["title": .text("two")]))
    }
  }

  @Test("A stacked change that can't be sent keeps nothing from those beneath it")
  func stacked() async throws {
    let world = try SimulatedWorld()
    let a = try device(world)
    try insertBoth(a)
    try a.set("Page", "P1", ["meta": .json("1")])
    try nest(a)
    let report = await a.store.sync()
    #expect(report.obstacle == nil && report.pushed == 2)
    #expect(report.rejected.map(\.record) == [one])
    #expect(try await world.server("Page", "P1") == ["title": "one"])
    #expect(try a.store.rejectedEntries().map(\.id) == [one])
    try a.set("Page", "P1", ["meta": .json("[1]")])
    #expect(await a.store.sync().pushed == 1)
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try await world.server("Page", "P1")?["meta"] == [1])
  }

  @Test("An edit made before cures a transaction that can't be sent")
  func cured() async throws {
    let world = try SimulatedWorld()
    let a = try device(world)
    try insertBoth(a)
    try nest(a)
    try a.set("Page", "P1", ["meta": .json("2")])
    for _ in 0..<3 { await a.store.sync() }
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try await world.server("Page", "P1") == ["title": "one", "meta": 2])
    #expect(try await world.server("Page", "P2") == ["title": "two"])
  }

  @Test("The rejection policy applies to changes that can't be sent")
  func discarded() async throws {
    let world = try SimulatedWorld()
    let a = try device(world) { $0.rejectionPolicy = .discardAndRefetch }
    try a.put("Page", "P1", ["title": .text("one"), "meta": .json("1")])
    await a.store.sync()
    try a.set("Page", "P1", ["title": .text("two")])
    try nest(a)
    let report = await a.store.sync()
    #expect(report.rejected.map(\.record) == [one])
    #expect(report.overwritten.map(\.record) == [one])
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try a.record("Page", "P1")?["title"] == .text("one"))
    #expect(try a.record("Page", "P1")?["meta"] == .json("1"))
  }

  @Test("A change that can't be sent waits for a decision at once")
  func quarantined() async throws {
    let world = try SimulatedWorld()
    let a = try device(world)
    try a.put("Page", "P1", ["title": .text("one")])
    try nest(a)
    for round in 0..<2 { #expect(await a.store.sync().rejected.count == 1 - round) }
    #expect(try a.store.state(of: one).name == "quarantined")
  }
}
