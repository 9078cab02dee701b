import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Synchronization
import Testing

@Suite("Secrets of stacked changes", .faultsStrike, .timeLimit(.minutes(5)))
struct StackedSecretTests {
  private static let schema = StoreSchema(
    version: 1,
    types: [
      TypeSchema(
        "User",
        fields: [
          FieldSchema("name", .text), FieldSchema("bad", .text, optional: true),
          FieldSchema("password", .text, optional: true, sensitive: true),
        ])
    ])
  final class Taken: Sendable {
    let words = Mutex<[String]>([])
    func rules() -> AccessRules {
      var schema = StackedSecretTests.schema
      schema.types[0].fields.remove(at: 1)
      var rules = AccessRules(schema: schema)
      rules.receiveSecrets = { _, record, secrets in
        self.words.withLock { $0.append("\(record.id)=\(secrets.values["password"] ?? "")") }
      }
      return rules
    }
  }

  @Test("The secret of a rejected transaction stays here")
  func theSecretOfATransactionThatIsRefusedStaysHere() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let a = try world.device("a", Self.schema)
    try a.put("User", "1", ["name": .text("ann"), "password": .text("old")])
    try a.put("User", "2", ["name": .text("bob")])
    await a.store.sync()
    a.remote.isOffline = true
    try a.set("User", "1", ["name": .text("Ann")])
    try a.atomic {
      _ = try $0.update(RecordID(type: "User", id: "1"), fields: ["password": .text("new")])
      _ = try $0.update(RecordID(type: "User", id: "2"), fields: ["bad": .text("refused")])
    }
    a.remote.isOffline = false
    let report = await a.store.sync()
    #expect(report.rejected.map(\.record.id) == ["2"])
    #expect(!taken.words.withLock { $0 }.contains("1=new"))
  }

  /// Like the test above, but without the edit beneath.
  @Test("The secret of a rejected transaction alone stays here")
  func withoutAnEditBeneath() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let a = try world.device("a", Self.schema)
    try a.put("User", "1", ["name": .text("ann"), "password": .text("old")])
    try a.put("User", "2", ["name": .text("bob")])
    await a.store.sync()
    try a.atomic {
      _ = try $0.update(RecordID(type: "User", id: "1"), fields: ["password": .text("new")])
      _ = try $0.update(RecordID(type: "User", id: "2"), fields: ["bad": .text("refused")])
    }
    let report = await a.store.sync()
    #expect(report.rejected.map(\.record.id) == ["2"])
    #expect(!taken.words.withLock { $0 }.contains("1=new"))
  }

  /// Writes a draft of a password on top of an edit.
  @Test("The secret of a draft stays here")
  func theSecretOfADraftStaysHere() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let a = try world.device("a", Self.schema)
    try a.put("User", "1", ["name": .text("ann"), "password": .text("old")])
    await a.store.sync()
    a.remote.isOffline = true
    try a.atomic { _ = try $0.update(RecordID(type: "User", id: "1"), fields: ["name": .text("Ann")]) }
    try await a.store.writeDraft {
      _ = try $0.update(RecordID(type: "User", id: "1"), fields: ["password": .text("draft")])
    }
    a.remote.isOffline = false
    await a.store.sync()
    #expect(!taken.words.withLock { $0 }.contains("1=draft"))
  }

  /// Sends the later of two passwords although the first was in doubt.
  @Test("Of two secrets in doubt, the later one arrives")
  func theLaterOfTwo() async throws {
    let taken = Taken()
    let world = try SimulatedWorld(rules: taken.rules())
    let a = try world.device("a", Self.schema)
    try a.put("User", "1", ["name": .text("ann"), "password": .text("old")])
    await a.store.sync()
    a.remote.plan(.lostAnswer, on: .operations, times: 1)
    try a.atomic {
      _ = try $0.update(RecordID(type: "User", id: "1"), fields: ["password": .text("first")])
    }
    await a.store.sync()
    try a.atomic {
      _ = try $0.update(RecordID(type: "User", id: "1"), fields: ["password": .text("second")])
    }
    await a.store.sync()
    await a.store.sync()
    #expect(taken.words.withLock { $0.last } == "1=second")
  }
}
