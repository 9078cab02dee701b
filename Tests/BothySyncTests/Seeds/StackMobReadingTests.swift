import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The sections of the caching SDK's guide on the cache and on fetching.
@Suite("The caching SDK: the cache and fetching", .timeLimit(.minutes(5)))
struct StackMobReadingTests {
  // MARK: how the cache works

  /// Promises: S-4, S-5, S-82
  @Test("Records of one request answer all later queries without the network")
  func subsets() async throws {
    let pair = try await Pair.preset(.stackMob)
    for number in 0..<6 { try pair.b.insert("T\(number)", number.isMultiple(of: 2) ? "even" : "odd") }
    await pair.b.store.sync(.both)
    #expect(try await pair.a.store.fetchResult(RecordQuery<Note>()).records.count == 6)
    pair.a.remote.forgetRequests()
    let even = try await pair.a.store.fetchResult(
      RecordQuery<Note>().where { $0.title == "even" }, options: .reading(.local))
    #expect(even.records.map(\.id) == ["T0", "T2", "T4"])
    #expect(even.isComplete && even.age == .zero)
    let first = RecordQuery<Note>().order(SortKey("id")).limit(2)
    #expect(try await pair.a.store.fetchResult(first, options: .reading(.local)).records.count == 2)
    #expect(pair.a.remote.reads == 0 && pair.a.remote.requests.isEmpty)
  }

  /// Promises: S-4, S-82
  @Test("A partial result is not taken for a complete one")
  func partly() async throws {
    let pair = try await Pair.preset(.stackMob)
    try pair.b.insert("T1", "one")
    try pair.b.insert("T2", "two")
    await pair.b.store.sync(.both)
    let one = RecordQuery<Note>().where { $0.title == "one" }
    _ = try await pair.a.store.fetchResult(one)
    pair.world.time.advance(by: 5000)
    let again = try await pair.a.store.fetchResult(one, options: .reading(.local))
    #expect(again.isComplete && again.age == .seconds(5))
    let all = try await pair.a.store.fetchResult(RecordQuery<Note>(), options: .reading(.local))
    #expect(!all.isComplete && all.age == nil)
    _ = try await pair.a.store.fetchResult(RecordQuery<Note>().limit(1))
    #expect(
      try await !pair.a.store.fetchResult(RecordQuery<Note>(), options: .reading(.local)).isComplete)
    try pair.a.store.purge(type: "Note")
    #expect(try await !pair.a.store.fetchResult(one, options: .reading(.local)).isComplete)
  }

  /// Promises: S-6
  @Test("A type needs no date fields to be saved offline and synced")
  func noDates() async throws {
    let plain = StoreSchema(types: [TypeSchema("Plain", fields: [FieldSchema("name", .text)])])
    let pair = try await Pair.preset(.stackMob, schema: plain)
    pair.a.remote.isOffline = true
    try await pair.a.store.save(AnyRecord("Plain", id: "P1", ["name": "x"]))
    pair.a.remote.isOffline = false
    #expect(await pair.a.store.sync().pushed == 1)
    let record = try await pair.world.serverRecords()[RecordID(type: "Plain", id: "P1")]
    #expect(record?.modified == pair.world.time.now)
    #expect(try record?.fields.members() == ["name": "x"])
  }

  // MARK: turning the cache on and off

  /// Promises: S-9, S-37
  @Test("Without a cache every read and save uses the network and stores nothing")
  func disabled() async throws {
    let pair = try await Pair.preset(.stackMob) { $0.cache = .disabled }
    try await pair.a.store.save(Note(id: "T1", "mine"))
    #expect(try await pair.serverTitle() == "mine")
    #expect(try await pair.a.titles() == ["mine"])
    try await pair.a.store.save(Note(id: "T1", "again"))
    #expect(try await pair.serverTitle() == "again")
    #expect(try pair.a.noteIDs().isEmpty && pair.a.store.outboxEntries().isEmpty)
    let reading = await #expect(throws: BothyError.self) { try await pair.a.titles(.local) }
    #expect(reading?.code == .cacheDisabled)
    let saving = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(Note(id: "T2", "x"), options: .saving(.local))
    }
    #expect(saving?.code == .cacheDisabled)
    for policy in [ReadPolicy.remote, .remoteElseLocal, .syncThenLocal] {
      pair.a.remote.isOffline = true
      let error = await #expect(throws: BothyError.self) { try await pair.a.titles(policy) }
      #expect(error?.code == .unreachable)
      pair.a.remote.isOffline = false
    }
    pair.a.remote.isOffline = true
    await #expect(throws: BothyError.self) { try await pair.a.store.save(Note(id: "T3", "lost")) }
    pair.a.remote.isOffline = false
    try await pair.a.store.delete(.note())
    #expect(try await pair.world.serverRecords().isEmpty)
    #expect(try pair.a.noteIDs().isEmpty && pair.a.store.outboxEntries().isEmpty)
  }

  // MARK: fetching into the cache

  /// Promises: S-10, C-9
  @Test(
    "A fetch makes the cache equal to the server's result, deletions included")
  func replaced() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2", "T3"])
    try pair.b.retitle("T1", "new")
    try pair.b.remove("T2")
    try pair.b.insert("T4", "start")
    await pair.b.store.sync(.both)
    try pair.a.retitle("T3", "unsent")
    #expect(try await pair.a.titles() == ["new", "unsent", "start"])
    #expect(try await pair.a.titles(.local) == ["new", "unsent", "start"])
    #expect(try pair.a.isPending("T3"))
  }

  /// Promises: S-10
  @Test("A response that a sync has overtaken does not restore the old state")
  func overtaken() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    let old = try #require(try await pair.world.serverRecords()[.note()])
    let remote = ScriptedAnswer(pair.a.remote)
    let path = pair.world.devices[0].path + "-second"
    let store = try SyncedStore(at: path, schema: .notes, remote: remote, configuration: .quiet)
    await store.sync()
    try await pair.otherDeviceSets("new")
    remote.answer = {
      await store.sync()
      return [old]
    }
    let found = try await store.fetchResult(RecordQuery<Note>(), options: .reading(.remote))
    #expect(found.records.map(\.title) == ["new"])
  }

  /// Promises: S-11
  @Test(
    "Results are values that later changes of the cache do not affect"
  )
  func values() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    let found = try await pair.a.store.fetchResult(RecordQuery<Note>())
    pair.a.remote.forgetRequests()
    try await pair.otherDeviceSets("new")
    await pair.a.store.sync(.both)
    pair.a.remote.isOffline = true
    #expect(found.records.map(\.title) == ["start"])
    #expect(try await pair.a.titles(.local) == ["new"])
    #expect(pair.a.remote.reads == 0)
  }

  // MARK: fetch policies

  /// Promises: S-14, S-15, S-19
  @Test("The preset fetches from the network and caches the result, or fails offline")
  func remote() async throws {
    #expect(SyncOptions.stackMob.readPolicy == .remote)
    #expect(SyncOptions().readPolicy == .local)
    let pair = try await Pair.preset(.stackMob)
    try pair.b.insert("T1", "one")
    await pair.b.store.sync(.both)
    #expect(try await pair.a.titles() == ["one"])
    #expect(try await pair.a.titles(.local) == ["one"])
    pair.a.remote.isOffline = true
    let error = await #expect(throws: BothyError.self) { try await pair.a.titles() }
    #expect(error?.code == .unreachable)
  }

  /// Promises: S-16, S-17, S-18
  @Test("The other three policies are network else cache, cache only, cache else network")
  func policies() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"])
    try await pair.otherDeviceSets("new")
    #expect(try await pair.a.titles(.localElseRemote) == ["start"])
    #expect(try await pair.a.titles(.local) == ["start"])
    #expect(pair.a.remote.reads == 0)
    #expect(try await pair.a.titles(.remoteElseLocal) == ["new"])
    pair.a.remote.isOffline = true
    #expect(try await pair.a.titles(.remoteElseLocal) == ["new"])
    try pair.a.store.purge(type: "Note")
    #expect(try await pair.a.titles(.local).isEmpty)
    await #expect(throws: BothyError.self) { try await pair.a.titles(.localElseRemote) }
    pair.a.remote.isOffline = false
    #expect(try await pair.a.titles(.localElseRemote) == ["new"])
  }

  /// Promises: S-18
  @Test("An empty result known to be complete needs no request, if configured")
  func knownEmpty() async throws {
    for trusts in [false, true] {
      let pair = try await Pair.preset(.stackMob) { $0.trustsCompleteness = trusts }
      #expect(try await pair.a.titles(.remote).isEmpty)
      pair.a.remote.forgetRequests()
      #expect(try await pair.a.titles(.localElseRemote).isEmpty)
      #expect(pair.a.remote.reads == (trusts ? 0 : 1))
      let count = try await pair.a.store.count(AnyQuery("Note"), options: .reading(.localElseRemote))
      #expect(count == 0)
      #expect(pair.a.remote.reads == (trusts ? 0 : 2))
    }
  }

  /// Promises: X-10
  @Test(
    "A condition unknown to the cache runs on the server, or fails locally")
  func serverOnlyConditions() async throws {
    var newer = Note.schema
    newer.fields.append(FieldSchema("mood", .text, optional: true))
    for unevaluable in SyncOptions.UnevaluablePolicy.allCases {
      let world = try SimulatedWorld(rules: AccessRules(schema: StoreSchema(types: [newer])))
      let new = try world.addDevice("new", schema: StoreSchema(types: [newer]))
      for (id, mood) in [("T1", "good"), ("T2", "bad")] {
        try new.put(AnyRecord("Note", id: id, ["title": "x", "score": 0, "mood": .text(mood)]))
      }
      await new.store.sync()
      var configuration = SyncOptions.stackMob
      configuration.unevaluable = unevaluable
      let old = try world.addDevice("old", schema: .notes, configuration: configuration)
      let good = ConditionTree.compare(field: "mood", .equal, "good")
      let query = RecordQuery<Note>(AnyQuery("Note", where: good && .compare(field: "title", .equal, "x")))
      #expect(try await old.store.fetchResult(query).records.map(\.id) == ["T1"])
      #expect(try old.noteIDs() == ["T1"])
      #expect(try await old.store.count(query.recordQuery) == 1)
      func cached() async throws -> [Note] {
        try await old.store.fetchResult(query, options: .reading(.local)).records
      }
      if unevaluable == .empty {
        #expect(try await cached().isEmpty)
      } else {
        let error = await #expect(throws: BothyError.self) { try await cached() }
        #expect(error?.code == .notLocallyEvaluable)
      }
      #expect(try old.noteIDs() == ["T1"])
    }
  }

  /// Promises: X-10
  @Test("Geo conditions give the server's result here too, even when nested")
  func geo() async throws {
    let places = StoreSchema(types: [TypeSchema("Place", fields: [FieldSchema("at", .coordinate)])])
    let pair = try await Pair.preset(.stackMob, schema: places)
    for (id, latitude) in [("near", 59.91), ("far", 61.0)] {
      try pair.b.put(
        AnyRecord("Place", id: id, ["at": .coordinate(Coordinate(latitude: latitude, longitude: 10.75))]))
    }
    await pair.b.store.sync(.both)
    let centre = Coordinate(latitude: 59.9, longitude: 10.75)
    let oslo = ConditionTree.near(field: "at", centre: centre, metres: 5000)
    let query = AnyQuery("Place", where: .or([oslo, .none]))
    #expect(try await pair.a.store.fetchResult(query).records.map(\.id) == ["near"])
    #expect(
      try await pair.a.store.fetchResult(query, options: .reading(.local)).records.map(\.id) == ["near"])
  }

  // MARK: per request

  /// Promises: S-30, X-7, S-20, S-2, C-25
  @Test("A request may have its own policy, and the next uses the store's")
  func perRequest() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"]) { $0.readPolicy = .local }
    try await pair.otherDeviceSets("new")
    #expect(try await pair.a.titles() == ["start"])
    #expect(try await pair.a.titles(.remote) == ["new"])
    pair.a.remote.forgetRequests()
    #expect(try await pair.a.titles() == ["new"])
    #expect(pair.a.remote.reads == 0)
  }

  /// Promises: S-31
  @Test("Changes since the last launch arrive in server order and keep unsent edits")
  func sinceLastLaunch() async throws {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2", "T3"])
    let launch = try await pair.a.store.downloadChanges().token
    pair.world.time.advance(by: -3_600_000)
    try pair.b.retitle("T1", "new")
    try pair.b.remove("T2")
    try pair.b.retitle("T3", "theirs")
    await pair.b.store.sync(.both)
    try pair.a.retitle("T3", "mine")
    let news = try await pair.a.store.downloadChanges(since: launch)
    #expect(Set(news.changed) == [.note("T1"), .note("T3")])
    #expect(news.removed == [.note("T2")])
    #expect(!news.isFromStart)
    #expect(try await pair.a.titles(.local) == ["new", "mine"])
    #expect(try pair.a.isPending("T3"))
    let nothing = try await pair.a.store.downloadChanges(since: news.token)
    #expect(nothing.changed.isEmpty && nothing.removed.isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: S-12, S-13, S-81
  @Test("A referenced record is loaded on request, or the error names it")
  func related() async throws {
    let pair = try await Pair.preset(.stackMob, schema: .family)
    try pair.b.put(.parent("P1"))
    try pair.b.put(.child("C1", of: "P1"))
    await pair.b.store.sync(.both)
    let child = try await pair.a.store.fetchResult(AnyQuery("Child")).records
    #expect(child.map { $0["parent"] } == ["P1"])
    let parent = RecordID(type: "Parent", id: "P1")
    pair.a.remote.isOffline = true
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.resolve([parent], options: .reading(.remoteElseLocal))
    }
    #expect(error?.code == .relatedRecordUnavailable && error?.record == parent)
    #expect(
      try await pair.a.store.fetchResult(AnyQuery("Child"), options: .reading(.local)).records.count == 1)
    pair.a.remote.isOffline = false
    #expect(try await pair.a.store.resolve([parent]).map(\.id) == ["P1"])
  }

  /// Promises: S-13
  @Test("A reference resolves to its record, or the error names it")
  func reference() async throws {
    let pair = try await Pair.preset(.stackMob) { $0.readPolicy = .remoteElseLocal }
    try pair.b.insert("T1", "start")
    await pair.b.store.sync(.both)
    #expect(try await pair.a.store.resolve(Reference<Note>(id: "T1")).title == "start")
    for isOffline in [false, true] {
      pair.a.remote.isOffline = isOffline
      let error = await #expect(throws: BothyError.self) {
        try await pair.a.store.resolve(Reference<Note>(id: "none"))
      }
      #expect(error?.code == .relatedRecordUnavailable && error?.record == .note("none"))
    }
  }
}
