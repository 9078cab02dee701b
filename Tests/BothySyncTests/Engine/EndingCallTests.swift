import BothyLegacy
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// A public call that waits for the server.
enum WaitingCall: String, CaseIterable, Sendable {
  case sync, syncCompletely, fetch, count, refresh, digest, history, lists, makeList, repair, saveOnServer,
    saveFirstOnServer, saveAwaiting, outcome, resolve, search, blob, adopt, upload, followAfterSync,
    syncTelling

  func callAsFunction(_ store: SyncedStore) async throws {
    let online = RequestOptions(readPolicy: .remote)
    switch self {
    case .sync: #expect(await store.sync().stop?.name == "unreachable")
    case .syncCompletely: try await store.syncCompletely()
    case .fetch: _ = try await store.fetchResult(RecordQuery<Note>(), options: online)
    case .count: _ = try await store.count(AnyQuery("Note"), options: online)
    case .refresh: _ = try await store.downloadChanges()
    case .digest: _ = try await store.maintenance.remoteDigest()
    case .history: _ = try await store.maintenance.history()
    case .lists: _ = try await store.sharing.lists(options: online)
    case .makeList: try await store.sharing.create(UserList(name: "friends", members: []))
    case .repair: try await store.maintenance.repair()
    case .saveOnServer: try await store.save(Note("n"), options: RequestOptions(writePolicy: .remote))
    case .saveFirstOnServer:
      try await store.save(Note("n"), options: RequestOptions(writePolicy: .remoteThenLocal))
    case .saveAwaiting:
      _ = try await store.save(Note("n"), policy: .local).result(within: .seconds(3600))
    case .outcome: _ = try await store.save(Note("n")).outcome()
    case .resolve: _ = try await store.resolve([.note("unknown")], options: online)
    case .search: _ = try await store.search(RecordQuery<Note>())
    case .blob: try await store.blobs.download(Blob(sha256: String(repeating: "a", count: 64), size: 5))
    case .adopt: try await store.maintenance.adoptServer()
    case .upload: try await store.maintenance.uploadMine()
    case .followAfterSync:
      async let sync = store.sync()
      try await store.follow([SyncScope(container: "trips")])
      _ = await sync
    case .syncTelling: await store.sync(telling: SyncCallbacks())
    }
  }
}

/// Calls that end, even with a server that never responds or a lock that is never released.
@Suite("Calls that end", .timeLimit(.minutes(5)))
struct EndingCallTests {
  /// Runs `body` while the clock advances as far as necessary, and for at most a minute of real time.
  private func ends(_ clock: VirtualClock, _ body: @escaping @Sendable () async -> Void) async throws {
    let calls = Calls()
    Task {
      await body()
      calls.add()
    }
    try await until {
      clock.advance(by: .seconds(10))
      return calls.count == 1
    }
  }

  /// Promises: H-49
  @Test("No call waits for ever for a silent server", arguments: WaitingCall.allCases)
  func silentServer(call: WaitingCall) async throws {
    let remote = SilentRemote()
    defer { remote.end() }
    let clock = VirtualClock()
    var configuration = SyncOptions.quiet
    configuration.clock = clock
    let store = try SyncedStore(
      at: nil, schema: .notes, remote: remote, configuration: configuration,
      clock: SyncClock(now: { 0 }, sleep: { try await clock.sleep(until: clock.now.advanced(by: $0)) }))
    try await ends(clock) { try? await call(store) }
    try store.store.close()
  }

  @Test("A sync behind a lock that isn't released ends and reports so")
  func heldLock() async throws {
    let clock = VirtualClock()
    let pair = try await Pair.sharing { $0.clock = clock }
    let store = pair.a.store
    let latch = Latch()
    let holder = Task { try await store.withSyncLock("Note") { await latch.pass() } }
    await latch.reached()
    try await ends(clock) { #expect(await store.sync().stop?.name == "locked") }
    try await ends(clock) {
      let error = await #expect(throws: BothyError.self) { try await store.withSyncLock("Note") {} }
      #expect(error.map { "\($0.code)" } == "locked")
    }
    #expect(pair.a.remote.requests.isEmpty)
    latch.open()
    try await holder.value
    #expect(await store.sync().obstacle == nil)
  }

  @Test("A sync behind another sync waits as long as that one receives responses")
  func slowSync() async throws {
    let clock = VirtualClock()
    let pair = try await Pair.sharing { $0.clock = clock }
    let store = pair.a.store
    let latch = Latch()
    pair.a.remote.setBeforeSending { _ in await latch.pass() }
    let first = Task { await store.sync(.pull) }
    await latch.reached()
    let second = Task { await store.sync() }
    for _ in 0..<100 {
      clock.advance(by: .seconds(10))
      await Task.yield()
    }
    latch.open()
    #expect(await first.value.obstacle == nil)
    #expect(await second.value.obstacle == nil)
  }
}
