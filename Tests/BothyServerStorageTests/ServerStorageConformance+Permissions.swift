import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of conditions in permissions, which look for memberships in the storage's transaction.
extension ServerStorageConformance {
  private static let isMember =
    "EXISTS(Member WHERE project = record.project AND user = principal.name AND role != 'guest')"

  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Task",
      fields: [
        FieldSchema("project", .text), FieldSchema("state", .text, optional: true),
        FieldSchema("level", .int, optional: true),
      ],
      permissions: Permissions().where(
        create: isMember,
        read: "state = 'public' OR level > 5 AND principal.groups INCLUDES 'staff' OR \(isMember)",
        update: isMember, delete: "_owner = principal.name")),
    TypeSchema(
      "Member",
      fields: [
        FieldSchema("project", .text), FieldSchema("user", .text, indexed: true),
        FieldSchema("role", .text, optional: true),
      ]),
  ])

  private static func service(_ storage: any ServerStorage) -> SyncService {
    SyncService(storage: storage, rules: AccessRules(schema: schema), now: { 1000 })
  }

  private static func change(
    _ kind: BothySync.ChangeKind, _ type: String, _ id: String, _ base: String? = nil,
    _ fields: [String: JSONValue] = [:]
  ) -> BothySync.SyncOperation {
    SyncOperation(
      id: "\(kind)-\(id)", kind: kind, record: RecordID(type: type, id: id), base: base, fields: fields)
  }

  /// Returns the verdicts as text, and the page after a cursor.
  private static func exchange(
    _ operations: [BothySync.SyncOperation], _ storage: any ServerStorage, by user: Caller,
    after cursor: String? = nil
  ) async throws -> (verdicts: [String], page: SyncResponse.Page) {
    let request = SyncRequest(
      device: UUIDv7.make(), operations: operations, pulls: [.init(.everything, cursor: cursor)])
    let response = try await service(storage).sync(space: "s", user: user, request)
    let verdicts = response.outcomes.map { outcome in
      switch outcome.verdict {
      case .applied(let version, _, _), .duplicate(let version, _, _): version
      case .conflict: "conflict"
      case .waiting: "waiting"
      case .rejected(let rejection): rejection.code
      }
    }
    return (verdicts, try #require(response.pages.first))
  }

  private static let ann = Caller("ann")
  private static let reader = Caller("bob")

  static let permissionChecks: [Check] = [
    Check("A note of former readers is found by its position, and by no container") { storage in
      @Sendable func note(_ position: Int64, _ former: String?) -> RecordRemoval {
        RecordRemoval(
          position: position, id: .note("a"), container: former == nil ? "x" : "/", former: former)
      }
      let notes = [note(1, "one"), note(2, nil), note(3, "three"), note(4, "\u{1F332} '\\u0000'")]
      try await storage.write(space: "s") { storage in
        try storage.put([entry(1, "b"), entry(5, "a")])
        try storage.put(notes)
        try storage.put([RecordRemoval]())
      }
      let found = try await storage.read(space: "s") { storage in
        let pages = try [(0, 5, 9), (1, 3, 9), (0, 5, 1), (4, 5, 9)].map {
          try storage.formerlyVisible(after: $0.0, upTo: $0.1, limit: $0.2)
        }
        let tree = SyncScope(container: "x", includesChildren: true)
        let scopes = try [SyncScope(container: "x"), tree, SyncScope(container: "/"), .everything].map {
          try storage.departures(after: 0, upTo: 9, from: $0, limit: 9)
        }
        return (storage.head, pages, scopes)
      }
      #expect(found.0 == 5)
      #expect(found.1 == [[notes[0], notes[2], notes[3]], [notes[2]], [notes[0]], []])
      #expect(found.2 == [[notes[1]], [notes[1]], [], []])
      try await storage.upkeep?.compact(space: "s", upTo: 3)
      let left = try await storage.read(space: "s") { try $0.formerlyVisible(after: 0, upTo: 9, limit: 9) }
      #expect(left == [notes[3]])
    },
    Check("Memberships of earlier requests and of the request itself give rights") { storage in
      let task = ["project": "P"] as [String: JSONValue]
      let refused = try await exchange([change(.insert, "Task", "t0", nil, task)], storage, by: ann)
      #expect(refused.verdicts == ["forbidden"])
      let member = change(.insert, "Member", "m1", nil, ["project": "P", "user": "ann"])
      let made = try await exchange([member, change(.insert, "Task", "t1", nil, task)], storage, by: ann)
      #expect(made.verdicts == ["1", "2"])
      #expect(
        try await exchange([change(.insert, "Task", "t2", nil, task)], storage, by: ann).verdicts == ["3"])
      #expect(
        try await exchange([change(.update, "Task", "t1", "2", ["level": 1])], storage, by: reader).verdicts
          == ["forbidden"])
      let moved = change(.update, "Task", "t1", "2", ["project": "Q"])
      #expect(try await exchange([moved], storage, by: ann).verdicts == ["forbidden"])
      let guest = change(.update, "Member", "m1", "1", ["role": "guest"])
      let after = change(.update, "Task", "t2", "3", ["level": 1])
      #expect(try await exchange([guest, after], storage, by: ann).verdicts == ["4", "forbidden"])
    },
    Check("What leaves the sight of a user is told to that user alone") { storage in
      let made = [
        change(.insert, "Member", "m1", nil, ["project": "P", "user": "ann"]),
        change(.insert, "Task", "t1", nil, ["project": "P", "state": "public"]),
        change(.insert, "Task", "t2", nil, ["project": "P"]),
      ]
      #expect(try await exchange(made, storage, by: ann).verdicts == ["1", "2", "3"])
      let first = try await exchange([], storage, by: reader)
      #expect(first.page.changes.map(\.id.id) == ["m1", "t1"])
      let hiding = [
        change(.update, "Task", "t1", "2", ["state": "draft"]),
        change(.update, "Task", "t2", "3", ["state": "draft"]),
      ]
      #expect(try await exchange(hiding, storage, by: ann).verdicts == ["4", "5"])
      let second = try await exchange([], storage, by: reader, after: first.page.cursor)
      #expect(second.page.changes.isEmpty && second.page.outOfScope.map(\.id) == ["t1"])
      let shown = [change(.update, "Task", "t2", "5", ["state": "public"])]
      #expect(try await exchange(shown, storage, by: ann).verdicts == ["6"])
      let third = try await exchange([], storage, by: reader, after: second.page.cursor)
      #expect(third.page.changes.map(\.id.id) == ["t2"] && third.page.outOfScope.isEmpty)
      #expect(try await exchange([change(.delete, "Task", "t2", "6")], storage, by: ann).verdicts == ["7"])
      let fourth = try await exchange([], storage, by: reader, after: third.page.cursor)
      #expect(fourth.page.changes.map(\.isDeleted) == [true] && fourth.page.changes.first?.fields == .empty)
    },
    Check("New rights of a user by memberships or groups name the type, and show its records") { storage in
      let made = [
        change(.insert, "Member", "m1", nil, ["project": "P", "user": "ann"]),
        change(.insert, "Task", "t1", nil, ["project": "P"]),
        change(.insert, "Task", "t2", nil, ["project": "P", "level": 9]),
      ]
      #expect(try await exchange(made, storage, by: ann).verdicts == ["1", "2", "3"])
      let service = service(storage)
      func seen(_ user: Caller) async throws -> [String] {
        try await service.query(space: "s", user: user, AnyQuery("Task")).map(\.id.id)
      }
      let first = try await exchange([], storage, by: reader)
      #expect(try await seen(reader).isEmpty)
      let staff = Caller("bob", groups: ["staff"])
      let second = try await exchange([], storage, by: staff, after: first.page.cursor)
      #expect(second.page.types == ["Task"])
      #expect(try await seen(staff) == ["t2"])
      let join = [change(.insert, "Member", "m2", nil, ["project": "P", "user": "bob"])]
      let third = try await exchange(join, storage, by: staff, after: second.page.cursor)
      #expect(third.page.types == ["Task"])
      #expect(try await seen(staff) == ["t1", "t2"])
      #expect(try await service.count(space: "s", user: reader, AnyQuery("Task")) == 2)
      #expect(try await exchange([], storage, by: staff, after: third.page.cursor).page.types.isEmpty)
    },
  ]
}
