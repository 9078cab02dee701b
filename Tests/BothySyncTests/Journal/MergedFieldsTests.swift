import BothyStore
import BothySync
import BothyTesting
import GRDB
import Testing

/// Decisions that merged a part of the local change. That part wasn't lost, so nothing restores it.
@Suite("Merged fields in the journal", .timeLimit(.minutes(5)))
struct MergedFieldsTests {
  private static let schema = MergingMemo.schema(FieldSchema("most", .int, default: 0, merge: .max))
  private static let id = RecordID(type: "Memo", id: "1")
  private static let start: [String: FieldValue] = ["title": "start", "count": 10, "lines": "L0", "most": 1]
  private static let theirs: [String: FieldValue] = [
    "title": "theirs", "count": 15, "lines": "L0\nA", "most": 9,
  ]
  private static let mine: [String: FieldValue] = [
    "title": "mine", "count": 12, "lines": "L0\nB", "most": 4,
  ]

  /// Returns a device whose edits have met those of another one.
  private func met(
    _ policy: MergePolicy, theirs: [String: FieldValue] = theirs, mine: [String: FieldValue] = mine
  ) async throws -> (world: SimulatedWorld, device: SimulatedDevice) {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema, policy: policy)
    let b = try world.device("b", Self.schema, policy: policy)
    try a.put("Memo", "1", Self.start)
    for device in [a, b] { await device.store.sync() }
    try a.set("Memo", "1", theirs)
    await a.store.sync()
    try b.set("Memo", "1", mine)
    await b.store.sync()
    return (world, b)
  }

  private func entry(_ device: SimulatedDevice) throws -> JournalEntry {
    try #require(try device.store.journal.entries(losing: true).first)
  }

  private static let merged: [String: JSONValue] = [
    "title": "theirs", "count": 17, "lines": "L0\nA\nB", "most": 9,
  ]

  @Test("Only what a merge left out is lost, and restoring adds that alone")
  func left() async throws {
    let (world, device) = try await met(.fieldByField)
    #expect(try await world.server("Memo", "1") == Self.merged)
    let entry = try entry(device)
    let found = entry.lostFields.map { [.string($0.name), $0.base, $0.local, $0.now] }
    #expect(found == [["title", "start", "mine", "theirs"]])
    try await device.store.journal.restore(entry)
    await device.store.sync()
    var restored = Self.merged
    restored["title"] = "mine"
    #expect(try await world.server("Memo", "1") == restored)
  }

  @Test("A conflict of which everything was merged lost nothing")
  func all() async throws {
    let (world, device) = try await met(
      .fieldByField, theirs: ["count": 15, "lines": "L0\nA", "most": 9],
      mine: ["count": 12, "lines": "L0\nB", "most": 4])
    #expect(try await world.server("Memo", "1")?["count"] == 17)
    #expect(try device.store.journal.entries(losing: true).isEmpty)
    #expect(try device.store.journal.entries().allSatisfy { !$0.isRestorable })
  }

  @Test("What gave way is restored on top of what others wrote")
  func gaveWay() async throws {
    let (world, device) = try await met(.remoteWins)
    let entry = try entry(device)
    #expect(entry.lostFields.map(\.name) == ["count", "lines", "title"])
    try await device.store.journal.restore(entry)
    await device.store.sync()
    var restored = Self.merged
    restored["title"] = "mine"
    #expect(try await world.server("Memo", "1") == restored)
  }

  @Test("A default that no caller gave isn't lost")
  func untouched() async throws {
    for policy in [MergePolicy.fieldByField, .remoteWins] {
      let world = try SimulatedWorld()
      let a = try world.device("a", Self.schema, policy: policy)
      let b = try world.device("b", Self.schema, policy: policy)
      try a.put("Memo", "1", ["title": "text", "note": "theirs"])
      await a.store.sync()
      try b.put("Memo", "1", ["note": "mine"])
      await b.store.sync()
      let entry = try entry(b)
      #expect(entry.lostFields.map(\.name) == ["note"])
      try await b.store.journal.restore(entry)
      await b.store.sync()
      #expect(try await world.server("Memo", "1")?["title"] == "text")
      #expect(try await world.server("Memo", "1")?["note"] == "mine")
    }
  }

  @Test("Entries that an older version wrote are read by the same rule")
  func older() async throws {
    let (world, device) = try await met(.fieldByField)
    let number = try entry(device).number
    try await device.store.store.write(origin: .remote) { transaction in
      try transaction.database.execute(
        sql: """
          UPDATE bothy_journal SET names = '["count","lines","most","title"]',
            base = '{"count":10,"lines":"L0","most":1,"title":"start"}',
            now = '{"count":17,"lines":"L0\\nA\\nB","most":9,"title":"theirs"}' WHERE number = ?
          """, arguments: [number])
    }
    let entry = try entry(device)
    #expect(entry.lostFields.map(\.name) == ["title"])
    try await device.store.journal.restore(entry)
    await device.store.sync()
    #expect(try await world.server("Memo", "1")?["count"] == 17)
    #expect(try await world.server("Memo", "1")?["lines"] == "L0\nA\nB")
  }

  @Test("A list of losses continues past decisions that lost nothing")
  func pages() async throws {
    let (_, device) = try await met(.fieldByField)
    let first = try entry(device)
    try await device.store.store.write(origin: .remote) { transaction in
      try transaction.database.execute(
        sql: """
          INSERT INTO bothy_journal (type, id, verdict, at, lost, cause, names, base, now, share, policy)
          SELECT type, id, verdict, at, lost, cause, '["count"]', '{"count":10}', '{"count":17}', share, policy
          FROM bothy_journal WHERE number = ?
          """, arguments: [first.number])
    }
    #expect(try device.store.journal.entries(losing: true, limit: 1).map(\.number) == [first.number])
    #expect(try device.store.journal.entries(losing: true).map(\.number) == [first.number])
  }
}
