import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Transactions with new records that refer to others.
@Suite("Transactions and references", .timeLimit(.minutes(5)))
struct TogetherReferences {
  @Test("A transaction with records that refer to each other is sent as a whole")
  func cycle() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.parent("P1", best: "C1"))
      try transaction.insert(.child("C1", of: "P1"))
    }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 2 && report.rejected.isEmpty)
    #expect(pair.a.operations.count == 2)
    #expect(try await pair.server("P1", type: "Parent")?["best"] == "C1")
    #expect(try await pair.isEven())
  }

  @Test("A new record that a transaction refers to is sent first, in one request")
  func neededBefore() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    try pair.a.put(.parent("P1"))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.child("C1", of: "P1"))
      try transaction.insert(.child("C2", of: "P1"))
    }
    await pair.a.store.sync()
    #expect(pair.a.operations.map(\.record.id) == ["P1", "C1", "C2"])
    #expect(pair.a.operations.map { $0.group?.size } == [nil, 2, 2])
    #expect(try await pair.isEven())
  }

  @Test("A new record that refers to one in a transaction follows it")
  func neededAfter() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.parent("P1"))
      try transaction.insert(.parent("P2"))
    }
    try pair.a.put(.child("C1", of: "P2"))
    await pair.a.store.sync()
    #expect(pair.a.operations.map(\.record.id) == ["P1", "P2", "C1"])
    #expect(try await pair.isEven())
  }

  @Test("Two transactions that need each other's new records become one")
  func mutual() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.parent("P1", best: "C2"))
      try transaction.insert(.parent("P3"))
    }
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.child("C2", of: "P1"))
      try transaction.insert(.parent("P4"))
    }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 4 && report.blocked.isEmpty)
    #expect(pair.a.operations.map { $0.group?.size } == [4, 4, 4, 4])
    #expect(try await pair.isEven())
  }

  @Test("A new record that a transaction needs and that needs it joins it")
  func joined() async throws {
    let pair = try Pair(schema: .mutual, rules: AccessRules(schema: .mutual, checksReferences: true))
    try pair.a.put(AnyRecord("Left", id: "L", ["right": .text("R")]))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(AnyRecord("Right", id: "R", ["left": .text("L")]))
      try transaction.insert(AnyRecord("Right", id: "R2", ["left": .text("L")]))
    }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 3 && report.blocked.isEmpty)
    #expect(try await pair.isEven())
  }

  @Test("Single changes that need each other through a transaction join it")
  func joinedBeneath() async throws {
    let pair = try Pair(schema: .family, rules: .family)
    let (first, second) = (RecordID(type: "Parent", id: "P1"), RecordID(type: "Pet", id: "X1"))
    try pair.a.put(.parent("P1"))
    try pair.a.put(.pet("X1", of: "P1"))
    // The transaction changes the pet, whose owner is to refer to a child that the transaction makes.
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.child("C1", of: "P1"))
      try transaction.update(second, fields: ["name": "Rex"])
    }
    try pair.a.change { try $0.update(first, fields: ["best": .text("C1")]) }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 3 && report.blocked.isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.server("P1", type: "Parent")?["best"] == "C1")
    #expect(try await pair.server("X1", type: "Pet") == ["name": "Rex", "owner": "P1"])
  }

  @Test("A rejected record blocks a transaction that refers to it, and nothing else")
  func refusedTarget() async throws {
    let pair = try Pair(
      schema: .family,
      rules: AccessRules(schema: .family, checksReferences: true, recordSizeLimit: 100))
    try pair.a.put(AnyRecord("Parent", id: "P1", ["name": .text(String(repeating: "x", count: 200))]))
    try await pair.a.store.write(.atomic) { transaction in
      try transaction.insert(.child("C1", of: "P1"))
      try transaction.insert(.parent("P2"))
    }
    try pair.a.put(.parent("P3"))
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.record.id) == ["P1"])
    #expect(Set(report.blocked.map(\.record.id)) == ["C1", "P2"])
    #expect(try await pair.world.serverRecords().keys.map(\.id) == ["P3"])
    try pair.a.change { try $0.update(RecordID(type: "Parent", id: "P1"), fields: ["name": .text("short")]) }
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 4)
  }

  @Test("A new record waits for a transaction that finds no room before it")
  func noRoom() async throws {
    let rules = AccessRules(schema: .meetings, checksReferences: true)
    let pair = try Pair(schema: .meetings, rules: rules) { $0.batchSize = 3 }
    await pair.a.store.sync()
    try pair.a.put(AnyRecord("Person", id: "A"))
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["B", "C", "D"] { try transaction.insert(AnyRecord("Person", id: id)) }
    }
    try pair.a.put(AnyRecord("Meeting", id: "M", ["host": .text("A"), "guest": .text("B")]))
    let outcome = try await pair.a.store.receipt(for: RecordID(type: "Meeting", id: "M")).outcome()
    guard case .accepted = outcome else {
      Issue.record("\(outcome) of a meeting of two new persons")
      return
    }
    #expect(pair.a.operations.map(\.record.id) == ["A", "B", "C", "D", "M"])
    #expect(try await pair.isEven())
  }
}

extension StoreSchema {
  /// Meetings that require two persons.
  fileprivate static let meetings = StoreSchema(
    types: [
      TypeSchema("Person", fields: [FieldSchema("name", .text, optional: true)]),
      TypeSchema(
        "Meeting",
        fields: [
          FieldSchema("host", .reference(to: "Person", onDelete: .cascade)),
          FieldSchema("guest", .reference(to: "Person", onDelete: .cascade)),
        ]),
    ])

  /// Two types that require each other.
  fileprivate static let mutual = StoreSchema(
    types: [
      TypeSchema("Left", fields: [FieldSchema("right", .reference(to: "Right", onDelete: .cascade))]),
      TypeSchema("Right", fields: [FieldSchema("left", .reference(to: "Left", onDelete: .cascade))]),
    ])
}
