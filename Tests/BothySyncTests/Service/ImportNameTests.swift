import BothyStore
import BothySync
import BothySyncService
import Testing

/// The names in imported records, by the rule of all other calls.
@Suite("Names in imports", .timeLimit(.minutes(5)))
struct ImportNameTests {
  private static let composed = "caf\u{E9}"
  private static let decomposed = "cafe\u{301}"

  private func record(_ id: String, owner: String? = "ann", _ sharing: Audience = .nobody) -> ServerRecord {
    ServerRecord(
      id: .note(id), container: "Note", version: "", modified: 1, created: 1, owner: owner,
      fields: FieldsDocument(["title": .string(Self.decomposed)]), sharing: sharing)
  }

  private func list(_ id: String, _ members: [String]) -> ServerRecord {
    ServerRecord(
      id: RecordID(type: UserList.typeName, id: id), version: "", modified: 1, created: 1, owner: "ann",
      fields: FieldsDocument(["members": .array(members.map { .string($0) })]))
  }

  @Test("A record with a name outside of NFC is left out")
  func records() async throws {
    let service = SyncService(storage: try SQLiteServerStorage(), now: { 1000 })
    let good = [
      record("plain"), record(Self.decomposed), record("owned", owner: Self.composed),
      record("shared", Audience(users: [Self.composed], lists: [Self.composed])),
      list(Self.composed, ["ann", Self.composed]),
    ]
    let bad = [
      record("owner", owner: Self.decomposed), record("user", .users(Self.decomposed)),
      record("list", .lists(Self.decomposed)), list(Self.decomposed, []), list("members", [Self.decomposed]),
    ]
    let done = try await service.restore(good + bad, into: "s")
    #expect(done.inserted == good.count)
    #expect(Set(done.refused.keys) == Set(bad.map(\.id)))
    #expect(done.refused.values.allSatisfy { $0.code == "invalidName" })
    let kept = try await service.record(space: "s", user: Caller("ann"), .note("plain"))
    #expect(try kept?.fields.members()["title"]?.stringValue?.unicodeScalars.count == 5)
  }

  @Test("A space with a name outside of NFC is refused")
  func spaces() async throws {
    let service = SyncService(storage: try SQLiteServerStorage(), now: { 1000 })
    let error = await #expect(throws: BothyError.self) {
      try await service.restore([record("a")], into: Self.decomposed)
    }
    #expect(error?.code == .invalidValue)
    #expect(try await service.restore([record("a")], into: Self.composed).inserted == 1)
  }
}
