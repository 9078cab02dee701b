import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("Missing parents", .faultsStrike, .timeLimit(.minutes(5)))
struct MissingParentScenarios {
  private static let parent = RecordID(type: "Parent", id: "P1")
  private static let child = RecordID(type: "Child", id: "C1")

  private static func schema(_ rule: FieldKind.DeleteRule, optional: Bool = false) -> StoreSchema {
    StoreSchema(types: [
      TypeSchema("Parent", fields: [FieldSchema("name", .text)]),
      TypeSchema(
        "Child",
        fields: [
          FieldSchema("name", .text),
          FieldSchema("parent", .reference(to: "Parent", onDelete: rule), optional: optional),
        ]),
    ])
  }

  /// Promises: Scenario-13, H-59
  @Test("A child inserted before its rejected parent waits, and is never deleted")
  func refusedParent() async throws {
    for policy in [SyncOptions.RejectionPolicy.keepPending, .quarantine(after: 1)] {
      var type = Self.schema(.cascade)
      type.types[0].permissions = Permissions(create: .nobody)
      let pair = try Pair(
        schema: Self.schema(.cascade), rules: AccessRules(schema: type, checksReferences: true)
      ) { $0.rejectionPolicy = policy }
      try pair.a.put(.child("C1", of: "P1"))
      try pair.a.put(.parent("P1"))
      try pair.a.put(.parent("P2"))
      for _ in 0..<3 {
        let report = await pair.a.store.sync()
        #expect(report.blocked.contains(SyncReport.Blocked(record: Self.child, by: Self.parent)))
        #expect(!report.rejected.contains { $0.record == Self.child })
        #expect(try await pair.server("C1", type: "Child") == nil)
        #expect(try pair.a.record("Child", "C1")?["parent"] == "P1")
      }
      try pair.a.restart()
      #expect(try pair.a.store.state(of: Self.child) == .pending(.insert))
    }
  }

  /// Promises: Scenario-13, H-59
  @Test(
    "A child of an oversized parent waits, and is sent once that is corrected"
  )
  func parentOverQuota() async throws {
    let pair = try Pair(
      schema: Self.schema(.cascade),
      rules: AccessRules(schema: Self.schema(.cascade), checksReferences: true, recordSizeLimit: 200))
    try pair.a.put(.child("C1", of: "P1"))
    try pair.a.put(AnyRecord("Parent", id: "P1", ["name": .text(String(repeating: "x", count: 500))]))
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.code) == ["tooLarge"])
    #expect(report.blocked == [SyncReport.Blocked(record: Self.child, by: Self.parent)])
    #expect(try await pair.world.serverRecords().isEmpty)
    #expect(try pair.a.record("Child", "C1") != nil)
    try pair.a.change { _ = try $0.update(Self.parent, fields: ["name": "short"]) }
    #expect(await pair.a.store.sync().pushed == 2)
    #expect(try await pair.isEven())
  }

  /// Returns a pair. A has added a child offline while B deleted its parent.
  private func orphan(
    _ schema: StoreSchema, policy: MergePolicy = .remoteWins,
    orphans: SyncOptions.MissingParentPolicy = .deleteRule,
    _ edit: (SimulatedDevice) throws -> Void = { _ in }
  ) async throws -> Pair {
    let rules = AccessRules(schema: schema, checksReferences: true)
    let pair = try Pair(schema: schema, rules: rules, policy: policy) { $0.orphans = orphans }
    try pair.b.put(.parent("P1"))
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.put(.child("C1", of: "P1"))
    try edit(pair.a)
    try pair.b.change { _ = try $0.delete(Self.parent) }
    await pair.b.store.sync()
    return pair
  }

  /// Promises: Scenario-14
  @Test("Under cascade a child is deleted with its remotely deleted parent and reported")
  func cascade() async throws {
    let pair = try await orphan(Self.schema(.cascade))
    let report = await pair.a.store.sync()
    #expect(report.overwritten.contains { $0.record == Self.child && $0.fields != nil })
    #expect(try pair.a.record("Child", "C1") == nil)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().isEmpty)
  }

  @Test("A deletion of an orphan in doubt gives way to another device's record")
  func inDoubt() async throws {
    let pair = try await orphan(Self.schema(.cascade))
    pair.a.remote.plan(.lostRequest, on: .operation(on: "C1"), times: 1)
    await pair.a.store.sync(.push)
    try pair.b.put(.parent("P2"))
    try pair.b.put(.child("C1", of: "P2"))
    await pair.b.store.sync()
    await pair.a.store.sync(.pull)
    #expect(try pair.a.store.outboxEntries().map(\.change) == [.delete])
    #expect(try await pair.isEven())
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "P2")
  }

  /// Promises: Scenario-14
  @Test("Under nullify the child stays without a parent")
  func nullify() async throws {
    let pair = try await orphan(Self.schema(.nullify, optional: true))
    for _ in 0..<2 { await pair.a.store.sync() }
    #expect(try pair.a.record("Child", "C1")?["parent"] == .null)
    #expect(try await pair.server("C1", type: "Child") == ["name": "C1"])
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-14
  @Test(
    "If the client wins, an edited parent is recreated and its child sent"
  )
  func resurrect() async throws {
    let pair = try await orphan(Self.schema(.cascade), policy: .localWins) { device in
      try device.change { _ = try $0.update(Self.parent, fields: ["name": "mine"]) }
    }
    for _ in 0..<2 { await pair.a.store.sync() }
    #expect(try await pair.server("P1", type: "Parent")?["name"] == "mine")
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "P1")
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-14
  @Test("By policy a deleted parent is recreated for its child")
  func resurrectClean() async throws {
    let pair = try await orphan(Self.schema(.cascade), orphans: .resurrect)
    for _ in 0..<2 { await pair.a.store.sync() }
    #expect(try await pair.server("P1", type: "Parent")?["name"] == "P1")
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "P1")
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-14
  @Test("By policy an orphan stays, and is rejected")
  func keepPending() async throws {
    let pair = try await orphan(Self.schema(.cascade), orphans: .keepPending)
    for _ in 0..<2 { await pair.a.store.sync() }
    #expect(try pair.a.record("Child", "C1")?["parent"] == "P1")
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [Self.child])
  }

  /// Promises: Scenario-14
  @Test("Under deny the child is rejected with the reason, and stays intact")
  func deny() async throws {
    let pair = try await orphan(Self.schema(.deny))
    await pair.a.store.sync()
    #expect(try pair.a.record("Child", "C1") != nil)
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [Self.child])
    #expect(try pair.a.store.rejectedEntries().map { $0.reason?.code } == ["unknownReference"])
    try pair.a.put(.parent("P1"))
    await pair.a.store.sync()
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.server("C1", type: "Child")?["parent"] == "P1")
    #expect(try await pair.isEven())
  }
}
