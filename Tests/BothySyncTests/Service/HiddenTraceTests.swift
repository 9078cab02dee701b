import BothyStore
import BothySync
import BothySyncService
import Testing

/// Pages, history, departures and validators, which must not change with records that their user can't see.
@Suite("Hidden changes leave no trace in pages, history and validators", .timeLimit(.minutes(5)))
struct HiddenTraceTests {
  private typealias Change = BothySync.SyncOperation
  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Private", fields: [FieldSchema("text", .text)],
      permissions: Permissions(read: .shared, update: .shared, delete: .owner, share: .owner)),
    TypeSchema("Open", fields: [FieldSchema("text", .text)]),
  ])
  private let ann = Caller("ann")
  private let mal = Caller("mal")
  private let service: SyncService

  init() throws {
    service = SyncService(
      storage: try SQLiteServerStorage(), rules: AccessRules(schema: Self.schema), now: { 1000 })
  }

  @discardableResult
  private func push(_ user: Caller, _ change: Change) async throws -> Outcome.Verdict {
    try await service.perform(space: "s", user: user, change)
  }

  private func insert(
    _ type: String, _ id: String, in container: String? = nil, sharing: Audience = .nobody
  ) -> Change {
    Change(
      id: "o", kind: .insert, record: RecordID(type: type, id: id), container: container,
      fields: ["text": "t"], sharing: sharing.isEmpty ? nil : SharingChange(add: sharing))
  }

  private func pull(_ scope: SyncScope = .everything, _ cursor: String? = nil, limit: Int = 1000) async throws
    -> SyncResponse.Page
  {
    let request = SyncRequest(device: "m", pulls: [.init(scope, cursor: cursor)], limit: limit)
    return try #require(try await service.sync(space: "s", user: mal, request).pages.first)
  }

  @Test("Hidden changes neither fill nor end a page", arguments: [0, 64])
  func pages(fewHidden: Int) async throws {
    var service = service
    service.rules.fewHiddenChanges = fewHidden
    for number in 0..<6 {
      try await push(ann, insert("Private", "p\(number)"))
      if number % 2 == 0 { try await push(ann, insert("Open", "o\(number)")) }
    }
    try await push(ann, insert("Private", "last"))
    var seen: [[String]] = []
    var cursor: String?
    repeat {
      let request = SyncRequest(device: "m", pulls: [.init(.everything, cursor: cursor)], limit: 1)
      let response = try await service.sync(space: "s", user: mal, request)
      let page = try #require(response.pages.first)
      seen.append(page.changes.map(\.id.id))
      cursor = page.more ? page.cursor : nil
    } while cursor != nil
    #expect(seen == [["o0"], ["o2"], ["o4"]])
  }

  @Test("Changed readers of hidden records neither fill nor end a page")
  func hiddenReaders() async throws {
    var changed = service
    let owned = "_owner = principal.name"
    changed.rules.schema = StoreSchema(types: [
      TypeSchema(
        "Trip", fields: [FieldSchema("text", .text)],
        permissions: Permissions().where(read: owned + " OR audience INCLUDES principal.name", share: owned)),
      TypeSchema("Open", fields: [FieldSchema("text", .text)]),
    ])
    let service = changed
    func send(_ change: Change) async throws -> Bool {
      try await service.perform(space: "s", user: ann, change).isApplied
    }
    func next(_ cursor: String?) async throws -> SyncResponse.Page {
      let request = SyncRequest(device: "m", pulls: [.init(.everything, cursor: cursor)], limit: 1)
      return try #require(try await service.sync(space: "s", user: mal, request).pages.first)
    }
    #expect(try await send(insert("Trip", "t")))
    var cursor: String? = try await next(nil).cursor
    for base in 1...4 {
      let share = Change(
        id: "o", kind: .update, record: RecordID(type: "Trip", id: "t"), base: "\(base)",
        sharing: SharingChange(add: .users("user\(base)")))
      #expect(try await send(share))
    }
    for id in ["a", "b"] { #expect(try await send(insert("Open", id))) }
    var seen: [[String]] = []
    repeat {
      let page = try await next(cursor)
      #expect(page.outOfScope.isEmpty)
      seen.append(page.changes.map(\.id.id))
      cursor = page.more ? page.cursor : nil
    } while cursor != nil
    #expect(seen == [["a"], ["b"]])
  }

  @Test("Hidden changes leave no trace in pages of history")
  func history() async throws {
    try await push(ann, insert("Open", "first"))
    for number in 0..<5 { try await push(ann, insert("Private", "p\(number)", in: "secret")) }
    try await push(ann, insert("Open", "last"))
    func history(_ query: HistoryQuery) async throws -> ChangeHistory {
      try await service.history(space: "s", user: mal, query)
    }
    var query = HistoryQuery(limit: 1)
    let newest = try await history(query)
    #expect(newest.entries.map(\.record.id) == ["last"] && newest.next != nil)
    query.before = newest.next
    let oldest = try await history(query)
    #expect(oldest.entries.map(\.record.id) == ["first"] && oldest.next == nil)
    for (type, id) in [("Private", "p1"), ("Private", "none")] {
      var query = HistoryQuery(limit: 1)
      query.record = RecordID(type: type, id: id)
      let found = try await history(query)
      #expect(found.entries.isEmpty && found.next == nil)
    }
    let place = try await history(HistoryQuery(scope: SyncScope(container: "secret"), limit: 1))
    #expect(place.entries.isEmpty && place.next == nil)
  }

  @Test("The departure of a hidden record isn't reported, also after its deletion")
  func departures() async throws {
    try await push(ann, insert("Private", "p", in: "box"))
    try await push(ann, insert("Open", "o", in: "box"))
    let box = SyncScope(container: "box")
    let before = try await pull(box)
    for (type, id, base) in [("Private", "p", "1"), ("Open", "o", "2")] {
      let record = RecordID(type: type, id: id)
      try await push(
        ann, Change(id: "o", kind: .update, record: record, container: "bag", base: base, fields: [:]))
    }
    try await push(
      ann, Change(id: "o", kind: .delete, record: RecordID(type: "Private", id: "p"), base: "3"))
    let after = try await pull(box, before.cursor, limit: 1)
    #expect(after.outOfScope == [RecordID(type: "Open", id: "o")] && after.changes.isEmpty && !after.more)
  }

  @Test("Large hidden changes end a page sooner, and its cursor continues after them")
  func largeHiddenChanges() async throws {
    var service = service
    // A record of 40 KB counts as ten rows. Three are read at a time.
    service.rules.hiddenRowLimit = 50
    service.rules.answerSize = 100_000
    for number in 0..<20 {
      var large = insert("Private", "p\(number)")
      large.fields["text"] = .string(String(repeating: "x", count: 40_000))
      try await push(ann, large)
    }
    try await push(ann, insert("Open", "o"))
    var pages: [SyncResponse.Page] = []
    repeat {
      let request = SyncRequest(device: "m", pulls: [.init(.everything, cursor: pages.last?.cursor)])
      pages += try await service.sync(space: "s", user: mal, request).pages
    } while pages.last?.more ?? false && pages.count < 9
    #expect(pages.map(\.more) == [true, true, true, false])
    #expect(pages.map { $0.changes.map(\.id.id) } == [[], [], [], ["o"]])
  }

  @Test("Hidden moves end a page at their limit, and its cursor continues after them")
  func hiddenMoves() async throws {
    var service = service
    service.rules.hiddenRowLimit = 10
    let places = ["box", "chest"]
    for place in places {
      for number in 0..<100 { try await push(ann, insert("Private", "\(place)\(number)", in: place)) }
      try await push(ann, insert("Open", place, in: place))
    }
    var open: [SyncRequest.Pull] = []
    for place in places {
      let scope = SyncScope(container: place)
      open.append(.init(scope, cursor: try await pull(scope).cursor))
    }
    for place in places {
      for number in 0..<100 { try await move(RecordID(type: "Private", id: "\(place)\(number)")) }
      try await move(RecordID(type: "Open", id: place))
    }
    var left: [[RecordID]] = []
    for _ in 0..<10 where !open.isEmpty {
      let pages = try await service.sync(
        space: "s", user: mal, SyncRequest(device: "m", pulls: open, limit: 1)
      ).pages
      left.append(pages.flatMap(\.outOfScope))
      let cursors = open.map(\.cursor)
      #expect(pages[0].cursor != cursors[0], "the first page goes on")
      #expect(
        zip(pages, cursors).dropFirst().allSatisfy { $0.cursor == $1 && $0.more }, "and the others wait")
      open = pages.filter(\.more).map { .init($0.scope, cursor: $0.cursor) }
    }
    #expect(open.isEmpty)
    #expect(left == [[], [RecordID(type: "Open", id: "box")], [], [RecordID(type: "Open", id: "chest")]])
  }

  @Test("Large hidden moves end a page sooner, and its cursor continues after them")
  func largeHiddenMoves() async throws {
    var service = service
    service.rules.hiddenRowLimit = 500
    let box = SyncScope(container: "box")
    for number in 0..<100 {
      var large = insert("Private", "p\(number)", in: "box")
      large.fields["text"] = .string(String(repeating: "x", count: 40_000))
      try await push(ann, large)
    }
    try await push(ann, insert("Open", "o", in: "box"))
    var cursor = try await pull(box).cursor
    for number in 0..<100 { try await move(RecordID(type: "Private", id: "p\(number)")) }
    try await move(RecordID(type: "Open", id: "o"))
    var left: [[RecordID]] = []
    var isOpen = true
    while isOpen, left.count < 9 {
      let request = SyncRequest(device: "m", pulls: [.init(box, cursor: cursor)], limit: 1)
      let page = try #require(try await service.sync(space: "s", user: mal, request).pages.first)
      left.append(page.outOfScope)
      (cursor, isOpen) = (page.cursor, page.more)
    }
    #expect(left == [[], [RecordID(type: "Open", id: "o")]])
  }

  @Test("A page reads few large records for notices, also if they changed since")
  func largeNotices() async throws {
    var service = service
    service.rules.answerSize = 100_000
    let ids = (10..<30).map { "p\($0)" }
    for id in ids {
      var large = insert("Private", id, sharing: .users("mal"))
      large.fields["text"] = .string(String(repeating: "x", count: 40_000))
      try await push(ann, large)
    }
    var cursor = try await pull().cursor
    for id in ids {
      let record = RecordID(type: "Private", id: id)
      let found = try #require(try await service.record(space: "s", user: ann, record))
      let change = Change(
        id: "o", kind: .update, record: record, base: found.version,
        sharing: SharingChange(remove: .users("mal")))
      try await push(ann, change)
    }
    var left: [[String]] = []
    var isOpen = true
    while isOpen, left.count < 30 {
      let request = SyncRequest(device: "m", pulls: [.init(.everything, cursor: cursor)])
      let page = try #require(try await service.sync(space: "s", user: mal, request).pages.first)
      left.append(page.outOfScope.map(\.id))
      (cursor, isOpen) = (page.cursor, page.more)
    }
    #expect(left.map(\.count) == [3, 3, 3, 3, 3, 3, 2])
    #expect(left.flatMap(\.self) == ids)
  }

  private func move(_ record: RecordID) async throws {
    let found = try #require(try await service.record(space: "s", user: ann, record))
    try await push(
      ann,
      Change(
        id: "o", kind: .update, record: record, container: "bag", base: found.version, fields: [:]))
  }

  @Test("An operation doesn't find out the lists that a hidden record is shared with")
  func lists() async throws {
    let list = UserList(id: "L", name: "friends", members: ["cid"])
    try await push(ann, Change(id: "o", kind: .insert, record: list.recordID, fields: list.fields))
    try await push(ann, insert("Private", "p", sharing: .lists("L")))
    var said: Set<String> = []
    for (id, name) in [("p", "L"), ("p", "M"), ("none", "L")] {
      let verdict = try await push(
        mal,
        Change(
          id: "o", kind: .update, record: RecordID(type: "Private", id: id), base: "1",
          sharing: SharingChange(add: .lists(name))))
      said.insert("\(verdict)".replacing("list \\'\(name)\\'", with: "LIST").replacing("/\(id)", with: "/ID"))
    }
    #expect(said.count == 1, "\(said)")
  }

  @Test("Validators and hints move only with changes that their user sees")
  func validators() async throws {
    func state() async throws -> [String?] {
      [
        try await service.validator(space: "s", user: mal, .everything),
        try await service.validator(space: "s", user: mal, SyncScope(container: "Private")),
        try await service.visibleState(space: "s", user: mal),
      ]
    }
    try await push(ann, insert("Open", "o"))
    let first = try await state()
    try await push(ann, insert("Private", "p"))
    try await push(
      ann,
      Change(
        id: "o", kind: .insert, record: UserList(id: "L", name: "l").recordID,
        fields: UserList(id: "L", name: "l").fields))
    #expect(try await state() == first)
    let record = RecordID(type: "Private", id: "p")
    try await push(
      ann,
      Change(id: "o", kind: .update, record: record, base: "2", sharing: SharingChange(add: .users("mal"))))
    let shared = try await state()
    #expect(Set(shared).isDisjoint(with: first))
    try await push(
      ann,
      Change(id: "o", kind: .update, record: record, base: "4", sharing: SharingChange(remove: .users("mal")))
    )
    let unshared = try await state()
    #expect(Set(unshared).isDisjoint(with: shared))
    try await push(
      ann, Change(id: "o", kind: .update, record: record, base: "5", fields: ["text": "more"]))
    #expect(try await state() == unshared)
    let open = SyncService(storage: service.storage, now: { 1000 })
    #expect(try await open.visibleState(space: "s", user: mal) == nil)
  }

  @Test("A validator changes when a record leaves the container")
  func moves() async throws {
    let open = SyncService(storage: service.storage, now: { 1000 })
    try await push(ann, insert("Open", "a", in: "box"))
    try await push(ann, insert("Open", "b", in: "box"))
    let box = SyncScope(container: "box")
    let before = try await open.validator(space: "s", user: mal, box)
    try await push(
      ann,
      Change(
        id: "o", kind: .update, record: RecordID(type: "Open", id: "a"), container: "bag", base: "1",
        fields: [:]))
    #expect(try await open.validator(space: "s", user: mal, box) != before)
  }
}
