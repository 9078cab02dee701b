import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// One record of five hundred that the server rejects.
@Suite("A rejected record among many", .timeLimit(.minutes(5)))
struct Scenario11Poison {
  /// The rules of a server that accepts no long names.
  private let rules = AccessRules(schema: .family, checksReferences: true, recordSizeLimit: 200)
  private let long = FieldValue.text(String(repeating: "x", count: 500))

  private func parent(_ id: String) -> RecordID { RecordID(type: "Parent", id: id) }

  /// Promises: Scenario-11, H-41
  @Test(
    "Of 500 records with one rejected, 499 are stored and dependents of one wait")
  func poison() async throws {
    let pair = try Pair(schema: .family, rules: rules) { $0.batchSize = 500 }
    try pair.a.change { transaction in
      for number in 0..<500 {
        var record = AnyRecord.parent("P\(number)")
        if number == 250 { record["name"] = long }
        try transaction.insert(record)
      }
    }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 499)
    #expect(report.rejected.map(\.record) == [parent("P250")])
    #expect(report.rejected.map(\.code) == ["tooLarge"])
    #expect(try pair.a.store.rejectedEntries().map(\.id) == [parent("P250")])
    #expect(try pair.a.store.rejectedEntries().first?.reason?.code == "tooLarge")
    #expect(try await pair.world.serverRecords().count == 499)

    // A record that refers to it waits, and an unrelated one doesn't.
    try pair.a.put(.child("C1", of: "P250"))
    try pair.a.put(.child("C2", of: "P2"))
    let later = await pair.a.store.sync(.push)
    #expect(try await pair.server("C2", type: "Child") != nil)
    #expect(later.blocked.map(\.record.id) == ["C1"])
    #expect(later.blocked.map(\.by) == [parent("P250")])
    #expect(later.rejected.count == 1)

    try pair.a.change { _ = try $0.update(parent("P250"), fields: ["name": .text("short")]) }
    let cured = await pair.a.store.sync()
    #expect(cured.pushed == 2 && cured.rejected.isEmpty && cured.blocked.isEmpty)
    #expect(try await pair.world.serverRecords().count == 502)
    #expect(try await pair.isEven())
  }

  /// Promises: Scenario-11
  @Test(
    "A rejected deletion shows its record again, at once or when it is reverted")
  func refusedDeletion() async throws {
    for policy in [SyncOptions.RejectionPolicy.discardAndRefetch, .keepPending] {
      let pair = try await Pair.sharing(["T1", "T2"], rules: .undeletable) { $0.rejectionPolicy = policy }
      try pair.a.remove("T1")
      try pair.a.retitle("T2", "later")
      let report = await pair.a.store.sync(.push)
      #expect(report.rejected.map(\.operation) == [.delete])
      #expect(try await pair.serverTitle("T2") == "later")
      if policy == .keepPending {
        #expect(try pair.a.note("T1") == nil)
        try pair.a.store.resolve(report.rejected, .revert)
      }
      #expect(try pair.a.title("T1") == "start")
      #expect(try await pair.isEven())
    }
  }
}
