import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// Unique fields on all devices. The server checks them, and a rejected record waits with its reason.
@Suite("Unique fields on the server", .timeLimit(.minutes(5)))
struct UniqueOnServerTests {
  private static let schema = StoreSchema(types: [
    TypeSchema(
      "User",
      fields: [FieldSchema("email", .text, optional: true, unique: true), FieldSchema("name", .text)])
  ])

  private func pair(_ permissions: Permissions? = nil) throws -> Pair {
    var schema = Self.schema
    if let permissions { schema.types[0].permissions = permissions }
    return try Pair(schema: Self.schema, rules: AccessRules(schema: schema))
  }

  private func user(_ id: String, _ email: String?, _ name: String = "n") -> AnyRecord {
    AnyRecord("User", id: id, ["email": email.map { .text($0) } ?? .null, "name": .text(name)])
  }

  private func emails(_ pair: Pair) async throws -> [String: String] {
    try await pair.world.serverRecords().values.reduce(into: [:]) { found, record in
      found[record.id.id] = try record.fields.members()["email"]?.stringValue
    }
  }

  @Test("A value taken by another device is rejected with its field")
  func taken() async throws {
    let pair = try pair()
    try pair.a.put(user("u1", "x@y.z"))
    try pair.b.put(user("u2", "x@y.z"))
    try pair.b.put(user("u3", "free@y.z"))
    #expect(await pair.a.store.sync().rejected.isEmpty)
    let report = await pair.b.store.sync()
    #expect(report.rejected.map(\.code) == ["uniqueViolation"])
    #expect(report.pushed == 1)
    let reason = try #require(try pair.b.store.rejectedEntries().first?.reason)
    #expect(reason.fields.map(\.field) == ["email"])
    #expect(reason.json.contains(#""record":"u1""#))
    #expect(reason.message.contains("'u1'") && reason.message.contains("Choose another value"))
    #expect(try await emails(pair) == ["u1": "x@y.z", "u3": "free@y.z"])
    // Once the value is free, the rejected record is sent unchanged.
    try pair.a.change { _ = try $0.update(RecordID(type: "User", id: "u1"), fields: ["email": .text("new")]) }
    await pair.a.store.sync()
    pair.world.time.advance(by: 86_400_000)
    #expect(await pair.b.store.sync().rejected.isEmpty)
    #expect(try await emails(pair) == ["u1": "new", "u2": "x@y.z", "u3": "free@y.z"])
    #expect(try await pair.isEven())
  }

  @Test("A record with a duplicate unique value accepts edits of its other fields")
  func notFrozen() async throws {
    let pair = try pair()
    let twins = ["u1", "u2"].map { id in
      ServerRecord(
        id: RecordID(type: "User", id: id), container: "User", version: "", modified: 1,
        fields: FieldsDocument(["email": "x@y.z", "name": "n"]))
    }
    _ = try await pair.world.service.restore(twins, into: "test")
    await pair.a.store.sync()
    try pair.a.change { _ = try $0.update(RecordID(type: "User", id: "u1"), fields: ["name": .text("new")]) }
    #expect(await pair.a.store.sync().rejected.isEmpty)
    #expect(try await pair.server("u1", type: "User")?["name"] == "new")
    // The diagnosis reports both records by name.
    let findings = try pair.a.store.diagnose().findings
    #expect(findings.map(\.check) == ["unique"])
    #expect(findings.first.map { $0.message.contains("'u1'") && $0.message.contains("'u2'") } ?? false)
    // The value can't be used again.
    #expect(throws: BothyError.self) { try pair.a.put(user("u3", "x@y.z")) }
  }

  @Test("A reference to an unknown record is rejected unless the check is off")
  func references() async throws {
    let service = { (rules: AccessRules) in
      SyncService(storage: try SQLiteServerStorage(), rules: rules, now: { 1000 })
    }
    let request = SyncRequest(
      device: "d",
      operations: [
        SyncOperation(
          id: "1", kind: .insert, record: RecordID(type: "Child", id: "c"),
          fields: ["name": "c", "parent": "P"])
      ])
    let first = try await service(AccessRules(schema: .family)).sync(
      space: "s", user: Caller("ann"), request
    ).outcomes.first
    guard case .rejected(let rejection)? = first?.verdict else {
      Issue.record("\(String(describing: first))")
      return
    }
    #expect(rejection.code == "unknownReference")
    #expect(rejection.fields.map(\.field) == ["parent"])
    #expect(rejection.json.contains(#""record":"P""#))
    let off = AccessRules(schema: .family, checksReferences: false)
    let second = try await service(off).sync(
      space: "s", user: Caller("ann"), request
    ).outcomes.first
    guard case .applied? = second?.verdict else {
      Issue.record("\(String(describing: second))")
      return
    }
  }
}
