import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Groups of operations, which the server applies as a whole or not at all.
@Suite("The server's rule on groups", .timeLimit(.minutes(5)))
struct SyncServiceGroupTests {
  private func service(_ rules: AccessRules = AccessRules()) throws -> SyncService {
    SyncService(storage: try SQLiteServerStorage(), rules: rules, now: { 1000 })
  }

  private func insert(_ id: String, group: String? = "g", size: Int = 2, note: String? = nil)
    -> BothySync.SyncOperation
  {
    var operation = SyncOperation(
      id: "op-\(id)", kind: .insert, record: .note(id), fields: ["title": "t"],
      group: group.map { .init(id: $0, size: size) })
    operation.fields["note"] = note.map { .string($0) }
    return operation
  }

  private func words(_ operations: [BothySync.SyncOperation], _ service: SyncService) async throws -> [String]
  {
    let request = SyncRequest(device: "d1", operations: operations)
    return try await service.sync(
      space: "s", user: Caller("ann"), try SyncRequest(decoding: request.encoded())
    ).outcomes.map { outcome in
      switch outcome.verdict {
      case .applied(let version, _, _): "applied \(version)"
      case .duplicate(let version, _, _): "duplicate \(version)"
      case .conflict: "conflict"
      case .rejected(let rejection): rejection.code
      case .waiting(let on): "waiting on \(on)"
      }
    }
  }

  private func ids(_ service: SyncService) async throws -> [String] {
    let query = AnyQuery("Note")
    return try await service.query(space: "s", user: Caller("ann"), query).map(\.id.id).sorted()
  }

  @Test("A group is applied once, and a repetition receives the first verdicts")
  func repeated() async throws {
    let service = try service()
    #expect(try await words([insert("T1"), insert("T2")], service) == ["applied 1", "applied 2"])
    #expect(try await words([insert("T1"), insert("T2")], service) == ["duplicate 1", "duplicate 2"])
    #expect(try await ids(service) == ["T1", "T2"])
  }

  @Test("A rejected operation fails its group, and operations after the group are applied")
  func refused() async throws {
    let service = try service(.withoutNotes)
    let operations = [
      insert("T1", size: 3), insert("T2", size: 3, note: "x"), insert("T3", size: 3),
      insert("T4", group: nil),
    ]
    let expected = ["waiting on op-T2", "invalid", "waiting on op-T2", "applied 1"]
    #expect(try await words(operations, service) == expected)
    #expect(try await ids(service) == ["T4"])
    // A repetition receives the earlier verdicts.
    #expect(try await words(Array(operations.prefix(3)), service) == Array(expected.prefix(3)))
    // Operations that need a new decision have other ids.
    var cured = ["T1", "T2", "T3"].map { insert($0, size: 3) }
    for index in cured.indices { cured[index].id += "again" }
    #expect(try await words(cured, service) == ["applied 2", "applied 3", "applied 4"])
  }

  @Test("All conflicts of a group are reported at once, and no change is applied")
  func conflicts() async throws {
    let service = try service()
    _ = try await words([insert("T1", group: nil), insert("T3", group: nil)], service)
    var operations = [insert("T1", size: 3), insert("T2", size: 3), insert("T3", size: 3)]
    for index in operations.indices { operations[index].id += "again" }
    #expect(try await words(operations, service) == ["conflict", "waiting on op-T1again", "conflict"])
    #expect(try await ids(service) == ["T1", "T3"])
  }

  @Test("An incomplete group isn't applied, and doesn't stop the other operations")
  func incomplete() async throws {
    let service = try service()
    let operations = [insert("T1", size: 2), insert("T2", group: nil), insert("T3", size: 2)]
    #expect(try await words(operations, service) == ["incompleteGroup", "applied 1", "incompleteGroup"])
    #expect(try await ids(service) == ["T2"])
    // The server still knows a part of a group that was applied as a whole.
    #expect(try await words([insert("T1"), insert("T3")], service) == ["applied 2", "applied 3"])
    #expect(try await words([insert("T3")], service) == ["duplicate 3"])
  }

  @Test("An operation that needs a record of a failed group waits")
  func dependent() async throws {
    let service = try service(.family)
    let group = SyncOperation.Group(id: "g", size: 2)
    let operations = [
      SyncOperation(
        id: "1", kind: .insert, record: RecordID(type: "Parent", id: "P1"), fields: ["name": "p"],
        group: group),
      SyncOperation(
        id: "2", kind: .insert, record: RecordID(type: "Child", id: "C1"),
        fields: ["name": "c", "parent": "P9"], group: group),
      SyncOperation(
        id: "3", kind: .insert, record: RecordID(type: "Child", id: "C2"),
        fields: ["name": "c", "parent": "P1"]),
    ]
    #expect(try await words(operations, service) == ["waiting on 2", "unknownReference", "waiting on 2"])
  }

  @Test(
    "A malformed group is rejected when it is read",
    arguments: [
      #"{"id":"g"}"#, #"{"id":"","size":1}"#, #"{"id":"g","size":0}"#, #"{"id":"g","size":1,"x":1}"#,
    ])
  func malformed(_ group: String) {
    let text =
      #"{"device":"d","operations":[{"id":"1","kind":"delete","type":"T","record":"r","group":\#(group)}]}"#
    #expect(throws: JSONError.self) { try SyncRequest(decoding: Array(text.utf8)) }
  }
}
