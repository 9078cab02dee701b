import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// References, payloads and names.
@Suite("References and payloads", .timeLimit(.minutes(5)))
struct RelationStories {
  private func actions(_ report: SyncReport) -> [String] { report.synced.map { "\($0.record) \($0.action)" } }

  /// Promises: H-57, C-20
  @Test("A child inserted before its parent is sent after it")
  func order() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    // References are not checked locally, so the order of the writes is free.
    try pair.a.put(.child("A1", of: "P1"))
    try pair.a.put(.parent("P1"))
    let report = await pair.a.store.sync()
    #expect(actions(report) == ["Parent/P1 insertedOnServer", "Child/A1 insertedOnServer"])
    #expect(report.rejected.isEmpty && report.blocked.isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: H-57
  @Test("Parents come first even if one request contains one operation")
  func orderOneByOne() async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.batchSize = 1 }
    for number in 0..<4 { try pair.a.put(.child("C\(number)", of: "P\(3 - number)")) }
    for number in 0..<4 { try pair.a.put(.parent("P\(number)")) }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 8)
    #expect(report.rejected.isEmpty && report.blocked.isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: H-57
  @Test("A long chain whose last link has the first id is sent completely")
  func chain() async throws {
    let chain = StoreSchema(types: [
      TypeSchema(
        "Link", fields: [FieldSchema("next", .reference(to: "Link", onDelete: .nullify), optional: true)])
    ])
    let pair = try Pair(schema: chain, rules: AccessRules(schema: chain, checksReferences: true))
    try pair.a.change { transaction in
      for number in 1000..<3000 {
        let next: [String: FieldValue] = number < 2999 ? ["next": .text("L\(number + 1)")] : [:]
        try transaction.insert(AnyRecord("Link", id: "L\(number)", next))
      }
    }
    let report = await pair.a.store.sync()
    #expect(report.rejected.isEmpty && report.blocked.isEmpty)
    #expect(try await pair.world.serverRecords().count == 2000)
    #expect(try await pair.isEven())
  }

  @Test("A long list whose records refer to both neighbours is sent completely", arguments: [false, true])
  func bothNeighbours(_ isRequired: Bool) async throws {
    let previous = FieldSchema("previous", .reference(to: "Link", onDelete: .nullify), optional: true)
    let next =
      isRequired
      ? FieldSchema("next", .references(to: "Link", onDelete: .cascade))
      : FieldSchema("next", .references(to: "Link", onDelete: .nullify), optional: true)
    let list = StoreSchema(types: [TypeSchema("Link", fields: [previous, next])])
    let pair = try Pair(schema: list, rules: AccessRules(schema: list, checksReferences: true))
    try pair.a.change { transaction in
      for number in 100..<220 {
        var link = AnyRecord("Link", id: "L\(number)", ["next": .list([])])
        if number > 100 { link["previous"] = .text("L\(number - 1)") }
        if number < 219 { link["next"] = .list(["L\(number + 1)"]) }
        try transaction.insert(link)
      }
    }
    let report = await pair.a.store.sync()
    #expect(report.rejected.isEmpty && report.blocked.isEmpty)
    #expect(try await pair.world.serverRecords().count == 120)
    #expect(try await pair.isEven())
  }

  /// Promises: H-58
  @Test("Two new records that refer to each other are sent, one in two steps")
  func cycle() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    try pair.a.put(.parent("P1", best: "C1"))
    try pair.a.put(.child("C1", of: "P1"))
    let report = await pair.a.store.sync()
    #expect(report.rejected.isEmpty && report.blocked.isEmpty)
    #expect(try await pair.server("P1", type: "Parent")?["best"] == "C1")
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "P1")
    #expect(try await pair.isEven())
  }

  /// Promises: H-59
  @Test(
    "A dependent of a rejected record is blocked, and sent once that is corrected")
  func dependentFailure() async throws {
    var server = StoreSchema.family
    server.types[1].fields.removeAll { $0.name == "best" }
    let pair = try Pair(schema: .family, rules: AccessRules(schema: server, checksReferences: true))
    try pair.a.put(.parent("P0"))
    try pair.a.put(.child("C0", of: "P0"))
    await pair.a.store.sync()
    try pair.a.put(.parent("P1", best: "C0"))
    try pair.a.put(.child("C1", of: "P1"))
    let report = await pair.a.store.sync()
    let parent = RecordID(type: "Parent", id: "P1")
    let child = RecordID(type: "Child", id: "C1")
    #expect(report.rejected.map(\.record) == [parent])
    #expect(report.blocked == [SyncReport.Blocked(record: child, by: parent)])
    #expect(try pair.a.store.outboxEntries().map(\.id) == [child, parent])
    try pair.a.change { _ = try $0.update(parent, fields: ["best": .null]) }
    #expect(await pair.a.store.sync().pushed == 2)
    #expect(try await pair.isEven())
  }

  /// Promises: H-60, X-15, S-52
  @Test("Children are deleted before their parent, and cleared references are updates")
  func deleteOrder() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    try pair.a.put(.parent("P1"))
    try pair.a.put(.child("C1", of: "P1"))
    try pair.a.put(.child("C2", of: "P1"))
    try pair.a.put(.pet("D1", of: "P1"))
    await pair.a.store.sync()
    try pair.a.change { _ = try $0.delete(RecordID(type: "Parent", id: "P1")) }
    let report = await pair.a.store.sync()
    #expect(
      actions(report) == [
        "Pet/D1 updatedOnServer", "Child/C1 deletedFromServer", "Child/C2 deletedFromServer",
        "Parent/P1 deletedFromServer",
      ])
    #expect(try await pair.server("D1", type: "Pet") == ["name": "D1"])
    #expect(try await pair.isEven())
  }

  /// Promises: H-61, S-35
  @Test("An online save of a record edited offline sends both changes")
  func onlineSaveOfPending() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("b")
    var note = try #require(try pair.a.note())
    note.note = "x"
    let receipt = try await pair.a.store.save(note, options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(receipt.known == .accepted(version: "2"))
    #expect(try await pair.server("T1") == ["title": "b", "note": "x", "score": 0])
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: H-62, S-84
  @Test("Unset fields are not sent, cleared ones are null, absent ones stay")
  func nulls() async throws {
    let pair = try await Pair.sharing()
    try pair.a.insert("T2", "two")
    try pair.a.edit { $0.note = "x" }
    await pair.a.store.sync()
    try pair.a.edit { $0.note = nil }
    await pair.a.store.sync()
    let fields = pair.a.operations.map(\.fields)
    #expect(fields == [["title": "two", "score": 0], ["note": "x"], ["note": .null]])
    #expect(try await pair.server("T1") == ["title": "start", "score": 0])
    #expect(try await pair.isEven())
  }

  /// Promises: H-63, X-16
  @Test("An edit of one field leaves the list of references unchanged everywhere")
  func lists() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    for id in ["P1", "P2", "P3"] { try pair.b.put(.parent(id)) }
    try pair.b.change { transaction in
      _ = try transaction.update(
        RecordID(type: "Parent", id: "P1"), fields: ["friends": .list(["P3", "P2"])])
    }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.change { transaction in
      _ = try transaction.update(RecordID(type: "Parent", id: "P1"), fields: ["name": .text("new")])
    }
    await pair.a.store.sync()
    #expect(pair.a.operations.last?.fields == ["name": "new"])
    #expect(try await pair.server("P1", type: "Parent")?["friends"] == ["P3", "P2"])
    #expect(try pair.a.record("Parent", "P1")?["friends"] == .list(["P3", "P2"]))
    #expect(try pair.a.record("Parent", "P2") != nil)
    #expect(try await pair.isEven())
  }

  /// Promises: H-64
  @Test(
    "Records whose ids have any characters are inserted, edited, purged and deleted",
    arguments: [
      "a:b", "a/b", "what?", "x:nil", "Ærø 🏔", "%2F", "'; DROP TABLE Note; --", " ", "é", "e\u{301}",
    ])
  func anyID(id: String) async throws {
    let pair = try Pair()
    try pair.a.insert(id, "a")
    #expect(try await pair.isEven())
    try pair.b.retitle(id, "b")
    await pair.b.store.sync()
    #expect(try await pair.isEven())
    #expect(try pair.a.title(id) == "b")
    #expect(try pair.a.store.purge(.note(id)).removed == 1)
    #expect(try await pair.isEven())
    try pair.a.remove(id)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().isEmpty)
  }

  /// Promises: H-67, Scenario-7
  @Test("Edits of different fields on two offline devices merge by field")
  func differentFields() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.a.retitle("a")
    try pair.b.edit { $0.note = "b" }
    for device in [pair.a, pair.b, pair.a, pair.b] { await device.store.sync() }
    #expect(try await pair.server("T1") == ["title": "a", "note": "b", "score": 0])
    #expect(try await pair.isEven())
  }

  /// Promises: H-67
  @Test("If the server wins, the second device's edit is in the report")
  func differentFieldsServerWins() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("a")
    try pair.b.edit { $0.note = "b" }
    await pair.a.store.sync()
    let report = await pair.b.store.sync()
    #expect(try report.overwritten.first?.fields?.members()["note"] == "b")
    #expect(try await pair.server("T1") == ["title": "a", "score": 0])
    #expect(try await pair.isEven())
  }

  /// Promises: H-69
  @Test("A sync without news sends no operation and changes nothing")
  func idempotence() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("a")
    await pair.a.store.sync()
    pair.a.remote.forgetRequests()
    let before = try await pair.world.serverDigest()
    let report = await pair.a.store.sync()
    #expect(pair.a.operations.isEmpty)
    #expect(report.requests == 1 && report.pulled == 0 && report.pushed == 0)
    #expect(try await pair.world.serverDigest() == before)
  }
}
