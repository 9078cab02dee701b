import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The sections of the caching SDK's guide on purging and on writing to the cache.
@Suite("The caching SDK: purging and saving", .timeLimit(.minutes(5)))
struct StackMobSavingTests {
  // MARK: manually purging

  /// Promises: S-25, S-26, S-27
  @Test(
    "Records can be purged by their ids; pending ones stay")
  func purge() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2", "T3", "T4", "T5"])
    #expect(try pair.a.store.purge(.note("T1")).removed == 1)
    let nothing = try pair.a.store.purge(.note("nobody"))
    #expect(nothing.removed == 0 && nothing.kept.isEmpty)
    #expect(try pair.a.store.purge([.note("T2"), .note("nobody")]).removed == 1)
    #expect(try pair.a.store.purge([.note("T3"), .note("never saved")]).removed == 1)
    #expect(try pair.a.noteIDs() == ["T4", "T5"])
    try pair.a.retitle("T4", "unsent")
    let kept = try pair.a.store.purge(.note("T4"))
    #expect(kept.removed == 0 && kept.kept == [.note("T4")])
    #expect(try pair.a.title("T4") == "unsent")
    #expect(try pair.a.store.purge(.note("T4"), includingPending: true).removed == 1)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
    #expect(try pair.a.noteIDs().count == 5)
  }

  /// Promises: S-28
  @Test("Purging a type leaves the records of other types")
  func purgeType() async throws {
    let pair = try await Pair.preset(.stackMob, schema: .family)
    try pair.b.put(.parent("P1"))
    try pair.b.put(.child("C1", of: "P1"))
    await pair.b.store.sync(.both)
    await pair.a.store.sync(.both)
    #expect(try pair.a.store.purge(type: "Child").removed == 1)
    #expect(try pair.a.record("Child", "C1") == nil)
    #expect(try pair.a.record("Parent", "P1") != nil)
    #expect(try await pair.isEven())
  }

  /// Promises: S-29, H-52
  @Test("Emptying the cache waits for a sync and refuses while changes are pending")
  func resetAll() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2"])
    try pair.a.retitle("unsent")
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.maintenance.reset() }
    #expect(error?.code == .pendingChanges)
    #expect(try pair.a.noteIDs().count == 2)
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let store = pair.a.store
    let sync = Task { await store.sync() }
    await latch.reached()
    let reset = Task { try await store.maintenance.reset() }
    await Task.yield()
    #expect(try pair.a.noteIDs().count == 2)
    latch.open()
    #expect(await sync.value.pushed == 1)
    try await reset.value
    #expect(try pair.a.noteIDs().isEmpty && pair.a.store.outboxEntries().isEmpty)
    #expect(await pair.a.store.sync().obstacle == nil)
    try await pair.a.store.delete(.note("T2"))
    #expect(try await pair.world.serverRecords().count == 1)
    #expect(try await pair.isEven())
  }

  // MARK: writing to the cache

  /// Promises: S-33, S-34, S-38, S-39
  @Test(
    "A save is sent at once and caches the response, or waits while offline"
  )
  func saving() async throws {
    var type = Note.schema
    for index in type.fields.indices where type.fields[index].name == "note" {
      type.fields[index].defaultValue = "filled in"
    }
    type.fields.append(FieldSchema("stamp", .text, default: "by the server"))
    let pair = try await Pair.preset(.stackMob, rules: AccessRules(schema: StoreSchema(types: [type])))
    #expect(SyncOptions.stackMob.writePolicy == .remoteThenLocal)
    try await pair.a.store.save(Note(id: "T1", "online"))
    #expect(pair.a.remote.requests.count == 1 && pair.a.remote.reads == 0)
    #expect(try pair.a.store.state(of: .note()) == .synced)
    #expect(try pair.a.record("Note", "T1")?.version == "1")
    #expect(try pair.a.record("Note", "T1")?.unknownFields?.contains("by the server") == true)
    let cached = try await pair.a.store.fetchResult(RecordQuery<Note>(), options: .reading(.local)).records
    #expect(cached.map(\.note) == ["filled in"])
    let dates = try #require(try pair.a.store.store.metadata(of: .note("T1")))
    #expect(dates.createdTime == pair.world.time.now && dates.modifiedTime == pair.world.time.now)
    #expect(dates.owner != nil)
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T2", "offline"))
    #expect(receipt.known == .pending)
    #expect(try pair.a.title("T2") == "offline")
    #expect(try pair.a.isPending("T2"))
    pair.a.remote.isOffline = false
    #expect(await pair.a.store.sync().synced.map(\.action) == [.insertedOnServer])
    #expect(try !pair.a.isPending("T2"))
  }

  /// Promises: S-35, C-4, C-21
  @Test(
    "A rejected save throws and changes nothing; an accepted one stores the server's record"
  )
  func remoteThenLocal() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"], rules: .withoutNotes)
    var note = try #require(try pair.a.note())
    note.note = "refused"
    let refused = note
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.save(refused) }
    #expect(error?.rejection?.fields.map(\.field) == ["note"])
    #expect(try pair.a.note()?.note == nil)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    try pair.b.edit { $0.score = 7 }
    await pair.b.store.sync(.both)
    try await pair.a.store.save(AnyRecord("Note", id: "T1", ["title": "mine"]))
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.note()?.score == 7)
  }

  /// Promises: X-9, H-36
  @Test(
    "A save of several records reports each, and a failure stops no other")
  func severalAtOnce() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2", "T3"], rules: .withoutNotes)
    let records = [
      AnyRecord("Note", id: "T1", ["note": "refused"]),
      AnyRecord("Note", id: "T8", ["title": "8", "score": 0]),
      AnyRecord("Note", id: "T2", ["title": "new"]), AnyRecord("Note", id: "T9", ["title": "9", "score": 0]),
    ]
    let results = try await pair.a.store.save(records, deleting: [.note("T3")])
    #expect(results.map(\.record.id) == ["T8", "T9", "T1", "T2", "T3"])
    #expect(results.filter { $0.error != nil }.map(\.record) == [.note("T1")])
    #expect(try await Set(pair.world.serverRecords().keys.map(\.id)) == ["T1", "T2", "T8", "T9"])
    #expect(try await pair.serverTitle("T2") == "new")
    pair.a.remote.forgetRequests()
    let failed = records.filter { record in
      results.contains { $0.record == record.recordID && $0.error != nil }
    }
    #expect(try await pair.a.store.save(failed).map { $0.error == nil } == [false])
    #expect(pair.a.operations.map(\.record) == [.note("T1")])
    #expect(try await pair.isEven())
  }

  /// Promises: S-36
  @Test(
    "A save to the network only marks the cached record as stale"
  )
  func remote() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    try await pair.a.store.save(Note(id: "T2", "new"), options: .saving(.remote))
    #expect(try pair.a.note("T2") == nil)
    try await pair.a.store.save(Note(id: "T1", "changed"), options: .saving(.remote))
    #expect(try await pair.serverTitle() == "changed")
    let cached = try await pair.a.store.fetchResult(RecordQuery<Note>(), options: .reading(.local))
    #expect(cached.records.map(\.title) == ["start"])
    #expect(cached.stale == ["T1"])
    pair.a.remote.isOffline = true
    #expect(try await pair.a.titles(.localElseRemote) == ["start"])
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(Note(id: "T3", "lost"), options: .saving(.remote))
    }
    #expect(error?.code == .unreachable)
    #expect(try pair.a.store.outboxEntries().isEmpty)
    pair.a.remote.isOffline = false
    #expect(try await pair.a.titles(.localElseRemote) == ["changed", "new"])
    let fresh = try await pair.a.store.fetchResult(RecordQuery<Note>(), options: .reading(.local))
    #expect(fresh.stale.isEmpty && fresh.records.map(\.title) == ["changed", "new"])
    try await pair.a.store.save(Note(id: "T2", "later"))
    #expect(try pair.a.title("T2") == "later")
  }

  /// Promises: S-37, S-40
  @Test("Saves to the cache only are collected, and the next sync sends them all")
  func local() async throws {
    let pair = try await Pair.preset(.stackMob) {
      $0.writePolicy = .local
      $0.batchSize = 4
    }
    for number in 0..<10 { try await pair.a.store.save(Note(id: "T\(number)", "x")) }
    #expect(try await pair.world.serverRecords().isEmpty)
    #expect(pair.a.remote.requests.isEmpty)
    #expect(try pair.a.store.pendingCounts().insert == 10)
    let journal = Journal()
    let store = pair.a.store
    pair.a.remote.setBeforeSending { _ in
      if case .syncing(let progress) = store.status.phase { journal.note("\(progress.pushed)") }
    }
    #expect(await pair.a.store.sync().pushed == 10)
    #expect(journal.lines == ["0", "4", "8"])
    #expect(try await pair.world.serverRecords().count == 10)
  }

  // MARK: results that are not cached

  /// Promises: S-71
  @Test("A request without cached results changes no row, but marks stale ones")
  func cacheResults() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    try await pair.otherDeviceSets("new")
    try pair.b.insert("T2", "two")
    await pair.b.store.sync(.both)
    let uncached = RequestOptions(cacheResults: false)
    let found = try await pair.a.store.fetchResult(RecordQuery<Note>(), options: uncached)
    #expect(found.records.map(\.title) == ["new", "two"])
    #expect(try pair.a.title() == "start" && pair.a.note("T2") == nil)
    try await pair.a.store.save(Note(id: "T3", "three"), options: uncached)
    #expect(try pair.a.note("T3") == nil)
    await pair.a.store.sync(.both)
    try await pair.a.store.save(Note(id: "T1", "mine"), options: uncached)
    #expect(try pair.a.title() == "new")
    #expect(
      try await pair.a.store.fetchResult(RecordQuery<Note>(), options: .reading(.local)).stale == ["T1"])
    try await pair.a.store.save(Note(id: "T4", "four"))
    #expect(try pair.a.title("T4") == "four")
  }
}
