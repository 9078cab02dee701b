import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Networks that are cut in either or both directions, and devices that stall.
///
/// Each lasts for up to ten seconds, followed by three seconds of calm.
@Suite("Network partitions", .timeLimit(.minutes(15)))
struct PartitionScenario {
  static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    return Array(1...6)
  }()

  private struct Member {
    let device: SimulatedDevice
    let monitor = ScriptedReachability()
    /// The time in the story at which its network is whole again, in milliseconds.
    var healsAt = 0
    /// A latch that is closed while the device stalls.
    var standstill: Latch?
    /// The last value that the device wrote into its own field.
    var last: Int?
  }

  /// Promises: Scenario-24
  @Test(
    "Three calm seconds after any partition make all devices equal without a request",
    arguments: seeds)
  func partitions(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let world = try SimulatedWorld()
    let clock = VirtualClock()
    var configuration = SyncOptions()
    configuration.merging = MergePolicies(default: .fieldByField)
    configuration.backoff = Backoff(first: .milliseconds(200), limit: .seconds(1), random: { 0.5 })
    var members = try (0..<4).map { _ in
      Member(device: try world.addDevice(schema: .notes, configuration: configuration))
    }
    try members[0].device.insert("T1", "start")
    for member in members { await member.device.store.sync() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for member in members {
        let (store, monitor) = (member.device.store, member.monitor)
        group.addTask { await store.run(reachability: monitor, clock: clock) }
      }
      var head = try await world.serverDigest().position
      for step in 0..<40 {
        for index in members.indices {
          try await disturb(&members[index], index, at: step * 500, &random)
        }
        head = try await pass(.milliseconds(500), clock, world, head)
      }
      for index in members.indices { heal(&members[index]) }
      try await until { members.allSatisfy { $0.device.store.status.network == .reachable } }
      try await settle(world)
      for _ in 0..<15 {
        head = try await pass(.milliseconds(200), clock, world, head)
        try await settle(world)
      }
      // Lets running work end without advancing the clocks. It takes as long as the machine is busy.
      var unevenness = try await world.snapshot().unevenness
      while !unevenness.isEmpty && !Task.isCancelled {
        await Task.yield()
        head = try await tell(world, head)
        unevenness = try await world.snapshot().unevenness
      }
      #expect(unevenness.isEmpty, "Seed \(seed). Replay with BOTHY_SEED=\(seed).")
      group.cancelAll()
    }
    let note = try #require(try await world.snapshot().server[.note()])
    for (index, member) in members.enumerated() where member.last != nil {
      #expect(note[["a", "b", "c", "d"][index]]?.intValue == member.last.map(Int64.init), "seed \(seed)")
    }
  }

  /// Writes, begins a partition or a stall, or ends one.
  private func disturb(
    _ member: inout Member, _ index: Int, at time: Int, _ random: inout SeededGenerator
  ) async throws {
    if member.healsAt > 0 && member.healsAt <= time { heal(&member) }
    if member.healsAt == 0 && random.chance(15) {
      member.healsAt = time + Int.random(in: 1...10_000, using: &random)
      let cut = FaultyRemote.Cut.allCases.randomElement(using: &random) ?? .both
      member.device.remote.cut = cut
      if cut == .none {
        let latch = Latch()
        member.standstill = latch
        member.device.remote.setBeforeSending { _ in await latch.pass() }
      } else {
        member.device.remote.dropNotifications()
        member.monitor.send(.notReachable)
      }
    }
    if random.chance(30) {
      let value = time + index + 1
      member.last = value
      let field = ["a", "b", "c", "d"][index]
      try await member.device.store.save(AnyRecord("Note", id: "T1", [field: .int(Int64(value))]))
    }
  }

  private func heal(_ member: inout Member) {
    member.healsAt = 0
    member.device.remote.cut = .none
    member.device.remote.setBeforeSending { _ in }
    member.standstill?.open()
    member.standstill = nil
    member.monitor.send(.reachable)
  }

  /// Advances the clocks.
  private func pass(
    _ duration: Duration, _ clock: VirtualClock, _ world: SimulatedWorld, _ head: Int64?
  ) async throws -> Int64? {
    clock.advance(by: duration)
    world.time.advance(
      by: duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000)
    for _ in 0..<300 { await Task.yield() }
    return try await tell(world, head)
  }

  /// Waits until the running syncs have ended, however busy the machine is: they take no time of the clocks.
  private func settle(_ world: SimulatedWorld) async throws {
    try await until { world.devices.allSatisfy { !$0.store.status.isSyncing } }
    // Gives what a sync or a tick has set off the time to begin.
    try await ContinuousClock().sleep(for: .milliseconds(20))
    try await until { world.devices.allSatisfy { !$0.store.status.isSyncing } }
  }

  /// Notifies the reachable devices if the server has changed.
  private func tell(_ world: SimulatedWorld, _ head: Int64?) async throws -> Int64? {
    let now = try await world.serverDigest().position
    if now != head { for device in world.devices where device.remote.cut == .none { device.remote.notify() } }
    return now
  }
}
