import BothyStore
import BothySync
import BothySyncService
import Testing

@Suite("The server's conditions of permissions", .timeLimit(.minutes(5)))
struct PermissionRuleTests {
  private let server: ProjectServer
  private let ann = Caller("ann")
  private let bob = Caller("bob")
  private let cid = Caller("cid")

  init() throws { server = try ProjectServer() }

  private func join(_ name: String, _ role: String? = nil, id: String? = nil) -> ProjectServer.Change {
    var fields: [String: JSONValue] = ["project": "P", "user": .string(name)]
    if let role { fields["role"] = .string(role) }
    return ProjectServer.insert("Membership", id ?? "M-\(name)", fields)
  }

  private func edit(_ base: String, _ title: String = "door") -> ProjectServer.Change {
    ProjectServer.update("Task", "T", base, ["title": .string(title)])
  }

  private func sees(_ user: Caller, _ type: String = "Task") async throws -> [String] {
    try await server.service.query(space: "s", user: user, AnyQuery(type)).map(\.id.id)
  }

  @Test("A membership gives the rights of its role, and a stranger has none")
  func roles() async throws {
    try await server.found()
    #expect(try await server.send(cid, edit("2")) == ["forbidden"])
    #expect(try await server.send(cid, join("cid")) == ["unknownReference"], "the project is hidden")
    #expect(try await server.send(ann, join("bob", "reader"), join("cid", "writer")) == ["3", "4"])
    #expect(try await server.send(bob, edit("2")) == ["forbidden"])
    #expect(try await server.send(cid, edit("2")) == ["5"])
    #expect(try await server.send(bob, join("bob", "writer", id: "M2")) == ["forbidden"])
    let task = ProjectServer.insert("Task", "T2", ["project": "P", "title": "wall"])
    #expect(try await server.send(bob, task) == ["forbidden"])
    #expect(try await server.send(cid, task) == ["6"])
    // The maker of a task deletes it, and another writer doesn't.
    #expect(try await server.send(cid, ProjectServer.delete("Task", "T", "5")) == ["forbidden"])
    #expect(try await server.send(cid, ProjectServer.delete("Task", "T2", "6")) == ["7"])
  }

  /// Promises: A-17
  @Test("Operations are decided with the memberships of those before them")
  func order() async throws {
    try await server.found()
    #expect(try await server.send(ann, ProjectServer.update("Project", "P", "1", ["lead": "bob"])) == ["3"])
    // Bob leads now.
    #expect(try await server.send(ann, edit("2")) == ["forbidden"])
    let verdicts = try await server.send(
      bob, join("ann"), edit("2"), ProjectServer.update("Project", "P", "3", ["lead": "cid"]), edit("5"),
      ProjectServer.delete("Membership", "M-ann", "4"))
    #expect(verdicts == ["4", "5", "6", "forbidden", "conflict"])
    // A group that is refused changes no rights.
    var first = ProjectServer.update("Project", "P", "6", ["lead": "dan"])
    // An update without an effect keeps its version, so this one has another title.
    var (second, third) = (edit("5"), edit("5", "gate"))
    (first.group, second.group) = (.init(id: "g", size: 2), .init(id: "g", size: 2))
    third.id = "alone"
    let last = try await server.send(cid, first, second, third)
    #expect(last == ["waiting", "forbidden", "7"], "\(last)")
  }

  @Test("Memberships whose ids only look alike count each on its own")
  func equivalentMemberships() async throws {
    try await server.found()
    try await server.send(
      ann, ProjectServer.insert("Project", "Q", ["name": "lake", "lead": "ann"]),
      ProjectServer.insert("Task", "U", ["project": "Q", "title": "boat"]))
    for (id, project) in [("caf\u{E9}", "P"), ("cafe\u{301}", "Q")] {
      try await server.send(
        ann,
        ProjectServer.insert(
          "Membership", id, ["project": .string(project), "user": "bob", "role": "reader"]))
    }
    let tasks = try await server.pull(bob).changes.map(\.id).filter { $0.type == "Task" }
    #expect(Set(tasks.map(\.id)) == ["T", "U"])
  }

  @Test("Every route answers for a hidden record as for a missing one")
  func hidden() async throws {
    try await server.found()
    let service = server.service
    for user in [bob, .anonymous] {
      #expect(try await sees(user).isEmpty)
      #expect(try await service.count(space: "s", user: user, AnyQuery("Task")) == 0)
      #expect(try await service.digest(space: "s", user: user, .everything).count == 0)
      let stamps = try await service.stamps(
        space: "s", user: user, .everything, parts: 1, in: [0])
      #expect(stamps.isEmpty)
      #expect(try await service.containers(space: "s", user: user, .everything).isEmpty)
      #expect(try await service.history(space: "s", user: user, HistoryQuery()).entries.isEmpty)
      let page = try await server.pull(user)
      #expect(page.changes.isEmpty && page.outOfScope.isEmpty)
      for id in ["T", "none"] {
        let record = RecordID(type: "Task", id: id)
        #expect(try await service.record(space: "s", user: user, record) == nil)
        #expect(try await server.send(user, ProjectServer.update("Task", id, "2", [:])) == ["forbidden"])
        #expect(try await server.send(user, ProjectServer.delete("Task", id, "2")) == ["conflict"])
      }
    }
  }

  /// Promises: A-18
  @Test("A changed field shows a record to new readers, and hides it from others")
  func fields() async throws {
    try await server.found()
    var cursors = [try await server.pull(bob).cursor, try await server.pull(cid).cursor]
    try await server.send(ann, ProjectServer.update("Task", "T", "2", ["state": "public"]))
    let public1 = try await server.pull(bob, cursors[0])
    #expect(public1.changes.map(\.id.id) == ["T"] && public1.types.isEmpty)
    try await server.send(ann, ProjectServer.update("Task", "T", "3", ["state": "draft"]))
    let draft = try await server.pull(bob, public1.cursor)
    #expect(draft.changes.isEmpty && draft.outOfScope == [RecordID(type: "Task", id: "T")])
    // Cid has an older cursor, from before the record was public.
    let other = try await server.pull(cid, cursors[1])
    #expect(other.changes.isEmpty && other.outOfScope == [RecordID(type: "Task", id: "T")])
    // A hidden change of a hidden record is sent to no one.
    cursors = [draft.cursor, other.cursor]
    try await server.send(ann, edit("4"))
    try await server.send(ann, ProjectServer.update("Task", "T", "5", ["state": "secret"]))
    for (user, cursor) in zip([bob, cid], cursors) {
      let page = try await server.pull(user, cursor)
      #expect(page.changes.isEmpty && page.outOfScope.isEmpty && page.types.isEmpty)
    }
  }

  /// Promises: A-35
  @Test("A deletion is sent to the readers of the record, without its fields")
  func tombstones() async throws {
    try await server.found()
    let hidden = ProjectServer.insert("Task", "T2", ["project": "P", "title": "wall"])
    try await server.send(ann, ProjectServer.update("Task", "T", "2", ["state": "public"]), hidden)
    let (before, mine) = try await (server.pull(bob), server.pull(ann))
    #expect(
      try await server.send(
        ann, ProjectServer.delete("Task", "T", "3"), ProjectServer.delete("Task", "T2", "4")) == ["5", "6"])
    let page = try await server.pull(bob, before.cursor)
    #expect(page.changes.map(\.id.id) == ["T"] && page.changes.allSatisfy(\.isDeleted))
    #expect(page.changes.allSatisfy { $0.fields == .empty } && page.outOfScope.isEmpty)
    #expect(try await server.pull(ann, mine.cursor).changes.map(\.id.id) == ["T", "T2"])
    let record = RecordID(type: "Task", id: "T")
    let tombstone = try await server.service.record(space: "s", user: bob, record)
    #expect(tombstone?.isDeleted == true && tombstone?.fields == .empty)
    let feed = try await server.service.feed(space: "s", after: nil)
    #expect(feed.changes.compactMap(\.record).filter(\.isDeleted).allSatisfy { $0.fields == .empty })
    // Edits of deleted records are conflicts for those who saw them, and forbidden for others.
    #expect(try await server.send(ann, edit("3")) == ["conflict with 5"])
    #expect(try await server.send(cid, ProjectServer.update("Task", "T2", "4", [:])) == ["forbidden"])
  }

  /// Promises: A-33
  @Test("A tombstone that was kept for another condition is shown to no one")
  func formerTombstone() async throws {
    try await server.found()
    try await server.send(ann, ProjectServer.update("Task", "T", "2", ["state": "public"]))
    try await server.send(ann, ProjectServer.delete("Task", "T", "3"))
    let record = RecordID(type: "Task", id: "T")
    #expect(try await server.service.record(space: "s", user: bob, record)?.isDeleted == true)
    // The tombstone lacks the title, which no record is without.
    var other = server.service
    other.rules.schema?.types[2].permissions?[.read] = "title IS NULL"
    #expect(try await other.record(space: "s", user: bob, record) == nil)
  }

  @Test("A change of memberships, groups or the condition makes devices fetch the type again")
  func rights() async throws {
    try await server.found()
    let before = try await server.pull(bob)
    try await server.send(ann, join("bob"), join("cid"))
    let joined = try await server.pull(bob, before.cursor)
    #expect(joined.types == ["Project", "Task"])
    #expect(try await sees(bob) == ["T"])
    // The memberships of others change nothing, nor does a role that the condition doesn't name.
    try await server.send(
      ann, ProjectServer.delete("Membership", "M-cid", "4"),
      ProjectServer.update("Membership", "M-bob", "3", ["role": "writer"]))
    let same = try await server.pull(bob, joined.cursor)
    #expect(same.types.isEmpty)
    try await server.send(ann, ProjectServer.delete("Membership", "M-bob", "6"))
    let left = try await server.pull(bob, same.cursor)
    #expect(left.types == ["Project", "Task"])
    #expect(try await sees(bob).isEmpty)
    var other = server.service
    other.rules.schema?.types[2].permissions?[.read] = "title = 'roof'"
    let request = SyncRequest(device: "d", pulls: [.init(.everything, cursor: left.cursor)])
    let changed = try await other.sync(space: "s", user: bob, request).pages[0]
    #expect(changed.types == ["Task"])
  }

  /// Promises: A-17
  @Test("A change is decided on the record before it, and on the changed one")
  func becoming() async throws {
    try await server.found()
    // A writer can't move a task to a project without a membership.
    try await server.send(cid, ProjectServer.insert("Project", "Q", ["name": "q", "lead": "cid"]))
    try await server.send(ann, join("cid", "writer"))
    try await server.send(ann, join("bob", "writer"))
    let toQ = ProjectServer.update("Task", "T", "2", ["project": "Q"])
    #expect(try await server.send(bob, toQ) == ["unknownReference"])
    #expect(try await server.send(cid, toQ) == ["6"])
    #expect(try await server.send(ann, edit("6")) == ["forbidden"])
    // An own condition for the result lets a leader give its project away.
    #expect(try await server.send(cid, ProjectServer.update("Project", "Q", "3", ["lead": "bob"])) == ["7"])
  }

  private static let reports = StoreSchema(types: [
    TypeSchema(
      "Report", fields: [FieldSchema("to", .text)],
      permissions: Permissions(create: .authenticated).where(read: "to = principal.name"))
  ])

  @Test("A user keeps no record that its own change hides")
  func ownChange() async throws {
    let server = try ProjectServer(Self.reports)
    let cursor = try await server.pull(bob).cursor
    let request = SyncRequest(
      device: "d", operations: [ProjectServer.insert("Report", "R", ["to": "ann"])],
      pulls: [.init(.everything, cursor: cursor)])
    let response = try await server.service.sync(space: "s", user: bob, request)
    #expect(response.outcomes.map(\.verdict.isApplied) == [true])
    #expect(response.pages[0].outOfScope.map(\.id) == ["R"] && response.pages[0].changes.isEmpty)
    #expect(try await server.pull(ann).changes.map(\.id.id) == ["R"])
  }

  @Test("A later pull tells the maker of a hidden record alone")
  func ownChangeLater() async throws {
    let server = try ProjectServer(Self.reports)
    let cursor = try await server.pull(bob).cursor
    let other = try await server.pull(cid).cursor
    #expect(try await server.send(bob, ProjectServer.insert("Report", "R", ["to": "ann"])) == ["1"])
    let page = try await server.pull(bob, cursor)
    #expect(page.outOfScope.map(\.id) == ["R"] && page.changes.isEmpty && !page.reset)
    let others = try await server.pull(cid, other)
    #expect(others.outOfScope.isEmpty && others.changes.isEmpty && !others.reset)
  }

  @Test("The audience is a part of conditions, with its groups and lists")
  func audience() async throws {
    let schema = StoreSchema(types: [
      TypeSchema(
        "Trip", fields: [FieldSchema("name", .text)],
        permissions: Permissions().where(
          read: "_owner = principal.name OR audience INCLUDES principal.name",
          share: "_owner = principal.name"))
    ])
    let server = try ProjectServer(schema)
    let guide = Caller("dan", groups: ["guides"])
    let list = UserList(id: "L", name: "friends", members: ["cid"])
    try await server.send(
      ann, ProjectServer.Change(id: "l", kind: .insert, record: list.recordID, fields: list.fields))
    var trip = ProjectServer.insert("Trip", "A", ["name": "a"])
    trip.sharing = SharingChange(add: Audience(users: ["bob", "group:guides"], lists: ["L"]))
    #expect(try await server.send(ann, trip) == ["2"])
    let readers = [ann, bob, cid, guide]
    var pages: [SyncResponse.Page] = []
    for reader in readers { pages.append(try await server.pull(reader)) }
    #expect(pages.allSatisfy { $0.changes.contains { $0.id.id == "A" } })
    #expect(try await server.pull(Caller("dan")).changes.isEmpty)
    let share = ProjectServer.Change(
      id: "s", kind: .update, record: RecordID(type: "Trip", id: "A"), base: "2",
      sharing: SharingChange(add: .users("eve")))
    #expect(try await server.send(bob, share) == ["forbidden"])
    var alone = share
    alone.sharing = SharingChange(remove: Audience(users: ["bob", "group:guides"]))
    #expect(try await server.send(ann, alone) == ["3"])
    for (index, reader) in readers.enumerated() where [1, 3].contains(index) {
      let page = try await server.pull(reader, pages[index].cursor)
      #expect(page.outOfScope.map(\.id) == ["A"], "\(reader)")
    }
    // Who leaves a list fetches the type again.
    let empty = ProjectServer.Change(
      id: "e", kind: .update, record: list.recordID, base: "1", fields: ["members": []])
    try await server.send(ann, empty)
    #expect(try await server.pull(cid, pages[2].cursor).types == ["Trip"])
  }

  /// Promises: A-19
  @Test("A condition that can't be used allows nothing")
  func broken() async throws {
    let type = TypeSchema(
      "Trip", fields: [FieldSchema("name", .text)],
      permissions: Permissions().where(create: "colour = 'red'", read: "TRUE OR ("))
    let server = try ProjectServer(StoreSchema(types: [type]))
    #expect(try await server.send(ann, ProjectServer.insert("Trip", "A", ["name": "a"])) == ["forbidden"])
  }

  @Test("Schemas of older apps may not bring conditions that the newest one doesn't fit")
  func fleet() throws {
    var older = ProjectServer.schema
    older.types[2].name = "Errand"
    var newest = ProjectServer.schema
    newest.version = 2
    newest.types[1].fields[1].isIndexed = false
    newest.types[0].permissions = nil
    newest.types[2].permissions = nil
    let error = #expect(throws: BothyError.self) { try StoreSchema.fleet(newest, besides: [older]) }
    #expect(error?.message.contains("permissions of Errand") == true, "\(error?.message ?? "")")
  }
}
