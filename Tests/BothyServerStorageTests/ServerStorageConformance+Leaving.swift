import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of members who leave lists of others.
extension ServerStorageConformance {
  private struct FixedRule: WriteRule {
    let decision: WriteDecision

    func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
      proposal.writes.map { _ in decision }
    }
  }

  private static func service(
    _ storage: any ServerStorage, _ configure: (inout AccessRules) -> Void = { _ in }
  ) -> SyncService {
    var rules = AccessRules(
      schema: StoreSchema(types: [
        TypeSchema(
          "Private", fields: [FieldSchema("title", .text)],
          permissions: Permissions(read: .shared, update: .shared, delete: .owner))
      ]))
    configure(&rules)
    return SyncService(storage: storage, rules: rules, now: { 1000 })
  }

  private static let record = RecordID(type: "Private", id: "r")

  private static func leave(
    _ user: String, id: String = "leave", list: String = "L"
  ) -> BothySync.SyncOperation {
    SyncOperation(
      id: id, kind: .update, record: UserList.recordID(list),
      sharing: SharingChange(remove: .users(user)))
  }

  private static func send(
    _ operations: [BothySync.SyncOperation], by user: String, to service: SyncService
  ) async throws -> [Outcome.Verdict] {
    let request = SyncRequest(device: "device of \(user)", operations: operations)
    return try await service.sync(space: "s", user: Caller(user), request).outcomes.map(\.verdict)
  }

  private static func pull(
    by user: String, _ cursor: String? = nil, from service: SyncService
  ) async throws -> SyncResponse.Page {
    let request = SyncRequest(device: "device of \(user)", pulls: [.init(.everything, cursor: cursor)])
    return try #require(try await service.sync(space: "s", user: Caller(user), request).pages.first)
  }

  /// Makes a list of ann's that names bob and cid, with a record that is shared with it.
  private static func share(_ service: SyncService) async throws {
    let list = UserList(id: "L", name: "friends", members: ["bob", "cid"])
    let made = SyncOperation(id: "list", kind: .insert, record: list.recordID, fields: list.fields)
    var shared = SyncOperation(id: "record", kind: .insert, record: record, fields: ["title": "t"])
    shared.sharing = SharingChange(add: .lists("L"))
    let verdicts = try await send([made, shared], by: "ann", to: service)
    #expect(verdicts.filter(\.isApplied).count == 2)
  }

  private static func members(_ storage: any ServerStorage) async throws -> [Set<String>] {
    try await storage.read(space: "s") { storage in
      let list = try storage.records([UserList.recordID("L")])[UserList.recordID("L")]?.record
      let named = UserList.members(in: try list?.fields.members() ?? [:])
      return [Set(named), try storage.members(of: "L")]
    }
  }

  static let leavingChecks: [Check] = [
    Check("A member leaves a list once, at any version, and a repetition changes nothing") { storage in
      let service = service(storage)
      try await share(service)
      #expect(try await service.joinedLists(space: "s", user: Caller("bob")).map(\.owner) == ["ann"])
      let first = try await send([leave("bob")], by: "bob", to: service)
      guard case .applied(let version, let modified, nil)? = first.first else {
        Issue.record("\(first)")
        return
      }
      #expect(try await members(storage) == [["cid"], ["cid"]])
      #expect(try await service.joinedLists(space: "s", user: Caller("bob")).isEmpty)
      let head = try await storage.read(space: "s") { $0.head }
      let again = try await send([leave("bob")], by: "bob", to: service)
      #expect(again == [.duplicate(version: version, modified: modified, record: nil)])
      #expect(try await storage.read(space: "s") { $0.head } == head)
      let history = try await storage.read(space: "s") { try $0.history(after: 0, limit: 9) }
      #expect(history.last?.user == "bob" && history.last?.record == UserList.recordID("L"))
    },
    Check("A list that doesn't name the user, a deleted one and a missing one are left alike") { storage in
      let service = service(storage)
      try await share(service)
      let gone = UserList(id: "G", name: "gone", members: ["bob"])
      let made = SyncOperation(id: "gone", kind: .insert, record: gone.recordID, fields: gone.fields)
      guard case .applied(let version, _, _)? = try await send([made], by: "ann", to: service).first else {
        Issue.record("the list was not made")
        return
      }
      let deleted = SyncOperation(id: "deleted", kind: .delete, record: gone.recordID, base: version)
      _ = try await send([deleted], by: "ann", to: service)
      let head = try await storage.read(space: "s") { $0.head }
      let sent = [leave("dan"), leave("dan", id: "none", list: "none"), leave("dan", id: "g", list: "G")]
      let nothing = Array(repeating: Outcome.Verdict.conflict(current: nil), count: 3)
      #expect(try await send(sent, by: "dan", to: service) == nothing)
      #expect(try await send(sent, by: "dan", to: service) == nothing)
      #expect(try await storage.read(space: "s") { $0.head } == head)
    },
    Check("A user can't take another one out of a list, or change it otherwise") { storage in
      let service = service(storage)
      try await share(service)
      var renamed = leave("bob", id: "name")
      renamed.fields = ["name": "mine"]
      for operation in [leave("cid"), renamed] {
        guard case .rejected(let rejection)? = try await send([operation], by: "bob", to: service).first
        else {
          Issue.record("\(operation.id) was not rejected")
          continue
        }
        #expect(rejection.code == "forbidden")
      }
      #expect(try await members(storage) == [["bob", "cid"], ["bob", "cid"]])
    },
    Check("What a list alone showed leaves the member's devices, and no other's") { storage in
      let service = service(storage)
      try await share(service)
      let cursors = [
        try await pull(by: "bob", from: service).cursor, try await pull(by: "cid", from: service).cursor,
      ]
      _ = try await send([leave("bob")], by: "bob", to: service)
      let page = try await pull(by: "bob", cursors[0], from: service)
      #expect(page.outOfScope == [record] && page.changes.isEmpty)
      let other = try await pull(by: "cid", cursors[1], from: service)
      #expect(other.outOfScope.isEmpty && other.changes.isEmpty)
      #expect(try await service.record(space: "s", user: Caller("bob"), record) == nil)
      #expect(try await service.record(space: "s", user: Caller("cid"), record) != nil)
    },
    Check("Later operations of the request don't have what the list showed") { storage in
      let service = service(storage)
      try await share(service)
      let version = try await service.record(space: "s", user: Caller("bob"), record)?.version
      let edit = SyncOperation(
        id: "z-edit", kind: .update, record: record, base: version, fields: ["title": "bob's"])
      let verdicts = try await send([leave("bob", id: "a-leave"), edit], by: "bob", to: service)
      #expect(verdicts.first?.isApplied == true)
      guard case .rejected? = verdicts.last else {
        Issue.record("\(verdicts)")
        return
      }
    },
    Check("An owner leaves the own list and gets it, and lists that are left make room") { storage in
      let service = service(storage) { $0.listLimit = 16 }
      for id in ["L", "M"] {
        let list = UserList(id: id, name: id, members: ["ann", "bob"])
        let made = SyncOperation(id: id, kind: .insert, record: list.recordID, fields: list.fields)
        _ = try await send([made], by: "ann", to: service)
      }
      let more = UserList(id: "N", name: "N", members: ["bob"])
      let third = SyncOperation(id: "n", kind: .insert, record: more.recordID, fields: more.fields)
      await #expect(throws: SyncServiceError.self) { try await send([third], by: "ann", to: service) }
      _ = try await send([leave("bob")], by: "bob", to: service)
      #expect(try await send([third], by: "ann", to: service).first?.isApplied == true)
      guard case .applied(_, _, let own?)? = try await send([leave("ann")], by: "ann", to: service).first
      else {
        Issue.record("the owner did not get the list")
        return
      }
      let fields = try own.fields.members()
      #expect(UserList.members(in: fields).isEmpty)
    },
    Check("The lists that name a user are told by id, with their owners, up to the limit") { storage in
      try await storage.write(space: "s") { storage in
        try storage.setMembers(["bob"], of: "b", ownedBy: "ann")
        try storage.setMembers(["bob", "cid"], of: "a", ownedBy: "eve")
        try storage.setMembers(["bob"], of: "c", ownedBy: nil)
        try storage.setMembers(["group:bob"], of: "d", ownedBy: "ann")
      }
      let caller = Caller("bob", groups: ["bob"])
      let all = try await service(storage).joinedLists(space: "s", user: caller)
      #expect(all.map(\.id) == ["a", "b", "c"] && all.map(\.owner) == ["eve", "ann", nil])
      let two = try await storage.read(space: "s") { try $0.listOwners(of: "bob", limit: 2) }
      #expect(two.map(\.list) == ["a", "b"])
      #expect(try await service(storage).joinedLists(space: "other", user: caller).isEmpty)
      #expect(try await service(storage).joinedLists(space: "s", user: .anonymous).isEmpty)
    },
    Check("The team's rule may refuse that a member leaves, and amends nothing of it") { storage in
      try await share(service(storage))
      let refusing = service(storage) { $0.writeRule = FixedRule(decision: .refuse("stay", "Stay.")) }
      let refusal = Outcome.Verdict.rejected(Rejection(code: "stay", message: "Stay."))
      #expect(try await send([leave("bob")], by: "bob", to: refusing) == [refusal])
      let amending = service(storage) { $0.writeRule = FixedRule(decision: .amend(setting: ["name": "x"])) }
      await #expect(throws: WriteRuleUnavailable.self) {
        try await send([leave("bob", id: "again")], by: "bob", to: amending)
      }
      #expect(try await members(storage).last == ["bob", "cid"])
    },
  ]
}
