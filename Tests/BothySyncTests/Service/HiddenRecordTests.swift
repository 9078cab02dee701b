import BothyStore
import BothySync
import BothySyncService
import Testing

/// Operations on records that their user can't see, which must reveal nothing.
@Suite("Hidden records leave no trace", .timeLimit(.minutes(5)))
struct HiddenRecordTests {
  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Private",
      fields: [FieldSchema("email", .text, unique: true), FieldSchema("text", .text, optional: true)],
      permissions: Permissions(
        create: .authenticated, read: .shared, update: .shared, delete: .owner, share: .owner)),
    TypeSchema("Link", fields: [FieldSchema("to", .reference(to: "Private", onDelete: .deny))]),
  ])
  private let ann = Caller("ann")
  private let mal = Caller("mal")

  private func send(
    _ service: SyncService, _ user: Caller, _ operations: BothySync.SyncOperation...
  ) async throws -> [Outcome.Verdict] {
    let request = SyncRequest(device: user.name ?? "", operations: operations)
    return try await service.sync(space: "s", user: user, request).outcomes.map(\.verdict)
  }

  private func insert(_ id: String, _ email: String) -> BothySync.SyncOperation {
    SyncOperation(
      id: "i-\(id)-\(email)", kind: .insert, record: RecordID(type: "Private", id: id),
      fields: ["email": .string(email)])
  }

  /// Returns the verdict as text, without the requested id.
  private func words(_ verdict: Outcome.Verdict, _ id: String) -> String {
    "\(verdict)".replacing(id, with: "ID")
  }

  @Test("Operations on hidden records, hidden tombstones and missing records have equal verdicts")
  func operations() async throws {
    let service = SyncService(
      storage: try SQLiteServerStorage(), rules: AccessRules(schema: Self.schema), now: { 1000 })
    _ = try await send(service, ann, insert("live", "a@x"), insert("dead", "b@x"))
    _ = try await send(
      service, ann,
      SyncOperation(id: "d", kind: .delete, record: RecordID(type: "Private", id: "dead"), base: "2"))
    _ = try await send(service, mal, insert("own", "mal@x"))
    var said: [Set<String>] = [[], [], [], [], [], [], []]
    for id in ["live", "dead", "none"] {
      let record = RecordID(type: "Private", id: id)
      let verdicts = try await send(
        service, mal,
        SyncOperation(id: "u\(id)", kind: .update, record: record, base: "1", fields: ["text": "x"]),
        SyncOperation(id: "d\(id)", kind: .delete, record: record, base: "1"),
        SyncOperation(
          id: "s\(id)", kind: .update, record: record, base: "1",
          sharing: SharingChange(add: Audience(users: ["mal"]))),
        SyncOperation(id: "n\(id)", kind: .insert, record: record, fields: ["email": 7]),
        insert(id, "mal@x"),
        SyncOperation(
          id: "r\(id)", kind: .insert, record: RecordID(type: "Link", id: "r"), fields: ["to": .string(id)]))
      for (index, verdict) in verdicts.enumerated() { said[index].insert(words(verdict, id)) }
      // Repetitions have equal verdicts too.
      let again = try await send(
        service, mal, SyncOperation(id: "d\(id)", kind: .delete, record: record, base: "1"))
      said[6].insert(words(again[0], id))
    }
    for (index, words) in said.enumerated() { #expect(words.count == 1, "\(index): \(words)") }
  }

  @Test("A duplicate of a hidden record's unique value is rejected without naming the record")
  func unique() async throws {
    let service = SyncService(
      storage: try SQLiteServerStorage(), rules: AccessRules(schema: Self.schema), now: { 1000 })
    _ = try await send(service, ann, insert("secret-id", "a@x"))
    let verdict = try await send(service, mal, insert("new", "a@x"))[0]
    #expect(!"\(verdict)".contains("secret-id") && "\(verdict)".contains("uniqueViolation"))
    // An insert with its id doesn't replace it either.
    let taken = try await send(service, mal, insert("secret-id", "mine@x"))[0]
    guard case .rejected(let rejection) = taken else {
      Issue.record("\(taken)")
      return
    }
    #expect(rejection.code == "forbidden")
  }
}
