import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// An hour of a virtual clock in which the server is overloaded, while the app keeps working normally.
@Suite("A server in a storm", .faultsStrike, .timeLimit(.minutes(10)))
struct StormTests {
  /// A device that syncs by itself, with all triggers and the default waits.
  private struct Device {
    let pair: Pair
    let clock = VirtualClock()
    var store: SyncedStore { pair.a.store }
    var remote: FaultyRemote { pair.a.remote }

    /// The default waits, drawn by a seed.
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

    /// Advances all clocks by a second, and waits until the work that was due is done.
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

    /// Does the work of an app for one second: it saves, reads and requests a sync, and the server sends notifications.
    func work(_ second: Int) async throws {
      try await store.save(Note(id: "N\(second)", "written in the storm"))
      for policy in [ReadPolicy.localThenRemote, .syncThenLocal] where second.isMultiple(of: 7) {
        let some = RecordQuery<Note>().where(.compare(field: "id", .equal, .text("N1")))
        _ = try await store.fetchResult(some, options: RequestOptions(readPolicy: policy))
      }
      if second.isMultiple(of: 10) { remote.notify() }
      if second.isMultiple(of: 60) { store.requestSync() }
    }
  }

  /// Plays the hour and returns the number of requests in it. Calls `body` while the device is still running.
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

  /// Returns the number of requests that the waits alone cause in an hour without other work.
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
    "Saves cause no storm of requests, and a recovered server soon has everything",
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
    // An attempt every 33 s on average, and at least every 20 s if the server says so: see `Backoff`.
    #expect((80...200).contains(alone))
    #expect(Double(tries) <= 1.2 * Double(alone))
  }
}
