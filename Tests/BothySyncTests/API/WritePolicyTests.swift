import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Saving by policy", .timeLimit(.minutes(5)))
struct WritePolicyTests {
  private func save(
    _ policy: WritePolicy, _ pair: Pair, _ title: String = "mine", note: String? = nil
  ) async throws -> SaveReceipt<Note> {
    try await pair.a.store.save(
      Note(id: "T1", title, note: note), options: RequestOptions(writePolicy: policy))
  }

  /// Promises: N-31, S-37, C-3
  @Test("`local` and `localThenRemote` are durable here at once and make no request themselves")
  func cacheFirst() async throws {
    for policy in [WritePolicy.local, .localThenRemote] {
      let pair = try Pair()
      let receipt = try await save(policy, pair)
      #expect(receipt.known == .pending)
      #expect(pair.a.remote.requests.isEmpty)
      try pair.a.restart()
      #expect(try pair.a.title() == "mine")
      #expect(try pair.a.isPending())
    }
  }

  /// Promises: S-33, S-34, S-35, S-38, C-4
  @Test("`remoteThenLocal` stores what the server accepted, and changes nothing on a rejection")
  func remoteThenLocal() async throws {
    let pair = try await Pair.sharing(rules: .withoutNotes)
    #expect(try await save(.remoteThenLocal, pair).known == .accepted(version: "2"))
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    let error = await #expect(throws: BothyError.self) {
      try await save(.remoteThenLocal, pair, "no", note: "x")
    }
    #expect(error?.code == .rejected)
    #expect(error?.rejection?.fields.map(\.field) == ["note"])
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    pair.a.remote.isOffline = true
    #expect(try await save(.remoteThenLocal, pair, "later").known == .pending)
    #expect(try pair.a.title() == "later")
    pair.a.remote.isOffline = false
    #expect(try await pair.isEven())
  }

  @Test("`remoteThenLocal` applies the changes of others and saves on top of them")
  func remoteThenLocalOverNews() async throws {
    let pair = try await Pair.sharing()
    try pair.b.edit { $0.note = "theirs" }
    await pair.b.store.sync()
    try await pair.a.store.save(
      AnyRecord("Note", id: "T1", ["title": "mine"]), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(try await pair.server("T1") == ["title": "mine", "note": "theirs", "score": 0])
    #expect(try await pair.isEven())
  }

  /// Promises: S-36
  @Test("`remote` stores nothing new, and without a network throws and queues nothing")
  func remote() async throws {
    let pair = try Pair()
    #expect(try await save(.remote, pair).known == .accepted(version: "1"))
    #expect(try pair.a.note() == nil)
    #expect(try await pair.serverTitle() == "mine")
    await pair.a.store.sync()
    pair.a.remote.isOffline = true
    let error = await #expect(throws: BothyError.self) { try await save(.remote, pair, "again") }
    #expect(error?.code == .unreachable)
    #expect(try pair.a.title() == "mine")
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  /// Promises: S-36
  @Test("`remote` throws for a record with pending changes, and deletes records here too")
  func remotePending() async throws {
    let pair = try await Pair.sharing()
    try pair.a.retitle("pending")
    let error = await #expect(throws: BothyError.self) { try await save(.remote, pair) }
    #expect(error?.code == .pendingChanges)
    await pair.a.store.sync()
    try await pair.a.store.delete(
      RecordID(Note.self, id: "T1"), options: RequestOptions(writePolicy: .remote))
    #expect(try pair.a.note() == nil)
    #expect(try await pair.world.serverRecords().isEmpty)
  }

  /// Promises: N-29, C-19
  @Test("A type written on the server only requires the network and is never queued")
  func remoteOnly() async throws {
    let schema = StoreSchema(types: [
      TypeSchema("List", fields: [FieldSchema("name", .text)], remoteOnly: true)
    ])
    let pair = try Pair(schema: schema)
    let record = AnyRecord("List", id: "L1", ["name": "friends"])
    for policy in WritePolicy.allCases {
      pair.a.remote.isOffline = true
      let error = await #expect(throws: BothyError.self) {
        try await pair.a.store.save(record, options: RequestOptions(writePolicy: policy))
      }
      #expect(error?.code == .requiresNetwork)
      #expect(try pair.a.store.outboxEntries().isEmpty)
      #expect(try pair.a.record("List", "L1") == nil)
    }
    let draft = await #expect(throws: BothyError.self) {
      try await pair.a.store.save(record, options: RequestOptions(writePolicy: .draft))
    }
    #expect(draft?.code == .requiresNetwork)
    pair.a.remote.isOffline = false
    try await pair.a.store.save(record)
    #expect(try pair.a.record("List", "L1")?["name"] == "friends")
    #expect(try pair.a.store.outboxEntries().isEmpty)
  }

  @Test("A draft waits until it is released, with any policy in force", arguments: WritePolicy.allCases)
  func drafts(policy: WritePolicy) async throws {
    let pair = try Pair()
    pair.a.store.options.writePolicy = policy
    let receipt = try await pair.a.store.save(Note(id: "T1", "draft"), policy: .draft)
    #expect(receipt.state == .draft)
    try pair.a.restart()
    #expect(try pair.a.store.state(of: .note()) == .draft)
    #expect(try pair.a.store.pendingCounts().drafts == 1)
    await pair.a.store.sync()
    #expect(pair.a.operations.isEmpty)
    #expect(try await pair.a.store.syncCompletely().obstacle == nil)
    try pair.a.store.release(.note())
    await pair.a.store.sync()
    #expect(try await pair.serverTitle() == "draft")
  }

  @Test("A deletion that is a draft holds what its delete rules change")
  func draftOfDeletion() async throws {
    let world = try SimulatedWorld()
    let device = try world.addDevice("a", schema: .family)
    for record in [AnyRecord.parent("P"), .child("C", of: "P"), .pet("D", of: "P")] { try device.put(record) }
    await device.store.sync()
    let parent = RecordID(type: "Parent", id: "P")
    try await device.store.delete(parent, options: RequestOptions(writePolicy: .draft))
    #expect(await device.store.sync().pushed == 0)
    #expect(try await world.serverRecords().count == 3)
    let drafts = try device.store.outboxEntries()
    #expect(drafts.map(\.id.id).sorted() == ["C", "D", "P"] && drafts.allSatisfy { $0.stage == .held })
    try device.store.release(drafts.map(\.id))
    #expect(await device.store.sync().pushed == 3)
    #expect(try await world.serverRecords().keys.map(\.id) == ["D"])
  }
}
