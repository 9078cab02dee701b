import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Bases, versions and clocks.
@Suite("Versions and clocks", .timeLimit(.minutes(5)))
struct VersionStories {
  private let online = RequestOptions(writePolicy: .remoteThenLocal)

  /// Promises: H-1, S-62
  @Test("The base follows online saves, so a later offline edit causes no conflict")
  func baseAfterOnlineSave() async throws {
    let calls = Calls()
    let pair = try Pair(policy: .counting(calls))
    try await pair.a.store.save(Note(id: "T1", "a"), options: online)
    try await pair.a.store.save(Note(id: "T1", "b"), options: online)
    try pair.a.retitle("c")
    let report = await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(report.synced == [SyncReport.Record(record: .note(), action: .updatedOnServer)])
    #expect(try await pair.serverTitle() == "c")
    #expect(try await pair.isEven())
  }

  /// Promises: H-2, S-62, X-8
  @Test("The base follows acknowledgements, so repeated edits cause no conflict")
  func baseAfterAcknowledgement() async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(policy: .counting(calls))
    for title in ["b", "c", "d"] {
      try pair.a.retitle(title)
      await pair.a.store.sync()
    }
    #expect(calls.count == 0)
    #expect(pair.a.operations.map(\.kind) == [.update, .update, .update])
    #expect(try await pair.serverTitle() == "d")
  }

  /// Promises: H-3
  @Test("A restart between edit and sync keeps the exact base")
  func restart() async throws {
    let calls = Calls()
    let pair = try await Pair.sharing(["T1", "T2"], policy: .counting(calls))
    try pair.a.retitle("b")
    try pair.a.remove("T2")
    try pair.a.restart()
    await pair.a.store.sync()
    #expect(calls.count == 0)
    #expect(try await pair.serverTitle() == "b")
    #expect(try await pair.server("T2") == nil)
  }

  /// Promises: H-4, N-52, S-45
  @Test("A change at the same millisecond is a conflict nevertheless")
  func equalTimes() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("b")
    await pair.b.store.sync()
    try pair.a.edit { $0.note = "x" }
    let report = await pair.a.store.sync()
    #expect(report.overwritten.first?.record == .note())
    #expect(try report.overwritten.first?.fields?.members()["note"] == "x")
    #expect(try pair.a.note()?.title == "b")
    #expect(try pair.a.note()?.note == nil)
    #expect(try await pair.isEven())
  }

  /// Promises: H-4
  @Test("Field merge keeps both changes of one millisecond everywhere")
  func equalTimesMerged() async throws {
    let pair = try await Pair.sharing(policy: .fieldByField)
    try pair.b.retitle("b")
    await pair.b.store.sync()
    try pair.a.edit { $0.note = "x" }
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    #expect(try pair.b.note()?.title == "b")
    #expect(try pair.b.note()?.note == "x")
  }

  /// Promises: H-6
  @Test("The later edit wins though a clock is an hour wrong", arguments: [1, -1])
  func skew(direction: Int64) async throws {
    let pair = try await Pair.sharing(policy: .latestWins, skew: direction * 3_600_000)
    func editA() throws { try pair.a.retitle("a") }
    func editB() async throws {
      try pair.b.retitle("b")
      await pair.b.store.sync()
    }
    if direction > 0 { try editA() } else { try await editB() }
    pair.world.time.advance(by: 300_000)
    if direction > 0 { try await editB() } else { try editA() }
    pair.world.time.advance(by: 300_000)
    await pair.a.store.sync()
    #expect(try await pair.isEven())
    #expect(try await pair.serverTitle() == (direction > 0 ? "b" : "a"))
  }

  /// Promises: H-10
  @Test("A device's own push does not hide earlier changes of others")
  func pushHidesNothing() async throws {
    let pair = try await Pair.sharing()
    try pair.b.insert("X", "x")
    await pair.b.store.sync()
    try pair.a.insert("Y", "y")
    await pair.a.store.sync(.push)
    #expect(try pair.a.title("X") == nil)
    await pair.a.store.sync()
    #expect(try pair.a.title("X") == "x")
    #expect(try await pair.isEven())
  }

  /// Promises: H-11, N-51, Scenario-18
  @Test("An adopted server that was restored wins, except where the policy decides")
  func restoredServer() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    let backup = try await pair.world.serverRecords()
    for id in ["T1", "T2", "T3"] { try pair.b.retitle(id, "later") }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.retitle("T2", "edited")
    try await pair.world.storage.write(space: "test") { storage in
      try storage.put(backup.values.map { StoredRecord(position: Int64($0.version) ?? 0, record: $0) })
    }
    try await pair.world.storage.startEpoch(space: "test")
    #expect(await pair.a.store.sync().stop?.name == "otherServer")
    #expect(try pair.a.title("T1") == "later")
    let report = try await pair.a.store.maintenance.adoptServer()
    try await pair.b.store.maintenance.adoptServer()
    #expect(try pair.a.title("T1") == "start")
    #expect(try pair.a.title("T2") == "start")
    #expect(try report.overwritten.map { try $0.fields?.members()["title"] } == ["edited"])
    #expect(try await pair.isEven())
  }

  /// Promises: H-11
  @Test("An edit that wins survives a restore of the server")
  func restoredServerClientWins() async throws {
    let pair = try await Pair.sharing(policy: .localWins)
    let backup = try await pair.world.serverRecords()
    try pair.b.retitle("later")
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.a.edit { $0.note = "mine" }
    try await pair.world.storage.write(space: "test") { storage in
      try storage.put(backup.values.map { StoredRecord(position: Int64($0.version) ?? 0, record: $0) })
    }
    try await pair.world.storage.startEpoch(space: "test")
    try await pair.a.store.maintenance.adoptServer()
    try await pair.b.store.maintenance.adoptServer()
    #expect(try await pair.isEven())
    #expect(try await pair.server("T1")?["note"] == "mine")
  }
}
