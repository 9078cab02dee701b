import BothyStore
import BothySync
import BothySyncService
import Testing

@Suite("The server's rule for sharing", .timeLimit(.minutes(5)))
struct SharingRuleTests {
  private typealias Change = BothySync.SyncOperation
  private let service: SyncService

  /// Returns rules for notes that their owner and audience can see, with the given `update` and `share`.
  static func rules(update: Permissions.Access = .shared, share: Permissions.Access = .owner)
    -> AccessRules
  {
    var type = Note.schema
    type.permissions = Permissions(read: .shared, update: update, delete: .owner, share: share)
    return AccessRules(schema: StoreSchema(types: [type]))
  }

  init() throws {
    service = try SyncService(storage: SQLiteServerStorage(), rules: Self.rules(), now: { 1000 })
  }

  @discardableResult
  private func push(_ name: String?, _ change: Change, to other: SyncService? = nil) async throws -> String {
    switch try await (other ?? service).perform(space: "s", user: Caller(name), change) {
    case .applied(let version, _, _), .duplicate(let version, _, _): return version
    case .conflict: return "conflict"
    case .rejected(let rejection): return rejection.code
    case .waiting: return "waiting"
    }
  }

  private func insert(_ id: String, sharing: Audience = .nobody) -> Change {
    Change(
      id: "o", kind: .insert, record: .note(id), fields: ["title": "t"], sharing: SharingChange(add: sharing))
  }

  private func share(
    _ id: String, base: String, add: Audience = .nobody, remove: Audience = .nobody
  ) -> Change {
    Change(
      id: "o", kind: .update, record: .note(id), base: base, sharing: SharingChange(add: add, remove: remove))
  }

  private func list(_ members: [String], id: String = "L1", base: String? = nil) -> Change {
    let list = UserList(id: id, name: "friends", members: members)
    return Change(
      id: "o", kind: base == nil ? .insert : .update, record: list.recordID, base: base, fields: list.fields)
  }

  private func pull(_ name: String, _ cursor: String? = nil, limit: Int = 1000) async throws
    -> SyncResponse.Page
  {
    let request = SyncRequest(device: name, pulls: [.init(.everything, cursor: cursor)], limit: limit)
    let response = try await service.sync(space: "s", user: Caller(name), request)
    return try #require(response.pages.first)
  }

  /// Forgets the tombstones, departures and notices up to a position, or all of them.
  private func compact(upTo position: Int64? = nil) async throws {
    let head = try await service.storage.read(space: "s") { $0.head }
    try await service.storage.upkeep?.compact(space: "s", upTo: position ?? head)
  }

  private func live(_ page: SyncResponse.Page) -> [String] { page.changes.map(\.id.id) }

  @Test("Pulls, queries, digests and reads show a record to its owner and audience only")
  func visibility() async throws {
    try await push("ann", insert("T1", sharing: .users("bob")))
    try await push("ann", insert("T2"))
    for (name, expected) in [("ann", ["T1", "T2"]), ("bob", ["T1"]), ("cid", [])] {
      let user = Caller(name)
      #expect(try await live(pull(name)) == expected)
      let found = try await service.query(space: "s", user: user, AnyQuery("Note"))
      #expect(found.map(\.id.id) == expected)
      #expect(
        try await service.count(space: "s", user: user, AnyQuery("Note")) == expected.count)
      #expect(
        try await service.digest(space: "s", user: user, .everything).count == expected.count)
      let one = try await service.record(space: "s", user: user, .note("T1"))
      #expect((one != nil) == expected.contains("T1"))
    }
  }

  @Test("Users and lists whose names only look alike have no rights in common")
  func doubles() async throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    try await push(composed, insert("T1"))
    try await push("ann", list(["bob"], id: composed))
    try await push("ann", insert("T2", sharing: Audience(users: [composed], lists: [composed])))
    // The list is from a server without this rule.
    try await service.storage.write(space: "s") { try $0.setMembers(["mal"], of: decomposed, ownedBy: "ann") }
    for (name, expected) in [(composed, ["T1", "T2"]), (decomposed, []), ("bob", ["T2"]), ("mal", [])] {
      #expect(try await live(pull(name)).filter { $0 != composed } == expected)
      let found = try await service.query(space: "s", user: Caller(name), AnyQuery("Note"))
      #expect(found.map(\.id.id) == expected)
    }
    let deletion = Change(id: "o", kind: .delete, record: .note("T1"), base: "1")
    #expect(try await push(decomposed, deletion) == "conflict")
    #expect(Caller(composed) != Caller(decomposed))
    #expect(try await push("ann", list(["bob"], id: decomposed)) == "invalidName")
    #expect(try await push("ann", list([decomposed], id: "L2")) == "invalid")
    #expect(try await push("ann", insert("T3", sharing: .users(decomposed))) == "invalidSharing")
    #expect(try await push("ann", insert("T3", sharing: .lists(decomposed))) == "unknownList")
  }

  @Test("Sharing moves a record to the end of history, so new users receive it")
  func gaining() async throws {
    let version = try await push("ann", insert("T1"))
    let before = try await pull("bob")
    #expect(before.changes.isEmpty)
    try await push("ann", share("T1", base: version, add: .users("bob")))
    let after = try await pull("bob", before.cursor)
    #expect(live(after) == ["T1"])
    #expect(after.changes.first?.sharing == .users("bob"))
  }

  @Test("Only a user who loses access learns that the record is out of scope")
  func losing() async throws {
    let version = try await push("ann", insert("T1", sharing: .users("bob", "cid")))
    let cursors = try await (pull("bob").cursor, pull("cid").cursor, pull("dan").cursor)
    try await push("ann", share("T1", base: version, remove: .users("bob")))
    let (bob, cid) = try await (pull("bob", cursors.0), pull("cid", cursors.1))
    let dan = try await pull("dan", cursors.2)
    #expect(bob.outOfScope == [.note("T1")] && bob.changes.isEmpty)
    #expect(live(cid) == ["T1"] && cid.outOfScope.isEmpty)
    #expect(dan.outOfScope.isEmpty && dan.changes.isEmpty)
  }

  /// Promises: A-18
  @Test("Members of a list lose a record that is no longer shared with it")
  func unlisted() async throws {
    try await push("ann", list(["bob"]))
    let version = try await push("ann", insert("T1", sharing: .lists("L1")))
    let before = try await pull("bob")
    #expect(live(before) == ["T1"])
    try await push("ann", share("T1", base: version, remove: .lists("L1")))
    #expect(try await pull("bob", before.cursor).outOfScope == [.note("T1")])
  }

  /// Promises: A-18
  @Test("Joining or leaving a list reaches all its records, at any page size")
  func membership() async throws {
    let list = try await push("ann", list(["bob"]))
    for number in 1...5 { try await push("ann", insert("T\(number)", sharing: .lists("L1"))) }
    let (bob, cid) = try await (pull("bob"), pull("cid"))
    #expect(live(bob).count == 5 && cid.changes.isEmpty)
    try await push("ann", self.list(["cid"], base: list))
    for limit in [2, 1000] {
      var gone: [RecordID] = []
      var come: [String] = []
      var cursors = (bob.cursor, cid.cursor)
      for _ in 0..<5 {
        let pages = try await (pull("bob", cursors.0, limit: limit), pull("cid", cursors.1, limit: limit))
        cursors = (pages.0.cursor, pages.1.cursor)
        gone += pages.0.outOfScope
        come += live(pages.1)
        #expect(pages.0.changes.isEmpty && pages.1.outOfScope.isEmpty)
      }
      #expect(gone.map(\.id).sorted() == ["T1", "T2", "T3", "T4", "T5"])
      #expect(come.sorted() == ["T1", "T2", "T3", "T4", "T5"])
    }
  }

  @Test("A user who loses one of two ways to see a record keeps it")
  func twoWays() async throws {
    let list = try await push("ann", list(["bob"]))
    try await push("ann", insert("T1", sharing: Audience(users: ["bob"], lists: ["L1"])))
    let before = try await pull("bob")
    try await push("ann", self.list([], base: list))
    let after = try await pull("bob", before.cursor)
    #expect(after.outOfScope.isEmpty)
  }

  @Test("A tombstone is sent to users who saw the record")
  func tombstones() async throws {
    let version = try await push("ann", insert("T1", sharing: .users("bob")))
    let cursors = try await (pull("bob").cursor, pull("cid").cursor)
    try await push("ann", Change(id: "o", kind: .delete, record: .note("T1"), base: version))
    let (bob, cid) = try await (pull("bob", cursors.0), pull("cid", cursors.1))
    #expect(bob.changes.map(\.isDeleted) == [true])
    #expect(cid.changes.isEmpty)
  }

  @Test("Permissions decide who edits and who shares, and every user may leave")
  func permissions() async throws {
    for (share, reshared) in [
      (Permissions.Access.owner, "forbidden"), (.shared, "3"), (.nobody, "forbidden"),
    ] {
      let service = try SyncService(
        storage: SQLiteServerStorage(), rules: Self.rules(update: .owner, share: share), now: { 1000 })
      let made = insert("T1")
      try await push("ann", made, to: service)
      let first = try await push("ann", self.share("T1", base: "1", add: .users("bob")), to: service)
      #expect(first == (share == .nobody ? "forbidden" : "2"))
      guard share != .nobody else { continue }
      let edit = Change(id: "o", kind: .update, record: .note("T1"), base: "2", fields: ["title": "b"])
      #expect(try await push("bob", edit, to: service) == "forbidden")
      let other = try await push("bob", self.share("T1", base: "2", add: .users("cid")), to: service)
      #expect(other == reshared)
      let version = reshared == "3" ? "3" : "2"
      let left = try await push(
        "bob", self.share("T1", base: version, remove: .users("bob")), to: service)
      #expect(left == String((Int(version) ?? 0) + 1))
      let gone = try await service.record(space: "s", user: Caller("bob"), .note("T1"))
      #expect(gone == nil)
    }
  }

  @Test("Only the owner can read, change, revive or share with a list")
  func lists() async throws {
    let version = try await push("ann", list(["bob"]))
    for name in ["bob", "cid"] {
      #expect(
        try await service.record(
          space: "s", user: Caller(name), UserList(id: "L1", name: "").recordID) == nil)
      #expect(try await push(name, list([name], base: version)) == "forbidden")
      #expect(try await push(name, insert("T-\(name)", sharing: .lists("L1"))) == "unknownList")
    }
    #expect(try await push(nil, list(["bob"], id: "L2")) == "forbidden")
    #expect(try await push("ann", insert("T9", sharing: .lists("none"))) == "unknownList")
    let delete = Change(
      id: "o", kind: .delete, record: UserList(id: "L1", name: "").recordID, base: version)
    try await push("ann", delete)
    #expect(try await push("cid", list(["cid"])) == "forbidden")
  }

  @Test("The id of a forgotten list stays taken while records are shared with it")
  func forgottenList() async throws {
    let version = try await push("ann", list(["mal"]))
    let shared = try await push("ann", insert("T1", sharing: .lists("L1")))
    let record = UserList(id: "L1", name: "").recordID
    try await push("ann", Change(id: "o", kind: .delete, record: record, base: version))
    try await compact()
    for name in ["mal", "ann"] { #expect(try await push(name, list(["mal"])) == "forbidden") }
    #expect(try await live(pull("mal")).isEmpty)
    try await push("ann", Change(id: "o", kind: .delete, record: .note("T1"), base: shared))
    try await compact()
    #expect(try await push("mal", list(["mal"])) == "6")
  }

  @Test("A new member isn't told of records that are gone")
  func goneRecords() async throws {
    let made = try await push("ann", list([]))
    let shared = try await push("ann", insert("T1", sharing: .lists("L1")))
    try await push("ann", Change(id: "o", kind: .delete, record: .note("T1"), base: shared))
    let before = try await pull("cid")
    let joined = try await push("ann", list(["cid"], base: made))
    try await compact(upTo: 3)
    let after = try await pull("cid", before.cursor)
    #expect(after.outOfScope.isEmpty && after.changes.isEmpty && !after.reset)
    try await push("ann", list(["cid", "dan"], base: joined))
    let notices = try await service.storage.read(space: "s") {
      try $0.notices(for: ["dan"], after: 0, limit: nil)
    }
    #expect(notices.isEmpty)
  }

  @Test(
    "An invalid list is rejected with the name of the field",
    arguments: [
      ["name": "x", "members": ["a", 1]], ["name": "x", "members": "a"],
      ["name": "x", "members": ["a", "a"]],
      ["name": "x", "members": [""]], ["members": []], ["name": "x", "members": [], "more": 1],
    ] as [[String: JSONValue]])
  func badLists(fields: [String: JSONValue]) async throws {
    let change = Change(
      id: "o", kind: .insert, record: RecordID(type: "bothy_list", id: "L1"), fields: fields)
    #expect(try await push("ann", change) == "invalid")
  }

  @Test("Without permissions of the type, sharing is stored and hides nothing")
  func withoutPermissions() async throws {
    let open = try SyncService(storage: SQLiteServerStorage(), now: { 1000 })
    try await push("ann", insert("T1", sharing: .users("bob")), to: open)
    for name in ["ann", "bob", "cid", nil] {
      let record = try await open.record(space: "s", user: Caller(name), .note("T1"))
      #expect(record?.sharing == .users("bob"))
    }
    #expect(try await push("cid", share("T1", base: "1", add: .users("dan")), to: open) == "2")
  }

  @Test("A validator changes when a user comes to see more or less")
  func validators() async throws {
    let list = try await push("ann", list(["bob"]))
    try await push("ann", insert("T1", sharing: .lists("L1")))
    func validator(_ name: String) async throws -> String {
      try await service.validator(space: "s", user: Caller(name), SyncScope(container: "Note"))
    }
    let before = try await validator("bob")
    try await push("ann", self.list([], base: list))
    #expect(try await validator("bob") != before)
  }

  @Test("A validator reveals nothing of containers whose records are hidden")
  func hiddenContainers() async throws {
    func validator(_ container: String) async throws -> String {
      try await service.validator(
        space: "s", user: Caller("cid"), SyncScope(container: container))
    }
    for id in ["T1", "T2"] {
      try await push("ann", insert(id, sharing: .users("bob")))
      #expect(try await validator("Note") == validator("Nothing"))
    }
  }
}
