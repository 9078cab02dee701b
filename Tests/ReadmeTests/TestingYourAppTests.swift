import Bothy
import BothyTesting
import Foundation
import Testing

// docs: begin
@Entity struct Bunk {
  var name: String
  var guest: String?
}

@Entity struct Till {
  @Merge(.counter) var pence = 0
}

/// The app's model: bunks in a hut, and the honesty box.
struct HutBook {
  let store: SyncedStore

  func open(bunks: [String]) async throws {
    try await store.write { book in
      for name in bunks { try book.insert(Bunk(id: name, name: name)) }
      try book.insert(Till(id: "till"))
    }
  }

  /// Takes a bunk and pays for it, or neither.
  func book(_ bunk: String, for guest: String) async throws {
    try await store.write { book in
      _ = try book.update(Bunk.self, id: bunk) { $0.guest = guest }
      _ = try book.update(Till.self, id: "till") { $0.pence += 500 }
    }
  }

  func guests() async throws -> [String] { try await store.fetch(Bunk.self).compactMap(\.guest).sorted() }
  func pence() async throws -> Int { try await store.fetch(Till.self, id: "till")?.pence ?? 0 }
}
// docs: end

@Suite("An app's tests with BothyTesting", .timeLimit(.minutes(5)))
struct TestingYourAppTests {
  // docs: begin
  /// Two wardens' tablets and their server; the hut is open and both have its book.
  func twoWardens() async throws -> (world: SimulatedWorld, ada: SimulatedDevice, ben: SimulatedDevice) {
    let world = try SimulatedWorld()
    var configuration = SyncOptions.quiet  // syncs only when the test says so
    configuration.merging = MergePolicies(default: .fieldByField)
    let schema = StoreSchema(Bunk.self, Till.self)
    let ada = try world.addDevice("ada", schema: schema, configuration: configuration)
    let ben = try world.addDevice("ben", schema: schema, configuration: configuration)
    try await HutBook(store: ada.store).open(bunks: ["window", "door", "stove"])
    await ada.store.sync()
    await ben.store.sync()
    return (world, ada, ben)
  }
  // docs: end

  // docs: begin
  @Test("Two wardens who book without a signal find both guests and both payments afterwards")
  func offline() async throws {
    let (world, ada, ben) = try await twoWardens()
    ada.remote.isOffline = true
    ben.remote.cut = .inbound  // what he sends arrives; no answer comes back
    try await HutBook(store: ada.store).book("window", for: "Miss Gray")
    try await HutBook(store: ben.store).book("stove", for: "Mr Hill")
    #expect(await ben.store.sync().obstacle == .unreachable)

    ada.remote.isOffline = false
    ben.remote.cut = .none
    for device in [ada, ben, ada] { await device.store.sync() }

    #expect(try await HutBook(store: ada.store).guests() == ["Miss Gray", "Mr Hill"])
    #expect(try await HutBook(store: ben.store).pence() == 1000)
    #expect(try await world.snapshot().unevenness.isEmpty)
  }
  // docs: end

  // docs: begin
  @Test("A booking is made wholly or not at all, wherever the app is killed")
  func killed() async throws {
    let (_, rehearsal, _) = try await twoWardens()
    rehearsal.failPoints.reset()
    try await HutBook(store: rehearsal.store).book("door", for: "Mrs Moor")
    await rehearsal.store.sync()

    for step in 1...rehearsal.failPoints.passed.count {
      let (world, ada, ben) = try await twoWardens()
      ada.failPoints.reset()
      ada.failPoints.crash(at: step)
      let isPromised = (try? await HutBook(store: ada.store).book("door", for: "Mrs Moor")) != nil
      await ada.store.sync()

      try ada.restart()
      for device in [ada, ben] { await device.store.sync() }
      let book = HutBook(store: ben.store)
      #expect(try await (book.guests(), book.pence()) == (["Mrs Moor"], 500) || !isPromised)
      #expect(try await book.pence() == book.guests().count * 500)
      #expect(try await world.snapshot().isEven)
    }
  }
  // docs: end

  // docs: begin
  @Test("The till adds up on any network, in fifty histories that a seed repeats")
  func histories() async throws {
    for seed in 1...50 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let (world, ada, ben) = try await twoWardens()
      let history = OperationHistory()
      for _ in 0..<12 {
        let (process, device) = random.chance(50) ? (0, ada) : (1, ben)
        let faults: [FaultyRemote.Fault] = [.none, .lostRequest, .lostAnswer, .duplicated, .late]
        let fault = faults.randomElement(using: &random) ?? .none
        device.remote.setScript { fault }
        try await history.record("add", 500, process: process) {
          try await HutBook(store: device.store).book("door", for: "guest \(process)")
          return nil
        }
        if random.chance(60) { await device.store.sync() }
        if random.chance(10) { try device.restart() }
      }
      for device in [ada, ben] { device.remote.setScript { .none } }
      for device in [ada, ben, ada] { await device.store.sync() }
      let pence = try await HutBook(store: ada.store).pence()
      history.invoke("read", process: 2).ok(.int(Int64(pence)))
      #expect(history.checkCounter().isEmpty, "seed \(seed)")
      #expect(try await world.snapshot().unevenness.isEmpty, "seed \(seed)")
    }
  }
  // docs: end

  // docs: begin
  @Test("The app retries a server under maintenance at the given time, not before")
  func mended() async throws {
    let time = VirtualTime()
    let server = ScriptedRemote([
      .fail(RemoteError(.throttled, "Back in two seconds.", status: 503, retryAfter: 2)),
      .reply { request in
        SyncResponse(
          outcomes: request.operations.map {
            Outcome(operation: $0.id, .applied(version: "1", modified: time.now, record: nil))
          },
          serverTime: time.now)
      },
    ])
    var configuration = SyncOptions()
    configuration.direction = .push
    configuration.triggers = [.start]
    let clock = VirtualClock()
    let store = try SyncedStore.inMemory(
      [Bunk.self], remote: server, configuration: configuration, time: time, clock: clock)
    try await store.save(Bunk(id: "window", name: "window"))
    let running = Task { await store.run() }
    await clock.waitForSleepers()
    #expect(clock.sleepers == [.seconds(2)])
    clock.advance(by: .seconds(2))
    while try await !store.outbox.pending().isEmpty { await Task.yield() }
    running.cancel()
    await running.value
    #expect(server.requests.count == 2)
    #expect(server.requests[0].operations.map(\.id) == server.requests[1].operations.map(\.id))
  }
  // docs: end

  @Test("The article's code is the code of this file")
  func isThisFile() throws {
    let compiled = try PublishedCode.compiled(in: #filePath, marker: "docs")
    let published = try PublishedCode.published(
      in: "Sources/Bothy/Bothy.docc/TestingYourApp.md", near: #filePath)
    #expect(!published.isEmpty)
    #expect(published == compiled)
  }
}
