import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// The networks, times and types for which syncs run.
@Suite("When syncs may run", .timeLimit(.minutes(5)))
struct SyncPolicyTests {
  private struct Running {
    let pair: Pair
    let clock: VirtualClock
    let feed: NetworkFeed
    let task: Task<Void, Never>

    var a: SimulatedDevice { pair.a }
    var store: SyncedStore { pair.a.store }

    func send(_ state: NetworkState) async throws {
      feed.send(state)
      try await until { store.status.network == state }
    }

    func stop() async {
      task.cancel()
      await task.value
    }
  }

  private func start(
    _ triggers: SyncOptions.Triggers = [], _ state: NetworkState = .reachable,
    _ configure: (inout SyncOptions) -> Void
  ) async throws -> Running {
    let pair = try await Pair.sharing { configuration in
      configuration.triggers = triggers
      configure(&configuration)
    }
    let clock = VirtualClock()
    let feed = NetworkFeed(state)
    let store = pair.a.store
    let task = Task { await store.run(reachability: feed, clock: clock) }
    try await until { store.status.phase != .stopped && store.status.network == state }
    return Running(pair: pair, clock: clock, feed: feed, task: task)
  }

  @Test(
    "The policy's syncs wait on costly or constrained networks and with low power"
  )
  func terms() async throws {
    for (state, reason) in [
      (NetworkState(isReachable: true, isExpensive: true), SyncStop.expensiveNetwork),
      (NetworkState(isReachable: true, isConstrained: true), .constrainedNetwork),
      (NetworkState(isReachable: true, isLowPower: true), .lowPower),
    ] {
      let running = try await start(.save, state) {
        $0.network = NetworkRules(
          NetworkRules.Terms(expensive: false, constrained: false, lowPower: false))
      }
      try await running.store.save(Note(id: "T2", "two"))
      #expect(await running.store.sync().stop == reason)
      #expect(running.store.status.lastStop == reason)
      #expect(running.a.remote.requests.isEmpty)
      #expect(try running.a.isPending("T2"))
      let forced = await running.store.sync(forced: true)
      #expect(forced.obstacle == nil && forced.pushed == 1)
      await running.stop()
    }
  }

  @Test("Work that waited for a network is sent after a second on it")
  func wifi() async throws {
    let running = try await start(
      [.save, .reachability], NetworkState(isReachable: true, isExpensive: true)
    ) {
      $0.network = .wifiOnly
    }
    // A save would ask for a sync, which might come late and find the other network.
    try running.a.insert("T2", "two")
    #expect(await running.store.sync().stop == .expensiveNetwork)
    try await running.send(.reachable)
    await running.clock.waitForSleepers()
    #expect(running.a.remote.requests.isEmpty)
    running.clock.advance(by: .seconds(1))
    try await until { try !running.a.isPending("T2") }
    await running.stop()
  }

  @Test("A new policy takes effect at once")
  func setting() async throws {
    let running = try await start(.save, NetworkState(isReachable: true, isExpensive: true)) {
      $0.network = .wifiOnly
    }
    try await running.store.save(Note(id: "T2", "two"))
    try await until { running.store.status.phase == .paused }
    running.store.options.network = .any
    try await until { try !running.a.isPending("T2") }
    await running.stop()
  }

  private struct Photo: Entity {
    static let schema = TypeSchema("Photo", fields: [FieldSchema("title", .text)])

    var id: String
    var title: String

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      title = try String(fromField: &fields)
    }

    func encode(to fields: inout FieldEncoder) { title.encodeField(to: &fields) }
  }

  @Test("Types with narrower terms wait with their references, and others are sent")
  func types() async throws {
    let schema = StoreSchema(
      types: [
        Photo.schema, Note.schema,
        TypeSchema(
          "Caption",
          fields: [
            FieldSchema("title", .text), FieldSchema("photo", .reference(to: "Photo", onDelete: .cascade)),
          ]),
      ])
    let world = try SimulatedWorld()
    var configuration = SyncOptions.quiet
    configuration.network = NetworkRules(types: [Photo.self: .wifiOnly])
    let device = try world.addDevice(schema: schema, configuration: configuration)
    let store = device.store
    let feed = NetworkFeed(NetworkState(isReachable: true, isExpensive: true))
    let run = Task { await store.run(reachability: feed, clock: VirtualClock()) }
    try await until { store.status.network.isExpensive }
    try device.put(AnyRecord("Photo", id: "P", ["title": "p"]))
    try device.put(AnyRecord("Note", id: "M", ["title": "m"]))
    try device.put(AnyRecord("Caption", id: "C", ["title": "c", "photo": "P"]))
    let report = await store.sync()
    #expect(report.obstacle == nil && report.pushed == 1)
    #expect(report.blocked.map(\.record.id) == ["C"])
    #expect(try store.outboxEntries().map(\.id.id).sorted() == ["C", "P"])
    // A transaction that needs a record of such a type waits with it.
    try device.put(AnyRecord("Photo", id: "P2", ["title": "p2"]))
    try await store.write(.atomic) { transaction in
      try transaction.insert(AnyRecord("Caption", id: "C2", ["title": "c2", "photo": "P2"]))
      try transaction.insert(AnyRecord("Note", id: "M2", ["title": "m2"]))
    }
    #expect(await store.sync().pushed == 0)
    feed.send(.reachable)
    try await until { store.status.network == .reachable }
    #expect(await store.sync().pushed == 5)
    store.options.network = NetworkRules(heldTypes: [Note.self])
    try device.change { try $0.update(.note("M"), fields: ["title": "m2"]) }
    #expect(await store.sync().pushed == 0)
    #expect(await store.sync(forced: true).pushed == 1)
    run.cancel()
    await run.value
  }

  @Test("A pause survives a relaunch, blocks manual syncs and lets forced ones run")
  func paused() async throws {
    let pair = try await Pair.sharing()
    try pair.a.store.pause()
    try pair.a.retitle("b")
    try pair.a.restart()
    #expect(pair.a.store.isPaused)
    #expect(pair.a.store.status.obstacle == .paused)
    #expect(await pair.a.store.sync().obstacle == .paused)
    let error = await #expect(throws: BothyError.self) { try await pair.a.store.syncCompletely() }
    #expect(error?.message.contains("paused") == true)
    #expect(pair.a.remote.requests.isEmpty)
    #expect(await pair.a.store.sync(forced: true).pushed == 1)
    try pair.a.store.resume()
    try pair.a.restart()
    #expect(await pair.a.store.sync().obstacle == nil)
  }

  @Test("A draft stays here with its later edits over a relaunch, until its release")
  func drafts() async throws {
    let pair = try await Pair.sharing()
    try await pair.a.store.save(Note(id: "D", "draft"), options: RequestOptions(writePolicy: .draft))
    try pair.a.restart()
    try pair.a.retitle("D", "draft 2")
    #expect(await pair.a.store.sync().pushed == 0)
    #expect(try pair.a.store.state(of: .note("D")) == .draft)
    try pair.a.store.release(.note("D"))
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try await pair.serverTitle("D") == "draft 2")
  }

  @Test("A transaction of drafts waits and is released as a whole")
  func draftTransaction() async throws {
    let pair = try await Pair.sharing(["T1", "T2"])
    try pair.a.retitle("T2", "sent")
    let drafts = try await pair.a.store.writeDraft { transaction in
      try transaction.update(Note.self, id: "T1") { $0.title = "held" }
      try transaction.insert(Note(id: "T3", "held"))
    }
    #expect(drafts == [.note("T1"), .note("T3")])
    #expect(await pair.a.store.sync().pushed == 1)
    #expect(try pair.a.store.outboxEntries().map(\.stage) == [.held, .held])
    #expect(try await pair.server("T3") == nil)
    try pair.a.store.release(drafts)
    #expect(await pair.a.store.sync().pushed == 2)
    #expect(try await pair.isEven())
  }

  // MARK: the fetch policy

  /// Promises: S-20
  @Test("A read follows the fetch policy in force at its beginning")
  func captured() async throws {
    let pair = try await Pair.sharing()
    pair.a.store.options.readPolicy = .remote
    let latch = Latch()
    let slow = SlowReads(pair.a.remote, latch)
    let store = try SyncedStore(at: nil, schema: .notes, remote: slow, configuration: .quiet)
    store.options.readPolicy = .remote
    let read = Task { try await store.fetchResult(RecordQuery<Note>()) }
    await latch.reached()
    store.options.readPolicy = .local
    latch.open()
    #expect(try await read.value.origin == .remote)
    #expect(try await store.fetchResult(RecordQuery<Note>()).origin == .local)
  }

  /// Promises: S-21, S-22, S-23, S-24
  @Test(
    "The policy provider runs at the opening and for each different status"
  )
  func provider() async throws {
    let asked = Mutex<[Bool?]>([])
    let running = try await start([], .unknown) { configuration in
      configuration.readPolicyProvider = { isReachable in
        asked.withLock { $0.append(isReachable) }
        return isReachable == false ? .local : .remoteElseLocal
      }
    }
    // Both devices were opened with the same configuration.
    #expect(asked.withLock { $0 } == [nil, nil] as [Bool?])
    #expect(running.store.options.readPolicy == .remoteElseLocal)
    let unknown: Bool? = nil
    var one = running.store.networkPresences.makeAsyncIterator()
    var two = running.store.networkPresences.makeAsyncIterator()
    #expect(await one.next() == unknown)
    #expect(await two.next() == unknown)
    try await running.send(.notReachable)
    #expect(await one.next() == false)
    #expect(await two.next() == false)
    #expect(running.store.options.readPolicy == .local)
    try await running.send(NetworkState(isReachable: false, isLowPower: true))
    try await running.send(.reachable)
    #expect(asked.withLock { $0 } == [nil, nil, false, true] as [Bool?])
    await running.stop()
  }

  /// Promises: S-22, S-42, S-79
  @Test("When the network returns, pending work is sent before reads use the server")
  func syncFirst() async throws {
    let running = try await start([], .notReachable) { configuration in
      configuration.readPolicyProvider = { $0 == true ? .remote : .local }
    }
    try running.a.retitle("mine")
    try running.pair.b.retitle("theirs")
    await running.pair.b.store.sync()
    try await running.send(.reachable)
    #expect(running.store.options.readPolicy == .local)
    #expect(try await running.store.fetchResult(RecordQuery<Note>()).records.map(\.title) == ["mine"])
    #expect(running.a.remote.reads == 0)
    var policies = running.store.readPolicies.makeAsyncIterator()
    #expect(await policies.next() == .local)
    await running.clock.waitForSleepers()
    running.clock.advance(by: .seconds(1))
    #expect(await policies.next() == .remote)
    #expect(try running.a.store.outboxEntries().isEmpty)
    #expect(try await running.store.fetchResult(RecordQuery<Note>()).origin == .remote)
    await running.stop()
  }

  /// Promises: H-54, S-42
  @Test(
    "Twenty network changes in a second start at most two syncs, the last counts")
  func flapping() async throws {
    for last in [NetworkState.reachable, .notReachable] {
      let running = try await start(.reachability, .notReachable) { configuration in
        configuration.readPolicyProvider = { $0 == true ? .remoteElseLocal : .local }
      }
      try running.a.retitle("b")
      let other = last == .reachable ? NetworkState.notReachable : .reachable
      for change in 1...20 {
        try await running.send(change % 2 == 0 ? last : other)
        running.clock.advance(by: .milliseconds(50))
      }
      await running.clock.waitForSleepers()
      if last == .reachable {
        // The last one may not be asleep yet.
        try await until {
          running.clock.advance(by: .seconds(1))
          return running.store.options.readPolicy == .remoteElseLocal
        }
        #expect(try !running.a.isPending())
      } else {
        running.clock.advance(by: .seconds(1))
        #expect(running.store.options.readPolicy == .local)
      }
      let syncs = running.a.remote.requests.count { !$0.operations.isEmpty }
      #expect(syncs <= 2)
      await running.stop()
    }
  }

  /// Promises: S-79, S-80
  @Test(
    "With startup by sync, reads stay local until a sync is complete")
  func startup() async throws {
    let pair = try await Pair.sharing {
      $0.readPolicy = .remoteElseLocal
      $0.startup = .syncThenNetwork
    }
    try pair.a.retitle("mine")
    try pair.a.restart()
    let store = pair.a.store
    #expect(store.options.readPolicy == .local)
    pair.a.remote.isOffline = true
    #expect(await store.sync().stop?.name == "unreachable")
    #expect(try await store.fetchResult(RecordQuery<Note>()).records.map(\.title) == ["mine"])
    #expect(pair.a.remote.reads == 0)
    pair.a.remote.isOffline = false
    await store.sync()
    #expect(store.options.readPolicy == .remoteElseLocal)
    #expect(try await store.fetchResult(RecordQuery<Note>()).origin == .remote)
  }

  /// Promises: S-24
  @Test("An unknown network is tried, and a failure falls back")
  func unknown() async throws {
    let pair = try await Pair.sharing { $0.readPolicy = .remoteElseLocal }
    #expect(pair.a.store.status.network == .unknown)
    #expect(try await pair.a.store.fetchResult(RecordQuery<Note>()).origin == .remote)
    pair.a.remote.isOffline = true
    #expect(try await pair.a.store.fetchResult(RecordQuery<Note>()).origin == .local)
    let receipt = try await pair.a.store.save(
      Note(id: "T2", "two"), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(receipt.known == .pending)
  }

  @Test("A transaction that is sent at once sends nothing that waits")
  func aloneAtOnce() async throws {
    let pair = try await Pair.sharing(["T1", "T2"]) { $0.batchSize = 2 }
    let store = pair.a.store
    try store.pause()
    try pair.a.retitle("T2", "waits")
    try await store.write(.independent, policy: .remoteThenLocal) { transaction in
      for number in 0..<5 { try transaction.insert(Note(id: "N\(number)", "now")) }
    }
    #expect(try store.outboxEntries().map(\.id.id) == ["T2"])
    #expect(Set(pair.a.operations.map(\.record.id)) == Set((0..<5).map { "N\($0)" }))
    pair.a.remote.forgetRequests()
    try await store.write(policy: .remoteThenLocal) { _ in }
    #expect(pair.a.remote.requests.isEmpty)
  }
}

/// A remote whose queries stop at a latch.
private struct SlowReads: CompleteRemote {
  let remote: FaultyRemote
  let latch: Latch

  init(_ remote: FaultyRemote, _ latch: Latch) {
    self.remote = remote
    self.latch = latch
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await remote.exchange(request)
  }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    await latch.pass()
    return try await remote.query(query)
  }

  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await remote.count(query) }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { try await remote.digest(scope) }
  func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }
}
