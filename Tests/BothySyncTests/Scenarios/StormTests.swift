import BothyStore
import BothySync
import BothyTesting
import Synchronization
import Testing

/// An hour of a virtual clock in which the server is too busy, and the app goes on as if nothing were the matter.
@Suite("A server in a storm", .faultsStrike, .timeLimit(.minutes(10)))
struct StormTests {
  /// A device that syncs by itself, with all triggers and the waits that a configuration has unless told otherwise.
  private struct Device {
    let pair: Pair
    let clock = VirtualClock()
    var store: SyncedStore { pair.a.store }
    var remote: FaultyRemote { pair.a.remote }

    /// The waits that a configuration has unless told otherwise, drawn by a seed.
    static func backoff() -> Backoff {
      let chance = Mutex(SeededGenerator(seed: 5))
      return Backoff(random: { chance.withLock { Double.random(in: 0..<1, using: &$0) } })
    }

    init() async throws {
      pair = try await Pair.sharing {
        $0.triggers = .default
        $0.backoff = Self.backoff()
      }
      try pair.a.insert("first", "waits")
    }

    /// Lets a second pass on all clocks, and what was due in it be done.
    func second() async throws {
      pair.world.time.advance(by: 1000)
      clock.advance(by: .seconds(1))
      for _ in 0..<10 { await Task.yield() }
      let (store, clock) = (store, clock)
      try await until {
        if store.status.isSyncing { return false }
        return !clock.sleepers.isEmpty
      }
    }

    /// What an app does meanwhile, once a second: it saves, reads, asks for a sync, and the server hints at news.
    func work(_ second: Int) async throws {
      try await store.save(Note(id: "N\(second)", "written in the storm"))
      for policy in [FetchPolicy.cacheThenRefresh, .syncThenCache] where second.isMultiple(of: 7) {
        let some = RecordQuery<Note>().where(.compare(field: "id", .equal, .text("N1")))
        _ = try await store.fetch(some, options: RequestOptions(fetchPolicy: policy))
      }
      if second.isMultiple(of: 10) { remote.hint() }
      if second.isMultiple(of: 60) { store.requestSync() }
    }
  }

  /// Plays the hour. Returns the device, still running, and how often it asked.
  private func hour(
    _ retryAfter: Double?, _ body: (Device) async throws -> Void
  ) async throws -> Int {
    let device = try await Device()
    device.remote.plan(.status(503, retryAfter: retryAfter))
    let (store, clock) = (device.store, device.clock)
    let task = Task { await store.run(clock: clock) }
    defer { task.cancel() }
    try await until { device.remote.requests.count == 1 }
    for second in 1...3600 {
      try await device.work(second)
      try await device.second()
    }
    let tries = device.remote.requests.count
    try await body(device)
    return tries
  }

  /// How often the same waits make a device ask in an hour that does nothing else.
  private func triesAlone(_ retryAfter: Double?) -> Int {
    let backoff = Device.backoff()
    var (tries, time) = (1, Duration.zero)
    while true {
      time += max(backoff.delay(attempt: tries), .seconds(retryAfter ?? 0))
      guard time <= .seconds(3600) else { return tries }
      tries += 1
    }
  }

  /// Promises: Scenario-23
  @Test(
    "Saves make no storm of requests; a server that is back has all soon",
    arguments: [Double?.none, 20])
  func storm(retryAfter: Double?) async throws {
    let alone = triesAlone(retryAfter)
    let tries = try await hour(retryAfter) { device in
      #expect(try device.store.pendingCounts().total == 3601)
      device.remote.setScript { .none }
      for _ in 1...60 { try await device.second() }
      let store = device.store
      try await until { try store.pendingCounts().total == 0 }
      #expect(try await device.pair.world.serverRecords().count == 3602)
    }
    print(
      "storm, Retry-After \(retryAfter.map { "\($0) s" } ?? "none"): \(tries) tries, \(alone) by the waits alone"
    )
    // A try every 33 s on average, and at least every 20 s where the server says so: see `Backoff`.
    #expect((80...200).contains(alone))
    #expect(Double(tries) <= 1.2 * Double(alone))
  }
}
