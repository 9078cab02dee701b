import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Records of some fields that are saved after a save of the server alone, which no row shows.
@Suite("Some fields of a record that isn't here", .faultsStrike, .timeLimit(.minutes(5)))
struct UnreadRecordTests {
  /// Returns a device that has saved a record on the server alone.
  private func saved(
    _ policy: MergePolicy = .fieldByField, _ fault: FaultyRemote.Fault = .none
  ) async throws -> (world: SimulatedWorld, device: SimulatedDevice) {
    let world = try SimulatedWorld()
    let device = try world.device("a", MergingMemo.schema(), policy: policy)
    if fault != .none { device.remote.plan(fault, on: .operations, times: 1) }
    let first = AnyRecord("Memo", id: "1", ["title": "one", "note": "n", "count": 5, "lines": "l1"])
    do {
      _ = try await device.store.save(first, options: .saving(.remote))
      #expect(fault == .none)
    } catch let error as BothyError {
      #expect(error.code == .unreachable && fault != .none)
    }
    #expect(try device.record("Memo", "1") == nil)
    return (world, device)
  }

  private func save(_ fields: [String: FieldValue], on device: SimulatedDevice) async throws {
    try await device.store.save(AnyRecord("Memo", id: "1", fields), options: .saving(.local))
  }

  @Test(
    "Fields that a local save doesn't give stay, and counts add up",
    arguments: [MergePolicy.fieldByField, .remoteWins, .localWins], [false, true])
  func kept(policy: MergePolicy, isRelaunched: Bool) async throws {
    let (world, device) = try await saved(policy)
    if isRelaunched { try device.restart() }
    try await save(["count": 2, "lines": "l2"], on: device)
    let expected: [String: JSONValue] = ["title": "one", "note": "n", "count": 7, "lines": "l1\nl2"]
    #expect(try device.record("Memo", "1")?["title"] == "one")
    await device.store.sync()
    #expect(try await world.server("Memo", "1") == expected)
    #expect(try device.store.journal.entries(losing: true).isEmpty)
    let sent = try #require(device.remote.requests.flatMap(\.operations).last)
    #expect(Set(sent.fields.keys) == ["count", "lines"])
  }

  @Test("A given field is the later edit, and a given null clears")
  func given() async throws {
    let (world, device) = try await saved()
    try await save(["title": "two", "note": .null], on: device)
    await device.store.sync()
    #expect(try await world.server("Memo", "1") == ["title": "two", "count": 5, "lines": "l1"])
  }

  /// Promises: A-41
  @Test("The same holds after a save without an answer", arguments: [false, true])
  func unanswered(isRelaunched: Bool) async throws {
    for fault in [FaultyRemote.Fault.lostAnswer, .lostRequest] {
      let (world, device) = try await saved(.fieldByField, fault)
      if isRelaunched { try device.restart() }
      try await save(["count": 2], on: device)
      for _ in 0..<2 { await device.store.sync() }
      let expected: [String: JSONValue] = ["title": "one", "note": "n", "count": 7, "lines": "l1"]
      #expect(try await world.server("Memo", "1") == expected)
      #expect(try device.store.outboxEntries().isEmpty)
    }
  }

  @Test("A value with all fields is the whole record")
  func whole() async throws {
    let pair = try await Pair.sharing([], policy: .fieldByField)
    var first = Note(id: "T1", "one", note: "n")
    first.score = 5
    try await pair.a.store.save(first, options: .saving(.remote))
    var second = Note(id: "T1", "two")
    second.score = 2
    try await pair.a.store.save(second, options: .saving(.local))
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1") == ["title": "two", "score": 2])
  }
}
