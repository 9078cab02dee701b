import BothyStore
import BothySync
import BothySyncService
import Testing

@Suite("Notices of a user and its groups", .timeLimit(.minutes(5)))
struct GroupNoticeTests {
  private typealias Change = BothySync.SyncOperation
  private let service: SyncService
  private let bob = Caller("bob", groups: ["guides"])

  init() throws {
    service = try SyncService(
      storage: SQLiteServerStorage(), rules: SharingRuleTests.rules(), now: { 1000 })
  }

  private func push(_ change: Change) async throws -> String {
    switch try await service.perform(space: "s", user: Caller("ann"), change) {
    case .applied(let version, _, _), .duplicate(let version, _, _): return version
    case .conflict, .rejected, .waiting: throw SyncServiceError(.badRequest, "The change wasn't applied.")
    }
  }

  private func list(_ id: String, _ members: [String], base: String? = nil) -> Change {
    let list = UserList(id: id, name: id, members: members)
    return Change(
      id: "o", kind: base == nil ? .insert : .update, record: list.recordID, base: base, fields: list.fields)
  }

  private func pull(_ cursor: String?, limit: Int) async throws -> SyncResponse.Page {
    let request = SyncRequest(device: "b", pulls: [.init(.everything, cursor: cursor)], limit: limit)
    return try #require(try await service.sync(space: "s", user: bob, request).pages.first)
  }

  @Test("Every record that user and group lose is told over small pages", arguments: [1, 2, 1000])
  func lost(limit: Int) async throws {
    let friends = try await push(list("L1", ["bob"]))
    let guides = try await push(list("L2", ["group:guides"]))
    for (id, lists) in [("r1", ["L1", "L2"]), ("r2", ["L1", "L2"]), ("r3", ["L1"])] {
      _ = try await push(
        Change(
          id: "o", kind: .insert, record: .note(id), fields: ["title": "t"],
          sharing: SharingChange(add: Audience(lists: Set(lists)))))
    }
    var page = try await pull(nil, limit: 1000)
    #expect(page.changes.map(\.id.id) == ["r1", "r2", "r3"] && !page.more)
    _ = try await push(list("L1", [], base: friends))
    _ = try await push(list("L2", [], base: guides))
    var gone: Set<String> = []
    repeat {
      page = try await pull(page.cursor, limit: limit)
      gone.formUnion(page.outOfScope.map(\.id))
    } while page.more
    #expect(gone == ["r1", "r2", "r3"])
  }
}
