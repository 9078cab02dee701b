import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The work of one sync of a container, and its behaviour when a part fails.
@Suite("The steps of a sync", .faultsStrike, .timeLimit(.minutes(5)))
struct SyncStepTests {
  /// Promises: C-8, N-44
  @Test("A sync pushes, pulls or does both, as requested")
  func directions() async throws {
    for scope in SyncDirection.allCases {
      let pair = try await Pair.sharing()
      try pair.b.retitle("theirs")
      await pair.b.store.sync()
      try pair.a.insert("mine", "mine")
      let report = await pair.a.store.sync(scope)
      #expect(report.pushed == (scope == .pull ? 0 : 1), "\(scope)")
      #expect(try pair.a.title() == (scope == .push ? "start" : "theirs"), "\(scope)")
      #expect(try pair.a.isPending("mine") == (scope == .pull), "\(scope)")
    }
  }

  /// Promises: N-21, N-22
  @Test("All pages of a pull are one commit, with changes, inserts and deletions")
  func oneCommit() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"]) { $0.pageSize = 1 }
    var events = pair.a.store.store.events.makeAsyncIterator()
    try pair.b.retitle("theirs")
    try pair.b.remove("T2")
    try pair.b.insert("T4", "new")
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(pair.a.remote.requests.count > 2)
    let kinds = try #require(await events.next())
    #expect(Set(kinds.map { "\($0.record.id) \($0.kind)" }) == ["T1 updated", "T2 removed", "T4 inserted"])
  }

  /// Promises: N-21
  @Test("Records that change again between two pages end in their latest versions")
  func latestVersion() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"]) { $0.pageSize = 1 }
    for id in ["T1", "T2", "T3"] { try pair.b.retitle(id, "first") }
    await pair.b.store.sync()
    var events = pair.a.store.store.events.makeAsyncIterator()
    pair.a.remote.interrupt(on: .anything) { [b = pair.b.store] in
      for title in ["second", "third"] {
        try await b.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = title } }
        await b.sync(.push)
      }
      try await b.store.write { _ = try $0.delete(Note.self, id: "T2") }
      await b.sync(.push)
    }
    await pair.a.store.sync(.pull)
    #expect(pair.a.remote.requests.count > 3)
    #expect(try ["T1", "T2", "T3"].map { try pair.a.title($0) } == ["third", nil, "first"])
    let kinds = try #require(await events.next())
    #expect(Set(kinds.map { "\($0.record.id) \($0.kind)" }) == ["T1 updated", "T2 removed", "T3 updated"])
    #expect(try await pair.isEven())
  }

  /// Promises: N-22, R15
  @Test(
    "Only a complete snapshot removes unmentioned records, and it spares pending ones"
  )
  func completeness() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    await pair.a.store.sync(.pull)
    #expect(try pair.a.noteIDs() == ["T1", "T2"])
    try pair.a.retitle("T2", "mine")
    try pair.b.remove("T1")
    try pair.b.remove("T2")
    await pair.b.store.sync()
    try await pair.world.storage.compact(space: "test", upTo: 1000)
    try pair.a.store.resetValidator(of: "Note")
    await pair.a.store.sync(.pull)
    #expect(try pair.a.noteIDs() == ["T2"])
    #expect(try pair.a.isPending("T2"))
  }

  /// Promises: N-43
  @Test(
    "A server error changes no records or validators, and the report has its reason"
  )
  func errors() async throws {
    for status in [403, 404, 410, 500] {
      let pair = try await Pair.sharing(["T1", "T2"])
      try pair.b.retitle("theirs")
      await pair.b.store.sync()
      let validator = try pair.a.store.validator(for: "Note")
      pair.a.remote.plan(.status(status, retryAfter: nil))
      try pair.a.insert("mine", "mine")
      #expect(await pair.a.store.sync().obstacle != nil)
      #expect(pair.a.operations.first?.record == .note("mine"), "the push was tried")
      #expect(try pair.a.noteIDs() == ["T1", "T2", "mine"])
      #expect(try pair.a.store.validator(for: "Note") == validator)
      pair.a.remote.setScript { .none }
      #expect(try await pair.isEven())
    }
  }

  /// Promises: N-43
  @Test("A pull that fails at its second page leaves what was pushed before")
  func errorAfterPush() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"]) { $0.pageSize = 1 }
    for id in ["T1", "T2", "T3"] { try pair.b.retitle(id, "theirs") }
    await pair.b.store.sync()
    let validator = try pair.a.store.validator(for: "Note")
    try pair.a.insert("mine", "mine")
    pair.a.remote.plan(.status(500, retryAfter: nil), on: .pullAlone)
    let report = await pair.a.store.sync()
    #expect(report.obstacle != nil && report.pushed == 1)
    #expect(try await pair.serverTitle("mine") == "mine")
    #expect(try !pair.a.isPending("mine"))
    #expect(try ["T1", "T2", "T3"].map { try pair.a.title($0) } == ["start", "start", "start"])
    #expect(try pair.a.store.validator(for: "Note") == validator)
    pair.a.remote.setScript { .none }
    #expect(try await pair.isEven())
  }

  /// Promises: N-45
  @Test("The server's version of a new record replaces the sent one, without pending changes")
  func replaced() async throws {
    var type = Note.schema
    for index in type.fields.indices where type.fields[index].name == "note" {
      type.fields[index].defaultValue = .text("filled in")
    }
    let pair = try Pair(rules: AccessRules(schema: StoreSchema(types: [type])))
    try pair.a.insert("T1", "mine")
    await pair.a.store.sync()
    #expect(try pair.a.note()?.note == "filled in")
    #expect(try pair.a.record("Note", "T1")?.version != nil)
    #expect(try !pair.a.isPending())
    try pair.a.retitle("again")
    await pair.a.store.sync()
    #expect(try await pair.serverTitle() == "again")
    #expect(try await pair.isEven())
  }

  /// Promises: N-47, C-26
  @Test(
    "Under `.discardAndRefetch`, only a rejected change is undone, without a whole pull"
  )
  func discarding() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .discardAndRefetch }
    try pair.a.edit { $0.note = "refused" }
    pair.a.remote.isOffline = true
    await pair.a.store.sync()
    #expect(try pair.a.note()?.note == "refused" && pair.a.isPending())
    pair.a.remote.isOffline = false
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.record) == [.note()])
    #expect(try pair.a.note()?.note == nil && pair.a.title() == "start")
    #expect(try !pair.a.isPending())
    #expect(pair.a.remote.requests.allSatisfy { $0.pulls.allSatisfy { $0.cursor != nil } })
    #expect(try await pair.isEven())
  }
}
