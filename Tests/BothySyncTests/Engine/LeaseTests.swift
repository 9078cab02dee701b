import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Two stores on one file, like those of an app and its extension.
@Suite("Two stores on one file", .faultsStrike, .timeLimit(.minutes(5)))
struct LeaseTests {
  private struct Twins {
    let world: SimulatedWorld
    let folder: TemporaryFolder
    let clock = VirtualClock()
    let remote: FaultyRemote
    let app: SyncedStore
    let other: SyncedStore

    init(_ triggers: SyncOptions.Triggers = []) throws {
      folder = try TemporaryFolder()
      world = try SimulatedWorld()
      remote = FaultyRemote(InProcessRemote(world.service))
      app = try Self.open(folder, remote, world, clock, triggers)
      other = try Self.open(folder, remote, world, clock, triggers)
    }

    private static func open(
      _ folder: TemporaryFolder, _ remote: FaultyRemote, _ world: SimulatedWorld, _ clock: VirtualClock,
      _ triggers: SyncOptions.Triggers
    ) throws -> SyncedStore {
      var configuration = SyncOptions.quiet
      configuration.clock = clock
      configuration.triggers = triggers
      return try SyncedStore(
        at: folder.path + "/twins.sqlite", schema: .notes, remote: remote, configuration: configuration,
        options: StoreOptions(busyTimeout: .seconds(100)), clock: SyncClock(now: world.time.reader()))
    }
  }

  /// Promises: N-25, H-55
  @Test("While one store syncs the other waits, and then finds nothing left to send")
  func waits() async throws {
    let twins = try Twins()
    let (app, other) = (twins.app, twins.other)
    try await app.save(Note(id: "T1", "n"), options: RequestOptions(writePolicy: .local))
    let latch = Latch()
    twins.remote.setBeforeSending { _ in await latch.pass() }
    let first = Task { await app.sync() }
    await latch.reached()
    let second = Task { await other.sync() }
    await twins.clock.waitForSleepers()
    #expect(twins.remote.requests.count == 1)
    latch.open()
    #expect(await first.value.pushed == 1)
    twins.clock.advance(by: .milliseconds(100))
    #expect(await second.value.pushed == 0)
    #expect(twins.remote.requests.flatMap(\.operations).count == 1)
  }

  /// Promises: N-25, H-55
  @Test(
    "A store that hangs with the lease delays the other only until the limit")
  func expiry() async throws {
    let twins = try Twins()
    let (app, other) = (twins.app, twins.other)
    for store in [app, other] {
      try await store.save(Note("n"), options: RequestOptions(writePolicy: .local))
    }
    // The first request doesn't end before the second sync has run.
    let latch = Latch()
    let calls = Calls()
    twins.remote.setDuringExchange { if calls.add() == 1 { await latch.pass() } }
    let first = Task { await app.sync() }
    await latch.reached()
    let second = Task { await other.sync() }
    for _ in 0..<50 {
      await twins.clock.waitForSleepers()
      twins.clock.advance(by: .milliseconds(100))
    }
    #expect(await second.value.obstacle == nil)
    latch.open()
    #expect(await first.value.obstacle == nil)
    #expect(try app.outboxEntries().isEmpty)
    #expect(try await twins.world.serverRecords().count == 2)
    #expect(try await twins.world.serverDigest().digest == app.digest().digest)
  }

  @Test("A process that was killed during its sync delays no other")
  func killed() async throws {
    let twins = try Twins()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "exit 0"]
    try process.run()
    process.waitUntilExit()
    let dead = SyncLease(process: process.processIdentifier)
    try await twins.app.save(Note(id: "T1", "n"), options: RequestOptions(writePolicy: .local))
    let now = twins.world.time.now
    #expect(try await twins.app.store.write { try dead.take(at: now, in: $0) } == nil)
    // The clock doesn't move, so a sync that waits never ends.
    #expect(await twins.other.sync().pushed == 1)
    #expect(twins.clock.sleepers.isEmpty)
  }

  /// Promises: H-55
  @Test("Two stores write and sync one file in turn without losses or duplicates")
  func both() async throws {
    let twins = try Twins()
    let calls = Calls()
    twins.remote.plan { calls.add().isMultiple(of: 2) ? .duplicated : .none }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (name, store) in [("app", twins.app), ("other", twins.other)] {
        group.addTask {
          for number in 0..<20 {
            try await store.save(
              Note(id: "\(name)\(number)", "n"), options: RequestOptions(writePolicy: .local))
          }
        }
      }
      try await group.waitForAll()
    }
    for store in [twins.app, twins.other] { #expect(await store.sync().obstacle == nil) }
    #expect(try twins.other.outboxEntries().isEmpty)
    #expect(try await twins.world.serverRecords().count == 40)
    #expect(try await twins.world.serverDigest().digest == twins.other.digest().digest)
  }

  /// Promises: H-55
  @Test("Two stores of one process hear of each other's commits")
  func news() async throws {
    let twins = try Twins()
    for (writer, reader) in [(twins.app, twins.other), (twins.other, twins.app)] {
      var titles = reader.values(of: AnyQuery("Note")).makeAsyncIterator()
      let before = try #require(try await titles.next()).count
      try await writer.save(Note("n"), policy: .local)
      #expect(try await titles.next()?.count == before + 1)
      #expect(reader.status.pendingCount == before + 1)
    }
    #expect(await twins.other.sync().pushed == 2)
    #expect(try twins.app.outboxEntries().isEmpty)
  }

  @Test("A pause holds the syncs of each store until one resumes them")
  func paused() async throws {
    let twins = try Twins()
    let (app, other) = (twins.app, twins.other)
    try app.pause()
    try await other.save(Note(id: "T1", "n"), policy: .local)
    #expect(await other.sync().obstacle == .paused)
    #expect(other.isPaused && other.status.obstacle == .paused)
    #expect(twins.remote.requests.isEmpty)
    #expect(await other.sync(.push, forced: true).pushed == 1)
    try other.resume()
    #expect(await app.sync().obstacle == nil)
    #expect(!app.isPaused)
  }

  @Test("A pause ends a sync of another store before its next request")
  func pausedMeanwhile() async throws {
    let twins = try Twins()
    let (app, other, calls) = (twins.app, twins.other, Calls())
    try await other.save(Note(id: "T1", "n"), policy: .local)
    // A first sync begins with a pull, and sends afterwards.
    twins.remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do { try app.pause() } catch { Issue.record(error) }
    }
    #expect(await other.sync().obstacle == .paused)
    #expect(calls.count == 1 && twins.remote.requests.flatMap(\.operations).isEmpty)
    try app.resume()
    #expect(await other.sync().pushed == 1)
  }

  @Test("A running store pauses with another, and sends when that resumes")
  func resumedElsewhere() async throws {
    let twins = try Twins([.save, .commit])
    let (app, other, clock) = (twins.app, twins.other, twins.clock)
    let run = Task { await other.run(clock: clock) }
    func untilLater(_ condition: () throws -> Bool) async throws {
      try await until {
        clock.advance(by: .seconds(1))
        return try condition()
      }
    }
    try await until { other.status.phase == .idle }
    // It watches for commits from its first look on, so the pause is repeated until it is heard.
    try await untilLater {
      try app.pause()
      return other.status.phase == .paused
    }
    try await other.save(Note(id: "T1", "n"))
    for _ in 0..<1000 { await Task.yield() }
    #expect(twins.remote.requests.isEmpty)
    try app.resume()
    try await untilLater { try other.outboxEntries().isEmpty }
    run.cancel()
    await run.value
    #expect(try await twins.world.serverRecords().count == 1)
  }
}
