import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Requests that arrive again long after their device has moved on, and changes for cursors at the first position.
@Suite("Late copies of requests", .timeLimit(.minutes(5)))
struct LateCopyTests {
  private let time = VirtualTime()
  private let ann = Caller("ann")

  private func service(_ rules: AccessRules = AccessRules()) throws -> SyncService {
    SyncService(storage: try SQLiteServerStorage(), rules: rules, now: time.reader())
  }

  private func insert(_ id: String, operation: String, group: SyncOperation.Group? = nil)
    -> BothySync.SyncOperation
  {
    SyncOperation(id: operation, kind: .insert, record: .note(id), fields: ["title": "t"], group: group)
  }

  private func delete(_ id: String, at version: String, operation: String) -> BothySync.SyncOperation {
    SyncOperation(id: operation, kind: .delete, record: .note(id), base: version)
  }

  /// Sends operations, and returns the verdicts as text.
  @discardableResult
  private func send(
    _ operations: [BothySync.SyncOperation], from device: String = "d1", oldestOpen: String? = nil,
    _ service: SyncService
  ) async throws -> [String] {
    let request = SyncRequest(device: device, operations: operations, oldestOpen: oldestOpen)
    return try await service.sync(space: "s", user: ann, request).outcomes.map { outcome in
      switch outcome.verdict {
      case .applied(let version, _, _): "applied \(version)"
      case .duplicate(let version, _, _): "duplicate \(version)"
      case .conflict(let current): "conflict \(current.map { $0.isDeleted ? "deleted" : "live" } ?? "none")"
      case .rejected(let rejection): rejection.code
      case .waiting(let on): "waiting on \(on)"
      }
    }
  }

  private func count(_ service: SyncService, _ type: String = "Note") async throws -> Int {
    try await service.count(space: "s", user: ann, AnyQuery(type))
  }

  @Test("A late copy of a conflicting insert restores nothing that was deleted since")
  func conflict() async throws {
    let service = try service()
    try await send([insert("T1", operation: "b1")], from: "d2", service)
    let mine = insert("T1", operation: "a1")
    #expect(try await send([mine], service) == ["conflict live"])
    try await send([delete("T1", at: "1", operation: "b2")], from: "d2", service)
    #expect(try await send([mine], service) == ["conflict deleted"])
    #expect(try await count(service) == 0)
    // An operation that creates the record again has another id.
    #expect(try await send([insert("T1", operation: "a2")], service) == ["applied 3"])
  }

  @Test("A late copy of a conflicting group creates none of its records")
  func group() async throws {
    let service = try service()
    try await send([insert("T1", operation: "b1")], from: "d2", service)
    let group = SyncOperation.Group(id: "g", size: 2)
    let mine = [insert("T1", operation: "a1", group: group), insert("T2", operation: "a2", group: group)]
    #expect(try await send(mine, service) == ["conflict live", "waiting on a1"])
    try await send([delete("T1", at: "1", operation: "b2")], from: "d2", service)
    #expect(try await send(mine, service) == ["conflict deleted", "waiting on a1"])
    #expect(try await count(service) == 0)
  }

  @Test("A late copy of a waiting operation restores nothing that was deleted since")
  func waiting() async throws {
    let service = try service(.family)
    func parent(_ operation: String, _ name: JSONValue) -> BothySync.SyncOperation {
      SyncOperation(
        id: operation, kind: .insert, record: RecordID(type: "Parent", id: "P"), fields: ["name": name])
    }
    func child(_ operation: String) -> BothySync.SyncOperation {
      SyncOperation(
        id: operation, kind: .insert, record: RecordID(type: "Child", id: "C"),
        fields: ["name": "c", "parent": "P"])
    }
    let first = [parent("a1", 5), child("a2")]
    #expect(try await send(first, service) == ["invalid", "waiting on a1"])
    #expect(try await send([parent("a3", "p"), child("a4")], service) == ["applied 1", "applied 2"])
    let gone = SyncOperation(id: "a5", kind: .delete, record: RecordID(type: "Child", id: "C"), base: "2")
    #expect(try await send([gone], service) == ["applied 3"])
    #expect(try await send(first, service) == ["invalid", "waiting on a1"])
    #expect(try await count(service, "Child") == 0)
  }

  @Test("A repetition renews the time for which its verdict is remembered")
  func renewed() async throws {
    let service = try service()
    let mine = insert("T1", operation: "a")
    #expect(try await send([mine], service) == ["applied 1"])
    time.advance(by: 3_600_000)
    #expect(try await send([mine], service) == ["duplicate 1"])
    try await send([delete("T1", at: "1", operation: "b")], oldestOpen: "b", service)
    try await send([], oldestOpen: "c", service)
    #expect(try await send([mine], service) == ["duplicate 1"])
    #expect(try await count(service) == 0)
  }

  @Test("A cursor at the first position receives the records that left a scope")
  func departure() async throws {
    let service = try service()
    let inbox = SyncScope(container: "inbox")
    func pull(_ cursor: String?) async throws -> SyncResponse.Page {
      let request = SyncRequest(device: "d2", pulls: [.init(inbox, cursor: cursor)])
      return try #require(try await service.sync(space: "s", user: ann, request).pages.first)
    }
    let empty = try await pull(nil)
    var made = insert("T1", operation: "a")
    made.container = "inbox"
    let moved = SyncOperation(id: "b", kind: .update, record: .note("T1"), container: "archive", base: "1")
    #expect(try await send([made], service) == ["applied 1"])
    #expect(try await send([moved], service) == ["applied 2"])
    let page = try await pull(empty.cursor)
    #expect(!page.reset && page.outOfScope == [.note("T1")])
  }

  @Test("A cursor at the first position receives the loss of access")
  func notice() async throws {
    let service = try service(SharingRuleTests.rules())
    let bob = Caller("bob")
    func pull(_ cursor: String?) async throws -> SyncResponse.Page {
      let request = SyncRequest(device: "d2", pulls: [.init(.everything, cursor: cursor)])
      return try #require(try await service.sync(space: "s", user: bob, request).pages.first)
    }
    let empty = try await pull(nil)
    let names = Audience(users: ["bob"])
    var made = insert("T1", operation: "a")
    made.sharing = SharingChange(add: names)
    #expect(try await send([made], service) == ["applied 1"])
    let shut = SyncOperation(
      id: "b", kind: .update, record: .note("T1"), base: "1", sharing: SharingChange(remove: names))
    #expect(try await send([shut], service) == ["applied 2"])
    let page = try await pull(empty.cursor)
    #expect(!page.reset && page.changes.isEmpty && page.outOfScope == [.note("T1")])
  }
}
