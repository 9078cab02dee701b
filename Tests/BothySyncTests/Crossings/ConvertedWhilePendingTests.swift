import BothyStore
import BothySync
import BothyTesting
import Testing

/// An update of the app that converts a field, while changes of its records are pending or in doubt.
@Suite("A conversion beside pending changes", .faultsStrike, .timeLimit(.minutes(5)))
struct ConvertedWhilePendingTests {
  private static func schema(_ version: Int, _ count: FieldSchema) -> StoreSchema {
    StoreSchema(
      version: version, types: [TypeSchema("Memo", fields: [FieldSchema("title", .text), count])])
  }

  private static let old = schema(1, FieldSchema("count", .text))
  private static let new = schema(2, FieldSchema("count", .int, merge: .counter))
  private static let steps = [
    Migration(
      to: 2,
      .convertField(type: "Memo", field: "count", from: String.self) { value in
        if case .text(let text) = value { .int(Int64(text) ?? 0) } else { .int(0) }
      })
  ]

  private let one = RecordID(type: "Memo", id: "1")
  private let world: SimulatedWorld
  private let a: SimulatedDevice
  private let b: SimulatedDevice

  /// Creates two devices that have a memo with the count of 2.
  init() async throws {
    world = try SimulatedWorld()
    a = try world.device("a", Self.old)
    b = try world.device("b", Self.old)
    try a.put("Memo", "1", ["title": "one", "count": "2"])
    await a.store.sync()
    await b.store.sync()
  }

  private func update(_ devices: SimulatedDevice...) throws {
    for device in devices { try device.restart(schema: Self.new, migrations: Self.steps) }
  }

  /// Expects that A has nothing pending, and the records of the server.
  private func expectEven() async throws {
    #expect(try a.store.outboxEntries().isEmpty)
    #expect(try await world.serverDigest().digest == a.store.digest().digest)
  }

  /// Promises: Scenario-21, H-56
  @Test(
    "An edit of the field that got no answer reaches the server",
    arguments: [FaultyRemote.Fault.lostRequest, .lostAnswer])
  func inDoubt(fault: FaultyRemote.Fault) async throws {
    try a.set("Memo", "1", ["count": "5"])
    a.remote.plan(fault, on: .operations, times: 1)
    await a.store.sync()
    try update(a)
    await a.store.sync()
    #expect(try a.record("Memo", "1")?["count"] == 5)
    let there: JSONValue = fault == .lostRequest ? 5 : "5"
    #expect(try await world.server("Memo", "1") == ["title": "one", "count": there])
    try await expectEven()
  }

  /// Promises: Scenario-21, H-56
  @Test("A transaction that got no answer keeps its value beneath another")
  func beneath() async throws {
    try a.atomic {
      _ = try $0.update(one, fields: ["count": "5"])
      try $0.insert(AnyRecord("Memo", id: "2", ["title": "two", "count": "0"]))
    }
    a.remote.plan(.lostRequest, on: .operations, times: 1)
    await a.store.sync()
    try a.atomic {
      _ = try $0.update(one, fields: ["title": "mine"])
      try $0.insert(AnyRecord("Memo", id: "3", ["title": "three", "count": "0"]))
    }
    try update(a)
    await a.store.sync()
    #expect(try a.record("Memo", "1")?["count"] == 5)
    #expect(try await world.server("Memo", "1") == ["title": "mine", "count": 5])
    #expect(try a.store.outboxEntries().isEmpty)
  }

  /// Promises: A-12
  @Test("A pending edit of another field doesn't write the field")
  func otherField() async throws {
    try a.set("Memo", "1", ["title": "mine"])
    try update(a)
    a.remote.forgetRequests()
    await a.store.sync()
    #expect(a.operations.map(\.fields) == [["title": "mine"]])
    #expect(try await world.server("Memo", "1") == ["title": "mine", "count": "2"])
    #expect(try a.record("Memo", "1")?["count"] == 2)
    try await expectEven()
  }

  /// Promises: A-12
  @Test("A pending edit of another field doesn't add the whole count again")
  func counted() async throws {
    try a.set("Memo", "1", ["title": "mine"])
    try update(a, b)
    try b.set("Memo", "1", ["count": 3])
    await b.store.sync()
    await a.store.sync()
    #expect(try await world.server("Memo", "1") == ["title": "mine", "count": 3])
    try await expectEven()
  }

  @Test("A version beside a pending change keeps its value")
  func noted() async throws {
    try a.set("Memo", "1", ["title": "mine"])
    try b.set("Memo", "1", ["title": "theirs", "count": "7"])
    await b.store.sync()
    await a.store.sync(.pull)
    try update(a)
    try a.store.resolve(one, .revert)
    #expect(try a.record("Memo", "1")?.fields == ["title": "theirs", "count": 7])
    await a.store.sync()
    try await expectEven()
  }
}
