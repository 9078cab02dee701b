import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Saving by policy", .timeLimit(.minutes(5)))
struct SavePolicyTests {
  private func save(
    _ policy: SavePolicy, _ pair: Pair, _ title: String = "mine", note: String? = nil
  ) async throws -> SaveReceipt {
    try await pair.a.store.save(
      Note(id: "T1", title, note: note), options: RequestOptions(savePolicy: policy))
  }

  /// Promises: N-31, S-37, C-3
  @Test("`cacheOnly` and `cacheThenNetwork` are durable here at once and make no request themselves")
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

  /// Promises: S-33, S-34, S-35, S-38, C-4
  @Test("`networkThenCache` stores what the server accepted, and changes nothing on a rejection")
  func networkThenCache() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    #expect(try await save(.networkThenCache, pair).state == .accepted(version: "2"))
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.store.outbox().isEmpty)
    let error = await #expect(throws: SyncError.self) {
      try await save(.networkThenCache, pair, "no", note: "x")
    }
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

  @Test("`networkThenCache` applies the changes of others and saves on top of them")
  func networkThenCacheOverNews() async throws {
    let pair = try await Pair.sharing()
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    try await pair.a.store.save(
      AnyRecord("Note", id: "T1", ["title": "mine"]), options: RequestOptions(savePolicy: .networkThenCache))
    #expect(try await pair.server("T1") == ["title": "mine", "note": "theirs", "score": 0])
    #expect(try await pair.isEven())
  }

  /// Promises: S-36
  @Test("`networkOnly` stores nothing new, and without a network throws and queues nothing")
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

  /// Promises: S-36
  @Test("`networkOnly` throws for a record with pending changes, and deletes records here too")
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

  /// Promises: N-29, C-19
  @Test("A type written on the server only requires the network and is never queued")
  func remoteOnly() async throws {
    let schema = StoreSchema(types: [
      TypeSchema("List", fields: [FieldSchema("name", .text)], writeMode: .remoteOnly)
    ])
    let pair = try Pair(schema: schema)
    let record = AnyRecord("List", id: "L1", ["name": "friends"])
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

  @Test("A draft waits under every policy until it is released", arguments: SavePolicy.allCases)
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
