import BothyStore
import BothySync
import BothyTesting
import Testing

/// Reads and merges while changes are pending.
@Suite("Reading while changes are pending", .faultsStrike, .timeLimit(.minutes(5)))
struct ReadingStories {
  private let network = RequestOptions(readPolicy: .remote)

  private func all(_ device: SimulatedDevice, _ options: RequestOptions) async throws -> [Note] {
    try await device.store.fetchResult(RecordQuery<Note>().order(SortKey("id")), options: options).records
  }

  /// Promises: H-12, S-79, C-25
  @Test(
    "A fetch at launch does not overwrite an edit made offline",
    arguments: ["localWins", "remoteWins"])
  func launch(policy: String) async throws {
    let pair = try await Pair.sharing(policy: policy == "localWins" ? .localWins : .remoteWins)
    try pair.a.retitle("b")
    try pair.a.restart()
    #expect(try await all(pair.a, network).map(\.title) == ["b"])
    await pair.a.store.sync()
    #expect(try await pair.serverTitle() == "b")
    #expect(try await pair.isEven())
  }

  /// Promises: H-13, C-5
  @Test("A fetch shows records inserted offline, and the sync inserts them")
  func offlineInsert() async throws {
    let pair = try await Pair.sharing()
    try pair.a.insert("T9", "nine")
    #expect(try await all(pair.a, network).map(\.id) == ["T1", "T9"])
    let report = await pair.a.store.sync()
    #expect(report.synced == [SyncReport.Record(record: .note("T9"), action: .insertedOnServer)])
    #expect(try await pair.isEven())
  }

  /// Promises: H-14, S-10
  @Test("A record that was pending before a fetch is pending after it")
  func staysPending() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    try pair.a.retitle("T1", "b")
    try pair.a.remove("T2")
    try pair.a.insert("T9", "nine")
    let before = try pair.a.store.outboxEntries()
    _ = try await all(pair.a, network)
    #expect(try pair.a.store.outboxEntries() == before)
  }

  /// Promises: H-16, S-18, X-12, N-14
  @Test("A fetch and a count restore nothing that was deleted offline")
  func noResurrection() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.a.remove("T1")
    try pair.a.remove("T2")
    for policy in [ReadPolicy.localElseRemote, .remote, .remoteElseLocal, .local, .syncThenLocal] {
      // The last one sends the deletions.
      let options = RequestOptions(readPolicy: policy)
      #expect(try await all(pair.a, options).isEmpty, "\(policy)")
      #expect(try await pair.a.store.count(AnyQuery("Note"), options: options) == 0, "\(policy)")
    }
    #expect(try await pair.world.serverRecords().isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: H-17
  @Test("A limited fetch deletes nothing here")
  func limitedFetch() async throws {
    let ids = (1...20).map { $0 < 10 ? "T0\($0)" : "T\($0)" }
    let pair = try await Pair.sharing(ids)
    for (rank, id) in ids.enumerated() { try pair.b.edit(id) { $0.score = rank } }
    await pair.b.store.sync()
    await pair.a.store.sync()
    try pair.b.edit("T05") { $0.score = 100 }
    await pair.b.store.sync()
    let top = RecordQuery<Note>().order(SortKey("score")).limit(10)
    let found = try await pair.a.store.fetchResult(top, options: network)
    #expect(found.records.count == 10)
    #expect(try await all(pair.a, RequestOptions(readPolicy: .local)).count == 20)
  }

  /// Promises: H-18, S-10
  @Test("A record that no longer matches a query is not taken for deleted")
  func drift() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.b.retitle("T1", "y")
    try pair.b.remove("T2")
    await pair.b.store.sync()
    let query = RecordQuery<Note>().where { $0.title == "start" }
    #expect(try await pair.a.store.fetchResult(query, options: network).records.isEmpty)
    #expect(
      try await pair.a.store.fetchResult(query, options: RequestOptions(readPolicy: .local)).records
        .isEmpty)
    #expect(try pair.a.title("T1") == "y")
    #expect(try pair.a.note("T2") == nil)
    #expect(try await pair.isEven())
  }

  /// Promises: H-21, S-16
  @Test(
    "An error other than a missing network is thrown without local results",
    arguments: [500, 403, 401, 400])
  func otherErrors(status: Int) async throws {
    let pair = try await Pair.sharing()
    pair.a.remote.plan(.status(status, retryAfter: nil))
    for policy in [ReadPolicy.remoteElseLocal, .remote] {
      await #expect(throws: BothyError.self) { try await all(pair.a, RequestOptions(readPolicy: policy)) }
    }
    #expect(try pair.a.title() == "start")
  }

  /// Promises: H-22, S-16, N-33, S-34
  @Test(
    "Any cause of a missing response counts as no network", arguments: ["offline", "lost", "gateway"])
  func noNetwork(kind: String) async throws {
    let pair = try await Pair.sharing()
    switch kind {
    case "offline": pair.a.remote.isOffline = true
    case "lost": pair.a.remote.plan(.lostRequest)
    default: pair.a.remote.plan(.status(502, retryAfter: nil))
    }
    let found = try await pair.a.store.fetchResult(
      RecordQuery<Note>(), options: RequestOptions(readPolicy: .remoteElseLocal))
    #expect(found.records.map(\.title) == ["start"])
    #expect(found.origin == .local)
    let receipt = try await pair.a.store.save(
      Note(id: "T2", "two"), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(receipt.known == .pending)
    #expect(try pair.a.isPending("T2"))
  }
}
