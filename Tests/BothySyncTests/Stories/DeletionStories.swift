import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Deletions against edits.
@Suite("Deletions", .faultsStrike, .timeLimit(.minutes(5)))
struct DeletionStories {
  /// A deletes and B edits, in the order that `deletionFirst` states. B syncs before A.
  private func deleteAgainstEdit(_ policy: MergePolicy, deletionFirst: Bool) async throws -> (
    Pair, SyncReport
  ) {
    let pair = try await Pair.sharing(policy: policy)
    if deletionFirst { try pair.a.remove() } else { try pair.b.retitle("b") }
    pair.world.time.advance(by: 60_000)
    if deletionFirst { try pair.b.retitle("b") } else { try pair.a.remove() }
    pair.world.time.advance(by: 60_000)
    await pair.b.store.sync()
    return (pair, await pair.a.store.sync())
  }

  /// Promises: H-23, C-16, S-54, N-48
  @Test("A deletion against an edit is undone if the server wins", arguments: [true, false])
  func deletionServerWins(deletionFirst: Bool) async throws {
    let (pair, report) = try await deleteAgainstEdit(.remoteWins, deletionFirst: deletionFirst)
    #expect(report.synced == [SyncReport.Record(record: .note(), action: .updatedCache)])
    #expect(try pair.a.title() == "b")
    #expect(try !pair.a.isPending())
    #expect(try await pair.isEven())
  }

  /// Promises: H-23, C-16, S-56
  @Test("A deletion against an edit is kept if the client wins", arguments: [true, false])
  func deletionClientWins(deletionFirst: Bool) async throws {
    let (pair, _) = try await deleteAgainstEdit(.localWins, deletionFirst: deletionFirst)
    #expect(try await pair.server("T1") == nil)
    #expect(try await pair.isEven())
    #expect(try pair.b.note() == nil)
  }

  /// Promises: H-23, S-57, X-4
  @Test("Of a local deletion and an edit the later is kept if later wins", arguments: [true, false])
  func deletionLaterWins(deletionFirst: Bool) async throws {
    let (pair, _) = try await deleteAgainstEdit(.latestWins, deletionFirst: deletionFirst)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == (deletionFirst ? "b" : nil))
  }

  /// A edits and B deletes, in the order that `editFirst` states. B syncs before A.
  private func editAgainstDelete(_ policy: MergePolicy, editFirst: Bool) async throws -> (Pair, SyncReport) {
    let pair = try await Pair.sharing(policy: policy)
    if editFirst { try pair.a.retitle("a") } else { try pair.b.remove() }
    pair.world.time.advance(by: 60_000)
    if editFirst { try pair.b.remove() } else { try pair.a.retitle("a") }
    pair.world.time.advance(by: 60_000)
    await pair.b.store.sync()
    return (pair, await pair.a.store.sync())
  }

  /// Promises: H-24, C-17, S-54
  @Test("An edit of a remotely deleted record is reported if the server wins")
  func editServerWins() async throws {
    let (pair, report) = try await editAgainstDelete(.remoteWins, editFirst: true)
    #expect(report.synced == [SyncReport.Record(record: .note(), action: .removedFromCache)])
    #expect(try report.overwritten.first?.fields?.members()["title"] == "a")
    #expect(try pair.a.note() == nil)
    #expect(try await pair.isEven())
  }

  /// Promises: H-24, C-17, S-53, S-56
  @Test(
    "An edit of a remotely deleted record recreates it once if the client wins"
  )
  func editClientWins() async throws {
    for policy in [MergePolicy.localWins, .fieldByField] {
      let (pair, _) = try await editAgainstDelete(policy, editFirst: true)
      #expect(pair.a.operations.filter { $0.kind == .insert }.count == 1)
      #expect(try await pair.serverTitle() == "a")
      #expect(try await pair.isEven())
      #expect(try pair.b.title() == "a")
    }
  }

  /// Promises: H-24, S-57
  @Test("Of a local edit and a deletion the later is kept if later wins", arguments: [true, false])
  func editLaterWins(editFirst: Bool) async throws {
    let (pair, _) = try await editAgainstDelete(.latestWins, editFirst: editFirst)
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == (editFirst ? nil : "a"))
  }

  /// Promises: H-25, Scenario-10
  @Test("A record deleted and recreated offline is one conditional replacement")
  func deleteAndInsert() async throws {
    for policy in [MergePolicy.remoteWins, .localWins] {
      let pair = try await Pair.sharing(policy: policy)
      try pair.b.edit { $0.note = "old" }
      await pair.b.store.sync()
      await pair.a.store.sync()
      pair.a.remote.forgetRequests()
      try pair.a.remove()
      try pair.a.insert("T1", "z")
      let report = await pair.a.store.sync()
      #expect(report.synced == [SyncReport.Record(record: .note(), action: .updatedOnServer)])
      #expect(pair.a.operations.map(\.kind) == [.update])
      #expect(try await pair.server("T1") == ["title": "z", "score": 0])
      #expect(try await pair.isEven())
    }
  }

  /// Promises: H-26
  @Test("A record deleted while its insert is in doubt leaves no orphan")
  func deleteInDoubt() async throws {
    for arrives in [true, false] {
      let pair = try Pair()
      await pair.a.store.sync()
      try pair.a.insert("T1", "a")
      pair.a.remote.plan(arrives ? .lostAnswer : .lostRequest, on: .operation(on: "T1"))
      await pair.a.store.sync()
      try pair.a.remove()
      try pair.a.restart()
      pair.a.remote.setScript { .none }
      await pair.a.store.sync()
      #expect(try await pair.world.serverRecords().isEmpty)
      #expect(try pair.a.note() == nil)
      #expect(try await pair.isEven())
    }
  }

  /// Promises: H-26
  @Test("A deletion during the push of the insert is sent after it")
  func deleteInFlight() async throws {
    let pair = try Pair()
    await pair.a.store.sync()
    try pair.a.insert("T1", "a")
    pair.a.remote.interrupt(on: .operation(on: "T1")) { [store = pair.a.store.store] in
      _ = try await store.write { try $0.delete(Note.self, id: "T1") }
    }
    await pair.a.store.sync()
    #expect(try await pair.world.serverRecords().isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: H-27, N-46, N-49
  @Test("A deletion on both sides ends in one sync and runs no policy")
  func bothDelete() async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(policy: .counting(calls))
    try pair.b.remove()
    await pair.b.store.sync()
    try pair.a.remove()
    let report = await pair.a.store.sync()
    #expect(report.synced == [SyncReport.Record(record: .note(), action: .alreadyDeleted)])
    #expect(calls.count == 0)
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  /// Promises: H-28, S-69
  @Test("A rejected deletion that is accepted shows the record after the next pull")
  func refusedDeletion() async throws {
    let pair = try await Pair.sharing(rules: .undeletable)
    try pair.a.remove()
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.code) == ["forbidden"])
    #expect(try pair.a.store.state(of: .note()).name == "rejected")
    try pair.a.store.resolve(.note(), .keepLocal)
    await pair.a.store.sync()
    #expect(try pair.a.title() == "start")
    #expect(try await pair.isEven())
  }

  /// Promises: H-29
  @Test("Deleting records online that were inserted or edited offline leaves nothing")
  func onlineDeletion() async throws {
    let pair = try await Pair.sharing()
    try pair.a.insert("T9", "nine")
    try pair.a.retitle("edited")
    for id in ["T9", "T1"] {
      try await pair.a.store.delete(
        RecordID(Note.self, id: id), options: RequestOptions(writePolicy: .remoteThenLocal))
    }
    #expect(try await pair.world.serverRecords().isEmpty)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try pair.a.note("T9") == nil)
    #expect(await pair.a.store.sync().obstacle == nil)
    #expect(try await pair.isEven())
  }
}
