import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The section of the caching SDK's guide on syncing with the server.
@Suite("The caching SDK: syncing", .faultsStrike, .timeLimit(.minutes(5)))
struct StackMobSyncTests {
  // MARK: when

  /// Promises: C-12, S-41, C-11, X-2
  @Test(
    "A sync runs only on request, and each call returns a report")
  func byHand() async throws {
    #expect(SyncOptions.stackMob.triggers.isEmpty)
    #expect(!SyncOptions.Triggers.default.isEmpty)
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    pair.a.remote.isOffline = true
    try await pair.a.store.save(Note(id: "T2", "offline"))
    #expect(await pair.a.store.sync().stop?.name == "unreachable")
    pair.a.remote.isOffline = false
    let loop = Task { [store = pair.a.store] in await store.run(clock: VirtualClock()) }
    try await until { pair.a.store.status.phase == .idle }
    #expect(try pair.a.isPending("T2"))
    loop.cancel()
    await loop.value
    #expect(await pair.a.store.sync().pushed == 1)
    let report = await pair.a.store.sync()
    #expect(report.obstacle == nil && report.synced.isEmpty)
  }

  /// Promises: C-10, X-2
  @Test("A second sync during a sync ends at once, and a later one runs")
  func whileRunning() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    try pair.a.retitle("b")
    let latch = Latch()
    let sent = Calls()
    pair.a.remote.setBeforeSending { _ in
      if sent.add() == 1 { await latch.pass() }
    }
    let store = pair.a.store
    let journal = Journal()
    let callbacks = SyncCallbacks(completion: { journal.note("completed \($0.count)") })
    let first = Task { await store.sync(telling: callbacks) }
    await latch.reached()
    #expect(await store.sync(telling: callbacks).stop == .alreadyRunning)
    #expect(await store.sync().stop == .alreadyRunning)
    latch.open()
    #expect(await first.value.pushed == 1)
    #expect(sent.count == 1)
    _ = await store.sync(telling: callbacks)
    #expect(journal.lines == ["completed 1", "completed 0"])
  }

  // MARK: how it works

  /// Promises: S-51, C-8
  @Test("A push exchanges only local changes, and a full sync brings the rest")
  func pushOnly() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2"])
    try await pair.otherDeviceSets("theirs", "T2")
    try pair.a.retitle("mine")
    let report = await pair.a.store.sync()
    #expect(report.pushed == 1 && report.pulled == 0)
    #expect(pair.a.remote.requests.allSatisfy { $0.pulls.isEmpty })
    #expect(try pair.a.title("T2") == "start")
    await pair.a.store.sync(.pull)
    #expect(try pair.a.title("T2") == "theirs")
    #expect(try await pair.isEven())
  }

  /// Promises: S-43, S-44, S-47, C-25
  @Test("Changes are sent in one request without a read, and missing records are skipped")
  func batch() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2", "T3"])
    try pair.a.insert("T9", "new")
    for id in ["T1", "T2"] { try pair.a.retitle(id, "b") }
    try pair.a.remove("T3")
    try pair.a.change { try PreparedStatement("DELETE FROM Note WHERE _id = 'T2'", in: $0.database).run() }
    let report = await pair.a.store.sync()
    #expect(pair.a.remote.requests.count == 1 && pair.a.remote.reads == 0)
    #expect(report.synced.map(\.record.id) == ["T9", "T1", "T3"])
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
    #expect(try pair.a.title("T2") == "start")
  }

  /// Promises: S-52, S-63, S-64, S-65, C-20, N-53
  @Test(
    "Inserts are sent first, then updates, then deletions, and reported in this order"
  )
  func phases() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2", "T3", "T4"])
    try pair.a.remove("T1")
    try pair.a.retitle("T2", "b")
    try pair.a.insert("T0", "new")
    try pair.b.remove("T3")
    try pair.b.remove("T4")
    await pair.b.store.sync(.both)
    try pair.a.retitle("T3", "lost")
    try pair.a.remove("T4")
    let report = await pair.a.store.sync()
    #expect(
      report.synced == [
        SyncReport.Record(record: .note("T0"), action: .insertedOnServer),
        SyncReport.Record(record: .note("T2"), action: .updatedOnServer),
        SyncReport.Record(record: .note("T3"), action: .removedFromCache),
        SyncReport.Record(record: .note("T1"), action: .deletedFromServer),
        SyncReport.Record(record: .note("T4"), action: .alreadyDeleted),
      ])
    #expect(SyncReport.Record.Action.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect(
      report.syncedObjects == [
        SyncedObject(objectID: .note("T0"), actionTaken: .insertedOnServer),
        SyncedObject(objectID: .note("T2"), actionTaken: .updatedOnServer),
        SyncedObject(objectID: .note("T3"), actionTaken: .updatedCache),
        SyncedObject(objectID: .note("T1"), actionTaken: .deletedFromServer),
      ])
  }

  /// Promises: S-49, N-54
  @Test(
    "A sync blocks neither reads nor saves, and a cancelled one completes whole batches"
  )
  func cancelled() async throws {
    let pair = try await Pair.preset(.stackMob) { $0.batchSize = 2 }
    for number in 0..<6 { try pair.a.insert("T\(number)", "x") }
    let latch = Latch()
    let sent = Calls()
    pair.a.remote.setBeforeSending { _ in
      if sent.add() == 2 { await latch.pass() }
    }
    let store = pair.a.store
    let sync = Task { await store.sync() }
    await latch.reached()
    try pair.a.insert("T9", "meanwhile")
    #expect(try await pair.a.titles(.local).count == 7)
    sync.cancel()
    latch.open()
    let report = await sync.value
    #expect(report.obstacle == .cancelled)
    let server = try await pair.world.serverRecords().count
    #expect(server == 2 || server == 4)
    #expect(try pair.a.store.pendingCounts().insert == 7 - report.pushed)
    #expect(try await pair.isEven())
    #expect(try await pair.world.serverRecords().count == 7)
  }

  /// Promises: S-50, S-1
  @Test("Offline changes of two devices are on both and the server after syncing")
  func agreement() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2"])
    for device in [pair.a, pair.b] { device.remote.isOffline = true }
    try await pair.a.store.save(Note(id: "A", "a"))
    try await pair.b.store.save(Note(id: "B", "b"))
    try await pair.a.store.delete(.note("T1"))
    try await pair.b.store.save(Note(id: "T2", "edited"))
    for device in [pair.a, pair.b] { device.remote.isOffline = false }
    #expect(try await pair.isEven())
    #expect(try await Set(pair.world.serverRecords().keys.map(\.id)) == ["A", "B", "T2"])
  }

  // MARK: when it is done

  /// Promises: S-48, S-66, X-1, S-32, C-25
  @Test("Callbacks for failures run first, by operation, then the completion")
  @MainActor
  func callbacks() async throws {
    var type = Note.schema
    type.fields.removeAll { $0.name == "note" }
    type.permissions = Permissions(delete: .nobody)
    let pair = try await Pair.preset(
      .stackMob, sharing: ["T1", "T2", "T3"], rules: AccessRules(schema: StoreSchema(types: [type])))
    try pair.a.insert("T8", "new")
    try pair.a.insert("T9", "new", note: "refused")
    try pair.a.edit("T1") { $0.note = "refused" }
    try pair.a.remove("T2")
    try pair.a.retitle("T3", "b")
    var lines: [String] = []
    let callbacks = SyncCallbacks(
      failedInserts: { @MainActor failures in lines.append("inserts \(failures.map(\.record.id))") },
      failedUpdates: { @MainActor failures in lines.append("updates \(failures.map(\.record.id))") },
      failedDeletes: { @MainActor failures in lines.append("deletes \(failures.map(\.code))") },
      completion: { @MainActor objects in lines.append("completed \(objects.map(\.objectID.id))") })
    await pair.a.store.sync(telling: callbacks)
    #expect(
      lines == [
        "inserts [\"T9\"]", "updates [\"T1\"]", "deletes [\"forbidden\"]", "completed [\"T8\", \"T3\"]",
      ])
    lines = []
    pair.a.remote.isOffline = true
    await pair.a.store.sync(telling: callbacks)
    #expect(lines == ["completed []"])
  }

  /// Promises: S-68, S-83
  @Test(
    "Failed changes stay pending and are logged, and the report can be encoded")
  func failures() async throws {
    let log = RecordedLog()
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"], rules: .withoutNotes) {
      $0.logger = log.logger
    }
    try pair.a.edit { $0.note = "refused" }
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.record) == [.note()])
    let failure = try #require(report.rejected.first)
    #expect(
      log.lines == [
        "notice: The server rejected a change. code=\(failure.code) operation=update record=Note/T1"
      ])
    let written = try JSONEncoder().encode(report)
    #expect(try JSONDecoder().decode(SyncReport.self, from: written) == report)
    #expect(try pair.a.isPending())
    try pair.a.restart()
    #expect(try pair.a.isPending())
    #expect(try pair.a.note()?.note == "refused")
  }

  /// Promises: S-73
  @Test("The syncing state is observable, and false before the completion runs")
  func inProgress() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    let store = pair.a.store
    let journal = Journal()
    pair.a.remote.setBeforeSending { _ in journal.note("sending \(store.status.isSyncing)") }
    try pair.a.retitle("b")
    await store.sync(
      telling: SyncCallbacks(completion: { _ in journal.note("completed \(store.status.isSyncing)") }))
    #expect(journal.lines == ["sending true", "completed false"])
    pair.a.remote.setBeforeSending { _ in }
    pair.a.remote.plan(.status(500, retryAfter: nil))
    try pair.a.retitle("c")
    await store.sync()
    #expect(!store.status.isSyncing)
  }

  /// Promises: S-86
  @Test("After an error inside the server the change is pending and sent next")
  func serverError() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    try pair.a.retitle("b")
    pair.a.remote.plan(.status(500, retryAfter: nil))
    #expect(await pair.a.store.sync().stop?.name == "serverError")
    #expect(try pair.a.isPending())
    pair.a.remote.setScript { .none }
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.serverTitle() == "b")
  }
}
