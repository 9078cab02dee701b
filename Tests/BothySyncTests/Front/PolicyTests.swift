import BothyStore
import BothySync
import BothyTesting
import Testing

/// What each policy asks of the network, leaves in the store, and throws.
@Suite("Policies")
struct PolicyTests {
  /// A has `start`; the server has `news`; A is asked by `policy`.
  private func ask(
    _ policy: FetchPolicy, offline: Bool = false, empty: Bool = false
  ) async throws -> (pair: Pair, result: Result<FetchResult<Note>, any Error>) {
    let pair = try await Pair.sharing(empty ? [] : ["T1"])
    if empty { try pair.b.insert("T1", "news") } else { try pair.b.retitle("news") }
    await pair.b.store.sync()
    pair.a.remote.isOffline = offline
    do {
      let options = RequestOptions(fetchPolicy: policy)
      return (pair, .success(try await pair.a.store.fetch(Query<Note>(), options: options)))
    } catch { return (pair, .failure(error)) }
  }

  @Test("networkOnly asks the server and stores the answer; without a network it throws")
  func networkOnly() async throws {
    let (pair, result) = try await ask(.networkOnly)
    #expect(try result.get().values.map(\.title) == ["news"])
    #expect(try result.get().origin == .network)
    #expect(try result.get().isComplete)
    #expect(try pair.a.title() == "news")
    #expect(pair.a.remote.reads == 1 && pair.a.remote.requests.isEmpty)
    let (_, offline) = try await ask(.networkOnly, offline: true)
    let error = #expect(throws: SyncError.self) { try offline.get() }
    #expect(error?.code == .unreachable)
  }

  @Test("networkElseCache asks the server, and answers from here without a network")
  func networkElseCache() async throws {
    #expect(try await ask(.networkElseCache).result.get().values.map(\.title) == ["news"])
    let offline = try await ask(.networkElseCache, offline: true).result.get()
    #expect(offline.values.map(\.title) == ["start"])
    #expect(offline.origin == .cache)
    #expect(offline.age == .zero)
  }

  @Test("cacheOnly makes no request, whether there is anything here or not")
  func cacheOnly() async throws {
    let (pair, result) = try await ask(.cacheOnly)
    #expect(try result.get().values.map(\.title) == ["start"])
    #expect(pair.a.remote.reads == 0 && pair.a.remote.requests.isEmpty)
    #expect(try await ask(.cacheOnly, empty: true).result.get().values.isEmpty)
  }

  @Test("cacheElseNetwork asks the server only if nothing is here")
  func cacheElseNetwork() async throws {
    let (pair, result) = try await ask(.cacheElseNetwork)
    #expect(try result.get().values.map(\.title) == ["start"])
    #expect(pair.a.remote.reads == 0)
    let (asked, found) = try await ask(.cacheElseNetwork, empty: true)
    #expect(try found.get().values.map(\.title) == ["news"])
    #expect(asked.a.remote.reads == 1)
    let offline = try await ask(.cacheElseNetwork, offline: true, empty: true).result
    let error = #expect(throws: SyncError.self) { try offline.get() }
    #expect(error?.code == .unreachable)
  }

  @Test("syncThenCache syncs both ways, then answers from here, also when that failed")
  func syncThenCache() async throws {
    let (pair, result) = try await ask(.syncThenCache)
    #expect(try result.get().values.map(\.title) == ["news"])
    #expect(try result.get().origin == .network)
    #expect(pair.a.remote.requests.count == 1 && pair.a.remote.reads == 0)
    let offline = try await ask(.syncThenCache, offline: true).result.get()
    #expect(offline.values.map(\.title) == ["start"])
    #expect(offline.origin == .cache)
  }

  @Test("cacheThenRefresh answers from here at once, and the running loop brings the news")
  func cacheThenRefresh() async throws {
    let (pair, result) = try await ask(.cacheThenRefresh)
    #expect(try result.get().values.map(\.title) == ["start"])
    let store = pair.a.store
    let loop = Task { await store.run(clock: VirtualClock()) }
    try await until { try pair.a.title() == "news" }
    loop.cancel()
    await loop.value
  }

  @Test("The options of a call override the configuration, for that call only")
  func override() async throws {
    let pair = try await Pair.sharing { $0.fetchPolicy = .cacheOnly }
    pair.a.remote.isOffline = true
    await #expect(throws: SyncError.self) {
      try await pair.a.store.fetch(Query<Note>(), options: RequestOptions(fetchPolicy: .networkOnly))
    }
    #expect(try await pair.a.store.fetch(Query<Note>()).values.count == 1)
    #expect(try await pair.a.store.fetch(Note.self, id: "T1")?.title == "start")
    #expect(pair.a.remote.reads == 1)
  }

  @Test("Without caching, an answer is given and nothing is stored; what is pending shows in it")
  func cacheResults() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    for id in ["T1", "T2", "T3"] { try pair.b.retitle(id, "news") }
    try pair.b.insert("T4", "new")
    await pair.b.store.sync()
    try pair.a.retitle("T1", "mine")
    try pair.a.remove("T2")
    let options = RequestOptions(fetchPolicy: .networkOnly, cacheResults: false)
    let found = try await pair.a.store.fetch(Query<Note>().order(Ordering("id")), options: options)
    #expect(found.values.map(\.title) == ["mine", "news", "new"])
    #expect(try pair.a.title("T3") == "start")
    #expect(try pair.a.note("T4") == nil)
  }

  @Test("A fetch of more records than one page holds asks for the next, and stops at its limit")
  func pages() async throws {
    let pair = try Pair()
    try pair.b.change { transaction in
      for number in 0..<2500 { try transaction.insert(Note(id: "N\(10_000 + number)", "n")) }
    }
    await pair.b.store.sync()
    let all = try await pair.a.store.fetch(Query<Note>(), options: RequestOptions(fetchPolicy: .networkOnly))
    #expect(all.values.count == 2500)
    #expect(pair.a.remote.reads == 3)
    let some = Query<Note>().order(Ordering("id")).limit(1200, offset: 100)
    let found = try await pair.a.store.fetch(some, options: RequestOptions(fetchPolicy: .networkOnly))
    #expect(found.values.first?.id == "N10100")
    #expect(found.values.count == 1200)
  }

  @Test("A count follows the policy of the call")
  func counts() async throws {
    let pair = try await Pair.sharing()
    try pair.b.insert("T2", "two")
    await pair.b.store.sync()
    func count(_ policy: FetchPolicy) async throws -> Int {
      try await pair.a.store.count(RecordQuery("Note"), options: RequestOptions(fetchPolicy: policy))
    }
    #expect(try await count(.cacheOnly) == 1)
    #expect(try await count(.cacheElseNetwork) == 1)
    #expect(try await count(.networkOnly) == 2)
    pair.a.remote.isOffline = true
    #expect(try await count(.networkElseCache) == 1)
    await #expect(throws: SyncError.self) { try await count(.networkOnly) }
    pair.a.remote.isOffline = false
    #expect(try await count(.syncThenCache) == 2)
  }
}

@Suite("Saving by policy")
struct SavePolicyTests {
  private func save(
    _ policy: SavePolicy, _ pair: Pair, _ title: String = "mine", note: String? = nil
  ) async throws -> SaveReceipt {
    try await pair.a.store.save(
      Note(id: "T1", title, note: note), options: RequestOptions(savePolicy: policy))
  }

  @Test("cacheOnly and cacheThenNetwork are durable here at once and make no request themselves")
  func cacheFirst() async throws {
    for policy in [SavePolicy.cacheOnly, .cacheThenNetwork] {
      let pair = try Pair()
      let receipt = try await save(policy, pair)
      #expect(receipt.state == .pending)
      #expect(pair.a.remote.requests.isEmpty)
      try pair.a.restart()
      #expect(try pair.a.title() == "mine")
      #expect(try pair.a.isPending())
    }
  }

  @Test("networkThenCache stores what the server accepted; a refusal is thrown and changes nothing here")
  func networkThenCache() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    #expect(try await save(.networkThenCache, pair).state == .accepted(version: "2"))
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.store.outbox().isEmpty)
    let error = await #expect(throws: SyncError.self) { try await save(.networkThenCache, pair, "no", note: "x") }
    #expect(error?.code == .rejected)
    #expect(error?.rejection?.fields.map(\.field) == ["note"])
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.store.outbox().isEmpty)
    pair.a.remote.isOffline = true
    #expect(try await save(.networkThenCache, pair, "later").state == .pending)
    #expect(try pair.a.title() == "later")
    pair.a.remote.isOffline = false
    #expect(try await pair.isEven())
  }

  @Test("networkThenCache takes in what others changed and saves on top of it")
  func networkThenCacheOverNews() async throws {
    let pair = try await Pair.sharing()
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    try await pair.a.store.save(
      Record("Note", id: "T1", ["title": "mine"]), options: RequestOptions(savePolicy: .networkThenCache))
    #expect(try await pair.server("T1") == ["title": "mine", "note": "theirs", "score": 0])
    #expect(try await pair.isEven())
  }

  @Test("networkOnly stores nothing new; without a network it throws and queues nothing")
  func networkOnly() async throws {
    let pair = try Pair()
    #expect(try await save(.networkOnly, pair).state == .accepted(version: "1"))
    #expect(try pair.a.note() == nil)
    #expect(try await pair.serverTitle() == "mine")
    await pair.a.store.sync()
    pair.a.remote.isOffline = true
    let error = await #expect(throws: SyncError.self) { try await save(.networkOnly, pair, "again") }
    #expect(error?.code == .unreachable)
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.store.outbox().isEmpty)
  }

  @Test("networkOnly refuses a record with pending changes, and a deletion removes it here too")
  func networkOnlyPending() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("pending")
    let error = await #expect(throws: SyncError.self) { try await save(.networkOnly, pair) }
    #expect(error?.code == .pendingChanges)
    await pair.a.store.sync()
    try await pair.a.store.delete(Note.self, id: "T1", options: RequestOptions(savePolicy: .networkOnly))
    #expect(try pair.a.note() == nil)
    #expect(try await pair.world.serverRecords().isEmpty)
  }

  @Test("A type written on the server only needs the network and is never queued")
  func remoteOnly() async throws {
    let schema = Schema(types: [TypeSchema("List", fields: [FieldSchema("name", .text)], writeMode: .remoteOnly)])
    let pair = try Pair(schema: schema)
    let record = Record("List", id: "L1", ["name": "friends"])
    for policy in SavePolicy.allCases {
      pair.a.remote.isOffline = true
      let error = await #expect(throws: SyncError.self) {
        try await pair.a.store.save(record, options: RequestOptions(savePolicy: policy))
      }
      #expect(error?.code == .requiresNetwork)
      #expect(try pair.a.store.outbox().isEmpty)
      #expect(try pair.a.record("List", "L1") == nil)
    }
    let draft = await #expect(throws: SyncError.self) {
      try await pair.a.store.save(record, options: RequestOptions(isDraft: true))
    }
    #expect(draft?.code == .requiresNetwork)
    pair.a.remote.isOffline = false
    try await pair.a.store.save(record)
    #expect(try pair.a.record("List", "L1")?["name"] == "friends")
    #expect(try pair.a.store.outbox().isEmpty)
  }

  @Test("A draft is held back under every policy until it is released", arguments: SavePolicy.allCases)
  func drafts(policy: SavePolicy) async throws {
    let pair = try Pair()
    let receipt = try await pair.a.store.save(
      Note(id: "T1", "draft"), options: RequestOptions(savePolicy: policy, isDraft: true))
    #expect(receipt.state == .draft)
    try pair.a.restart()
    #expect(try pair.a.store.state(of: .note()) == .draft)
    #expect(try pair.a.store.pendingCounts().held == 1)
    await pair.a.store.sync()
    #expect(pair.a.operations.isEmpty)
    #expect(try await pair.a.store.caughtUp().skipped == nil)
    try pair.a.store.release(.note())
    await pair.a.store.sync()
    #expect(try await pair.serverTitle() == "draft")
  }
}

@Suite("Receipts and decisions")
struct ReceiptTests {
  @Test("An accepted save says its version, also when asked after a relaunch")
  func accepted() async throws {
    let pair = try Pair()
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    #expect(try await receipt.outcome() == .accepted(version: "1"))
    try pair.a.restart()
    #expect(try await pair.a.store.receipt(for: .note()).outcome() == .accepted(version: "1"))
  }

  @Test("A save that waits is still pending after a relaunch and can be asked again")
  func reopened() async throws {
    let pair = try Pair()
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    let error = await #expect(throws: SyncError.self) { try await receipt.outcome() }
    #expect(error?.code == .unreachable)
    try pair.a.restart()
    pair.a.remote.isOffline = false
    let again = try pair.a.store.receipt(for: .note())
    #expect(again.state == .pending)
    #expect(try await again.outcome() == .accepted(version: "1"))
  }

  @Test("A save that a later edit joined is not accepted before the server has it")
  func joined() async throws {
    let pair = try Pair()
    pair.a.remote.isOffline = true
    let receipt = try await pair.a.store.save(Note(id: "T1", "a"))
    try pair.a.retitle("b")
    await #expect(throws: SyncError.self) { try await receipt.outcome() }
    pair.a.remote.isOffline = false
    #expect(try await receipt.outcome() == .accepted(version: "1"))
  }

  @Test("A save in conflict says that it was merged")
  func merged() async throws {
    let pair = try await Pair.sharing()
    try pair.b.retitle("theirs")
    await pair.b.store.sync()
    let receipt = try await pair.a.store.save(Note(id: "T1", "mine"))
    #expect(try await receipt.outcome() == .merged(version: "2"))
    #expect(try pair.a.title() == "theirs")
  }

  @Test("A refused save says why, under every rejection policy")
  func rejected() async throws {
    for policy in [RejectionPolicy.keepPending, .quarantine(after: 1), .discardAndRefetch] {
      let pair = try Pair(rules: .withoutNotes) { $0.rejectionPolicy = policy }
      let receipt = try await pair.a.store.save(Note(id: "T1", "a", note: "refused"))
      guard case .rejected(let reason) = try await receipt.outcome() else {
        Issue.record("not rejected under \(policy)")
        continue
      }
      #expect(reason.code == "invalid")
    }
  }

  @Test("A receipt is settled by the running loop")
  func loop() async throws {
    let pair = try Pair { $0.triggers = [.save] }
    let store = pair.a.store
    let loop = Task { await store.run(clock: VirtualClock()) }
    try await until { store.status.phase == .idle }
    let receipt = try await store.save(Note(id: "T1", "a"))
    #expect(try await receipt.outcome() == .accepted(version: "1"))
    loop.cancel()
    await loop.value
  }

  /// A on which T1 is refused by the server.
  private func refused() async throws -> Pair {
    let pair = try await Pair.sharing(rules: .withoutNotes) { $0.rejectionPolicy = .quarantine(after: 1) }
    try pair.a.edit { $0.note = "refused" }
    await pair.a.store.sync()
    #expect(try pair.a.store.state(of: .note()).name == "quarantined")
    return pair
  }

  @Test("Retrying sends a refused change again")
  func retry() async throws {
    let pair = try await refused()
    pair.a.remote.forgetRequests()
    try pair.a.store.resolve(.note(), .retry)
    await pair.a.store.sync()
    #expect(pair.a.operations.count == 1)
  }

  @Test("Reverting brings back what the server has; an insert goes")
  func revert() async throws {
    let pair = try await refused()
    try pair.a.store.resolve(.note(), .revert)
    #expect(try pair.a.note()?.note == nil)
    try pair.a.insert("T9", "nine", note: "refused")
    await pair.a.store.sync()
    try pair.a.store.resolve(.note("T9"), .revert)
    #expect(try pair.a.note("T9") == nil)
    try pair.a.remove()
    try pair.a.store.resolve(.note(), .revert)
    #expect(try pair.a.title() == "start")
    #expect(try await pair.isEven())
  }

  @Test("Accepting the local content stops sending it, until the next pull brings the server's")
  func acceptLocal() async throws {
    let pair = try await refused()
    try pair.a.store.resolve(.note(), .acceptLocal)
    #expect(try pair.a.note()?.note == "refused")
    #expect(try pair.a.store.state(of: .note()) == .clean)
    #expect(try await pair.isEven())
    #expect(try pair.a.note()?.note == nil)
  }

  @Test("Evicting removes the record here; the next pull brings what the server has")
  func evict() async throws {
    let pair = try await refused()
    try pair.a.store.resolve(.note(), .evict)
    #expect(try pair.a.note() == nil)
    #expect(try await pair.serverTitle() == "start")
    #expect(try await pair.isEven())
  }

  @Test("A decision on a record with nothing pending throws")
  func nothingPending() async throws {
    let pair = try await Pair.sharing()
    let error = #expect(throws: SyncError.self) { try pair.a.store.resolve(.note(), .revert) }
    #expect(error?.code == .notPending)
  }
}
