import BothyStore
import BothySync
import BothyTesting
import Testing

/// Transactions on top of pending ones, combined with references, sharing, awaited saves and migrations.
@Suite("Stacked transactions with other features", .faultsStrike, .timeLimit(.minutes(5)))
struct LaterMeetings {
  private static let cherished = RecordID(type: "Pet", id: "X1")

  /// Returns a pair whose devices and server have the parents P1 and P2 and the pet X1 of P1.
  private func family() async throws -> Pair {
    let pair = try Pair(schema: .family, rules: .family, policy: .fieldByField)
    for id in ["P1", "P2"] { try pair.b.put(.parent(id)) }
    try pair.b.put(.pet("X1", of: "P1"))
    await pair.b.store.sync()
    await pair.a.store.sync()
    return pair
  }

  /// Gives a pet an owner, with a new parent in the same transaction.
  private func give(_ pet: RecordID, to owner: String, with id: String, on device: SimulatedDevice)
    async throws
  {
    try await device.store.write(.atomic) { transaction in
      try transaction.update(pet, fields: ["owner": .text(owner)])
      try transaction.insert(.parent(id))
    }
  }

  @Test(
    "A reference to a remotely deleted record is removed from each transaction with it",
    arguments: [false, true])
  func orphans(_ isSentBefore: Bool) async throws {
    let pair = try await family()
    try await give(Self.cherished, to: "P2", with: "N1", on: pair.a)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Self.cherished, fields: ["name": "Rex"])
      try transaction.insert(.parent("N2"))
    }
    try await give(Self.cherished, to: "P2", with: "N3", on: pair.a)
    try pair.b.change { _ = try $0.delete(RecordID(type: "Parent", id: "P2")) }
    await pair.b.store.sync()
    if isSentBefore {
      pair.a.loseAnswer(carrying: "N1")
      await pair.a.store.sync(.push)
    }
    #expect(try await pair.isEven())
    let pet = try await pair.server("X1", type: "Pet")
    #expect(pet?["name"] == "Rex" && pet?["owner"] == nil)
    #expect(try await pair.world.serverRecords().keys.filter { $0.id.hasPrefix("N") }.count == 3)
  }

  @Test(
    "A record deleted with its parent takes the transactions on top along", arguments: [false, true])
  func cascade(_ isInDoubt: Bool) async throws {
    let pair = try await family()
    let child = RecordID(type: "Child", id: "C1")
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.child("C1", of: "P2"))
      try transaction.insert(.parent("N1"))
    }
    for name in ["second", "third"] {
      try await pair.a.store.write(.atomic) { transaction in
        try transaction.update(child, fields: ["name": .text(name)])
        try transaction.insert(.parent("N-\(name)"))
      }
    }
    if isInDoubt {
      pair.a.remote.plan(.lostRequest, on: .operation(on: "C1"), times: 1)
      await pair.a.store.sync(.push)
    }
    try pair.b.change { _ = try $0.delete(RecordID(type: "Parent", id: "P2")) }
    await pair.b.store.sync()
    #expect(try await pair.isEven())
    #expect(try pair.a.record("Child", "C1") == nil)
    #expect(try await pair.server("C1", type: "Child") == nil)
  }

  /// The pet was sent when its owner was there. A pull brings the owner's deletion, and the owner is made again with a
  /// change on top of the pet.
  @Test("A change in doubt goes before an owner that was made again")
  func ownerMadeAgain() async throws {
    let pair = try Pair(schema: .family, rules: .family, policy: .localWins)
    let (owner, pet) = (RecordID(type: "Parent", id: "P"), RecordID(type: "Pet", id: "X"))
    try pair.b.put(.parent("P"))
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.put(.pet("X", of: "P"))
    pair.a.remote.plan(.lostRequest, on: .operation(on: "X"), times: 1)
    await pair.a.store.sync(.push)
    try pair.b.change { _ = try $0.delete(owner) }
    await pair.b.store.sync()
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(owner, fields: ["name": "mine"])
      try transaction.update(pet, fields: ["name": "Rex"])
    }
    await pair.a.store.sync(.pull)
    #expect(try pair.a.store.outboxEntries().first { $0.id == owner }?.change == .insert)
    let reports = [await pair.a.store.sync(), await pair.a.store.sync()]
    #expect(reports.allSatisfy { $0.rejected.isEmpty })
    #expect(try await pair.isEven())
    #expect(try await pair.server("P", type: "Parent")?["name"] == "mine")
    #expect(try await pair.server("X", type: "Pet") == ["name": "Rex", "owner": "P"])
  }

  @Test("Transactions that share a record and need each other's new records become one", arguments: [2, 3])
  func needEachOther(_ count: Int) async throws {
    let pair = try await family()
    let parent = RecordID(type: "Parent", id: "P1")
    // Each transaction inserts a child of the next one's new parent. The last child's parent is in the first.
    for number in 0..<count {
      try await pair.a.store.write(.atomic) { transaction in
        try transaction.insert(.parent("N\(number)"))
        try transaction.insert(.child("C\(number)", of: "N\((number + 1) % count)"))
        try transaction.update(parent, fields: ["name": .text("change \(number)")])
      }
    }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 2 * count + 1 && report.blocked.isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.server("P1", type: "Parent")?["name"]?.stringValue == "change \(count - 1)")
  }

  @Test("A record recreated within a cycle of transactions has its last state")
  func madeAgainInCircle() async throws {
    let pair = try await family()
    let parent = RecordID(type: "Parent", id: "P1")
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.pet("X2", of: "P1"))
      try transaction.insert(.child("C1", of: "N1"))
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.delete(RecordID(type: "Pet", id: "X2"))
      try transaction.update(parent, fields: ["name": "second"])
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.pet("X2", of: "P2"))
      try transaction.insert(.parent("N1"))
    }
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try await pair.isEven())
    #expect(try await pair.server("X2", type: "Pet")?["owner"] == "P2")
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "N1")
    #expect(try await pair.server("P1", type: "Parent")?["name"] == "second")
  }

  @Test("Unreadable values survive a record's deletion and recreation in one transaction")
  func unreadFields() async throws {
    func memo(_ version: Int, _ fields: FieldSchema...) -> StoreSchema {
      StoreSchema(
        version: version, types: [TypeSchema("Memo", fields: [FieldSchema("title", .text)] + fields)])
    }
    let world = try SimulatedWorld()
    let newer = try world.addDevice("newer", schema: memo(2, FieldSchema("colour", .text, optional: true)))
    let older = try world.addDevice("older", schema: memo(1))
    let ids = ["M1", "M2"].map { RecordID(type: "Memo", id: $0) }
    for id in ids { try newer.put(AnyRecord("Memo", id: id.id, ["title": "one", "colour": "red"])) }
    await newer.store.sync()
    await older.store.sync()
    try await older.store.write(.atomic) { transaction in
      for id in ids { try transaction.update(id, fields: ["title": "two"]) }
    }
    try await older.store.write(.atomic) { transaction in
      try transaction.delete(ids[0])
      try transaction.insert(AnyRecord("Memo", id: "M1", ["title": "three"]))
      try transaction.update(ids[1], fields: ["title": "three"])
    }
    await older.store.sync()
    await newer.store.sync()
    #expect(try newer.record("Memo", "M1")?.fields == ["title": "three", "colour": "red"])
    #expect(try newer.record("Memo", "M2")?.fields == ["title": "three", "colour": "red"])
  }

  @Test("Transactions that need each other through one on top merge with it")
  func needThrough() async throws {
    let pair = try await family()
    let (one, two) = (RecordID(type: "Parent", id: "P1"), RecordID(type: "Parent", id: "P2"))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.child("C1", of: "N1"))
      try transaction.update(one, fields: ["name": "first"])
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(one, fields: ["name": "second"])
      try transaction.update(two, fields: ["name": "second"])
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(two, fields: ["name": "third"])
      try transaction.insert(.parent("N1"))
    }
    #expect(await pair.a.store.sync().blocked.isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "N1")
    #expect(try await pair.server("P1", type: "Parent")?["name"] == "second")
    #expect(try await pair.server("P2", type: "Parent")?["name"] == "third")
  }

  @Test(
    "A new record arrives that refers to the second transaction on top of it",
    arguments: [AnyRecord.pet("X2", of: "N1"), .child("C1", of: "N1")])
  func needsSecondOnTop(_ record: AnyRecord) async throws {
    let pair = try await family()
    let (id, parent) = (RecordID(type: record.type, id: record.id), RecordID(type: "Parent", id: "P1"))
    try pair.a.put(record)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(id, fields: ["name": "second"])
      try transaction.update(parent, fields: ["name": "second"])
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(id, fields: ["name": "third"])
      try transaction.insert(.parent("N1"))
    }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 3 && report.blocked.isEmpty && report.rejected.isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.server(record.id, type: record.type)?["name"] == "third")
    #expect(try await pair.server("P1", type: "Parent")?["name"] == "second")
    #expect(try await pair.server("N1", type: "Parent")?["name"] == "N1")
  }

  @Test("Transactions that need each other are sent as one beyond a request's limit")
  func largeCircle() async throws {
    let pair = try Pair(schema: .family, rules: .family) { $0.batchSize = 3 }
    await pair.a.store.sync()
    let pet = RecordID(type: "Pet", id: "X1")
    try pair.a.put(.pet("X1", of: "N4"))
    for number in 0..<5 {
      try await pair.a.store.write(.atomic) { transaction in
        try transaction.update(pet, fields: ["name": .text("change \(number)")])
        try transaction.insert(.parent("N\(number)"))
      }
    }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 6 && report.blocked.isEmpty)
    #expect(pair.a.operations.count == 6 && pair.a.operations.allSatisfy { $0.group?.size == 6 })
    #expect(try await pair.isEven())
    #expect(try await pair.server("X1", type: "Pet") == ["name": "change 4", "owner": "N4"])
  }

  @Test("Sharing a record of a waiting transaction is sent separately")
  func sharing() async throws {
    let pair = try await Pair.sharing(["T1", "T2"], policy: .fieldByField)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "mine" }
      try transaction.update(Note.self, id: "T2") { $0.title = "mine" }
    }
    try await pair.a.store.sharing.share(.note("T1"), with: Audience.users("guest"))
    await pair.a.store.sync()
    let operations = pair.a.operations
    #expect(operations.map { $0.group?.size } == [2, 2, nil])
    #expect(operations.map { $0.sharing != nil } == [false, false, true])
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords()[.note("T1")]?.sharing == Audience.users("guest"))
  }

  @Test("An awaited save first sends the transactions beneath its own")
  func awaited() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"], policy: .fieldByField)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "first" }
      try transaction.update(Note.self, id: "T2") { $0.title = "first" }
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.update(Note.self, id: "T2") { $0.title = "second" }
      try transaction.update(Note.self, id: "T3") { $0.title = "second" }
    }
    let saved = try await pair.a.store.save(Note(id: "T3", "third"), policy: .local).result(
      within: .seconds(1000))
    #expect(saved.origin == .remote && saved.record?.title == "third")
    #expect(try await pair.serverTitle("T3") == "third")
    #expect(try await pair.serverTitle("T2") == "second")
    #expect(try await pair.isEven())
  }

  @Test("A converted field keeps the value of each waiting transaction")
  func converted() async throws {
    func memo(_ version: Int, _ kind: ValueKind) -> StoreSchema {
      StoreSchema(
        version: version,
        types: [TypeSchema("Memo", fields: [FieldSchema("title", .text), FieldSchema("count", kind)])])
    }
    let pair = try Pair(schema: memo(1, .text), policy: .fieldByField)
    let ids = ["M1", "M2", "M3"].map { RecordID(type: "Memo", id: $0) }
    for id in ids { try pair.a.put(AnyRecord("Memo", id: id.id, ["title": "start", "count": "1"])) }
    await pair.a.store.sync()
    for (number, pairs) in [(2, ids[0...1]), (3, ids[1...2])] {
      try await pair.a.store.write(.atomic) { transaction in
        for id in pairs { try transaction.update(id, fields: ["count": .text(String(number))]) }
      }
    }
    let step = Migration.Step.convertField(type: "Memo", field: "count", from: String.self) { value in
      if case .text(let text) = value { .int(Int64(text) ?? 0) } else { .int(0) }
    }
    try pair.a.restart(schema: memo(2, .int), migrations: [Migration(to: 2, step)])
    pair.a.remote.forgetRequests()
    #expect(await pair.a.store.sync().rejected.isEmpty)
    let sent = pair.a.operations.map { "\($0.record.id) \($0.fields["count"]?.intValue ?? -1)" }
    #expect(Set(sent) == ["M1 2", "M2 2", "M2 3", "M3 3"] && sent.count == 4)
    #expect(try pair.a.store.outboxEntries().isEmpty && pair.a.store.diagnose().findings.isEmpty)
  }
}
