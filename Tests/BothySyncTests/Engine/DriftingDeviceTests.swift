import BothyLegacy
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// Devices with wrong clocks, whose edits are compared by the server's clock.
@Suite("Clocks that are wrong", .timeLimit(.minutes(5)))
struct DriftingDeviceTests {
  /// A device whose clock can be set and whose machine can be restarted.
  final class Machine: Sendable {
    private struct State {
      var skew: Int64
      var boot = 1
      var bootedAt: Int64
    }
    private let time: VirtualTime
    private let state: Mutex<State>

    init(_ time: VirtualTime, skew: Int64 = 0) {
      self.time = time
      state = Mutex(State(skew: skew, bootedAt: time.now))
    }

    func setClock(by amount: Int64) { state.withLock { $0.skew += amount } }

    func restart() {
      state.withLock { state in
        state.boot += 1
        state.bootedAt = time.now
      }
    }

    func clock() -> SyncClock {
      SyncClock(now: { self.time.now + self.state.withLock { $0.skew } }) {
        self.state.withLock { Uptime(boot: "boot\($0.boot)", milliseconds: self.time.now - $0.bootedAt) }
      }
    }
  }

  private struct Devices {
    let world: SimulatedWorld
    let folder: TemporaryFolder
    let machine: Machine
    let policy: MergePolicy
    let a: SyncedStore
    let b: SyncedStore

    func later(_ minutes: Int64) { world.time.advance(by: minutes * 60_000) }

    func retitle(_ store: SyncedStore, _ title: String) throws {
      try store.store.write { _ = try $0.update(Note.self, id: "T1") { $0.title = title } }
    }

    func title(_ store: SyncedStore) throws -> String? { try store.store.fetch(Note.self, id: "T1")?.title }

    func serverTitle() async throws -> String? {
      try await world.serverRecords()[.note()]?.fields.members()["title"]?.stringValue
    }

    func reopened() throws -> SyncedStore {
      try a.store.close()
      return try Self.open(world, folder.path + "/a.bothy", machine.clock(), policy)
    }

    static func open(
      _ world: SimulatedWorld, _ path: String, _ clock: SyncClock, _ policy: MergePolicy
    ) throws -> SyncedStore {
      var configuration = SyncOptions.quiet
      configuration.merging = MergePolicies(default: policy)
      return try SyncedStore(
        at: path, schema: .notes, remote: InProcessRemote(world.service), configuration: configuration,
        clock: clock)
    }
  }

  /// Returns devices A and B that share T1, with a measured offset of A's clock.
  private func devices(skew: Int64 = 0, _ policy: MergePolicy = .latestWins) async throws -> Devices {
    let world = try SimulatedWorld()
    let folder = try TemporaryFolder()
    let machine = Machine(world.time, skew: skew)
    let devices = Devices(
      world: world, folder: folder, machine: machine, policy: policy,
      a: try Devices.open(world, folder.path + "/a.bothy", machine.clock(), policy),
      b: try Devices.open(world, folder.path + "/b.bothy", Machine(world.time).clock(), policy))
    try await devices.b.store.write { try $0.insert(Note(id: "T1", "start")) }
    await devices.b.sync()
    await devices.a.sync()
    return devices
  }

  private let hour: Int64 = 3_600_000

  /// Promises: H-6, X-4
  @Test("A fast clock's edit doesn't win, and a slow clock's edit doesn't lose")
  func skewed() async throws {
    for skew in [hour, -hour] {
      let ahead = try await devices(skew: skew)
      try ahead.retitle(ahead.a, "a")
      ahead.later(5)
      try ahead.retitle(ahead.b, "b")
      await ahead.b.sync()
      await ahead.a.sync()
      #expect(try await ahead.serverTitle() == "b")
      #expect(try ahead.title(ahead.a) == "b")
      let behind = try await devices(skew: skew)
      try behind.retitle(behind.b, "b")
      await behind.b.sync()
      behind.later(5)
      try behind.retitle(behind.a, "a")
      await behind.a.sync()
      #expect(try await behind.serverTitle() == "a")
    }
  }

  /// Promises: H-7
  @Test("A clock set after the measurement changes nothing, even over a relaunch", arguments: [false, true])
  func setLater(relaunches: Bool) async throws {
    for policy in [MergePolicy.latestWins, .remoteNewerWins] {
      let devices = try await devices(policy)
      devices.machine.setClock(by: 24 * hour)
      let a = relaunches ? try devices.reopened() : devices.a
      try devices.retitle(a, "a")
      devices.later(5)
      try devices.retitle(devices.b, "b")
      await devices.b.sync()
      await a.sync()
      #expect(try await devices.serverTitle() == "b", "\(policy.name)")
      #expect(try devices.title(a) == "b")
      // The clock is set back, and the later edit still wins.
      devices.machine.setClock(by: -48 * hour)
      try devices.retitle(devices.b, "b2")
      await devices.b.sync()
      devices.later(5)
      try devices.retitle(a, "a2")
      await a.sync()
      #expect(try await devices.serverTitle() == "a2", "\(policy.name)")
    }
  }

  /// Promises: H-7
  @Test(
    "After a restart the time of an edit is unreliable, and the server wins",
    arguments: [MergePolicy.latestWins, .remoteNewerWins])
  func rebooted(policy: MergePolicy) async throws {
    let devices = try await devices(policy)
    devices.machine.setClock(by: 24 * hour)
    devices.machine.restart()
    let a = try devices.reopened()
    try devices.retitle(devices.b, "b")
    await devices.b.sync()
    devices.later(5)
    try devices.retitle(a, "a")
    #expect(try a.outboxEntries().first?.isEditTimeReliable == false)
    let report = await a.sync()
    #expect(try await devices.serverTitle() == "b")
    #expect(report.overwritten.map(\.record) == [.note()])
    // The device has received the server's time, so edits count again.
    devices.later(5)
    try devices.retitle(devices.b, "b2")
    await devices.b.sync()
    devices.later(5)
    try devices.retitle(a, "a2")
    #expect(try a.outboxEntries().first?.isEditTimeReliable == true)
    await a.sync()
    #expect(try await devices.serverTitle() == "a2")
  }

  /// Promises: H-8, S-75
  @Test(
    "The later edit wins if local times are sent, otherwise the first sync wins"
  )
  func timesOfEdits() async throws {
    for sends in [true, false] {
      let pair = try await Pair.sharing(policy: .latestWins) { $0.sendsLocalTimes = sends }
      try pair.b.retitle("b")
      pair.world.time.advance(by: 300_000)
      try pair.a.retitle("a")
      pair.world.time.advance(by: 300_000)
      await pair.b.store.sync()
      pair.world.time.advance(by: 300_000)
      let report = await pair.a.store.sync()
      #expect(try await pair.serverTitle() == (sends ? "a" : "b"))
      #expect(report.overwritten.isEmpty == sends)
      #expect(try await pair.isEven())
      let modified = pair.b.operations.map(\.modified)
      #expect(modified.allSatisfy { ($0 != nil) == sends } && !modified.isEmpty)
    }
  }

  /// Promises: S-75
  @Test("Online saves carry no local time, and a time before 1970 is sent unchanged")
  func onlineSaves() async throws {
    let pair = try Pair()
    try await pair.a.store.save(Note(id: "T1", "t"), options: RequestOptions(writePolicy: .remoteThenLocal))
    #expect(pair.a.operations.map(\.modified) == [nil])
    let early = SyncOperation(id: "1", kind: .insert, record: .note("T2"), modified: -1_234)
    var writer = JSONWriter()
    early.write(to: &writer)
    #expect(try JSONReader.read(writer.bytes) { try SyncOperation(from: &$0) }.modified == -1_234)
  }
}
