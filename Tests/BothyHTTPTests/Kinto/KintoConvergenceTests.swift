import BothyKinto
import BothyStore
import BothySync
import BothyTesting
import Foundation
import Synchronization
import Testing

@Suite(
  "Convergence through a real Kinto server", .enabled(if: RealKinto.url != nil), .timeLimit(.minutes(30)))
struct KintoConvergenceTests {
  /// The seeds of the histories. `BOTHY_KINTO_SEEDS` sets their number, and `BOTHY_SEED` runs one alone.
  static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    return Array(1...(environment["BOTHY_KINTO_SEEDS"].flatMap { UInt64($0) } ?? 40))
  }()

  /// Promises: H-68
  @Test(
    "Three devices with faults and restarts converge without lost edits or doubled counts"
  )
  func histories() async throws {
    for seed in Self.seeds {
      var history = try KintoHistory(seed: seed)
      let problems = try await history.run()
      guard problems.isEmpty else {
        Issue.record("Seed \(seed): \(problems.joined(separator: "; ")). Replay with BOTHY_SEED=\(seed).")
        return
      }
    }
  }

  @Test("Devices that sync at the same moment converge")
  func atomic() async throws {
    let space = RealKinto.newSpace()
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: .fieldByField)
    let devices = try ["a", "b", "c"].map { try KintoDevice($0, in: space, configuration) }
    for round in 0..<12 {
      for (index, device) in devices.enumerated() {
        if round == 0 { for number in 0..<10 { try device.insert(Card(id: "shared\(number)", "new")) } }
        for card in try device.cards() { try device.update(card.id) { $0.own[index] = round } }
      }
      await withTaskGroup(of: Void.self) { group in
        for store in devices.map(\.store) { group.addTask { _ = await store.sync() } }
      }
    }
    for device in devices + devices { #expect(await device.store.sync().obstacle == nil) }
    for device in devices { #expect(try await device.problems() == []) }
    for card in try devices[0].cards() { #expect(card.own == [11, 11, 11], "\(card.id)") }
  }
}

/// One random history with three devices, one policy, random writes and random faults, then a check without faults.
///
/// The model is the content that no merge may lose under `fieldByField`. In a record that was not deleted, each device's
/// own field has its last value, and the count is the sum of all increments.
private struct KintoHistory {
  private var random: SeededGenerator
  private let devices: [KintoDevice]
  private let policy: MergePolicy
  private let time = VirtualTime()
  private var own: [String: [Int: Int]] = [:]
  private var score: [String: Int] = [:]
  private var deleted: Set<String> = []

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    let policies: [MergePolicy] = [
      .fieldByField, .fieldByField, .remoteWins, .localWins, .latestWins,
    ]
    policy = policies.randomElement(using: &random) ?? .fieldByField
    let space = RealKinto.newSpace()
    var devices: [KintoDevice] = []
    for index in 0..<3 {
      var configuration = SyncOptions.quiet
      configuration.merging = MergePolicies(default: policy)
      configuration.batchSize = Int.random(in: 1...30, using: &random)
      configuration.pageSize = Int.random(in: 1...8, using: &random)
      let device = try KintoDevice("device\(index)", in: space, configuration, time: time)
      let faults = Mutex(SeededGenerator(seed: seed &* 31 &+ UInt64(index)))
      device.network.setScript { _ in faults.withLock { Self.fault(&$0) } }
      devices.append(device)
    }
    self.devices = devices
  }

  private static func fault(_ random: inout SeededGenerator) -> FaultyTransport.Fault {
    switch Int.random(in: 0..<16, using: &random) {
    case 0: .lostRequest
    case 1, 2: .lostAnswer
    case 3: .duplicated
    case 4: .status([500, 502, 503].randomElement(using: &random) ?? 500)
    case 5: .status(503, retryAfter: "1")
    default: .none
    }
  }

  /// Runs the history. Returns the differences at the end, which must be empty.
  mutating func run() async throws -> [String] {
    for _ in 0..<Int.random(in: 20...50, using: &random) {
      time.advance(by: Int64.random(in: 1...5000, using: &random))
      let index = Int.random(in: 0..<devices.count, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6: try write(index)
      case 6..<9: _ = await devices[index].store.sync()
      default: try devices[index].restart()
      }
    }
    for device in devices {
      device.network.setScript { _ in .none }
      try device.restart()
    }
    time.advance(by: 60_000)
    var problems: [String] = []
    for _ in 0..<3 {
      for device in devices {
        time.advance(by: 10)
        let report = await device.store.sync()
        if let reason = report.stop { problems.append("\(device.name) skipped: \(reason)") }
        if !report.rejected.isEmpty { problems.append("\(device.name) failed: \(report.rejected)") }
      }
    }
    for device in devices { problems += try await device.problems() }
    if policy.name == MergePolicy.fieldByField.name { problems += try lostEdits() }
    return problems.map { "[\(policy.name)] \($0)" }
  }

  private mutating func write(_ index: Int) throws {
    let device = devices[index]
    let card = try device.cards().randomElement(using: &random)
    switch (Int.random(in: 0..<12, using: &random), card) {
    case (0..<3, _), (_, nil): try create(index)
    case (3..<7, let card?):
      let value = Int.random(in: 0..<1000, using: &random)
      try device.update(card.id) { $0.own[index] = value }
      own[card.id, default: [:]][index] = value
    case (7..<9, let card?):
      try device.update(card.id) { $0.score += 1 }
      score[card.id, default: 0] += 1
    case (9, let card?):
      let title = "t\(Int.random(in: 0..<10, using: &random))"
      try device.update(card.id) { $0.title = title }
    case (10, let card?):
      try device.delete(card.id)
      deleted.insert(card.id)
    case (_, let card?):
      let again = Card(id: card.id, "again")
      try device.store.store.write {
        _ = try $0.delete(Card.self, id: card.id)
        try $0.insert(again)
      }
      deleted.insert(card.id)
    }
  }

  private mutating func create(_ index: Int) throws {
    let id =
      random.chance(30)
      ? "shared:\(Int.random(in: 0..<3, using: &random))" : "d\(index)/\(random.next() % 100_000)"
    guard try devices[index].card(id) == nil else { return }
    var card = Card(id: id, "new")
    let value = Int.random(in: 0..<1000, using: &random)
    card.own[index] = value
    card.score = 1
    try devices[index].insert(card)
    if deleted.contains(id) { return }
    own[id, default: [:]][index] = value
    score[id, default: 0] += 1
  }

  private func lostEdits() throws -> [String] {
    var problems: [String] = []
    for (id, own) in own where !deleted.contains(id) {
      guard let card = try devices[0].card(id) else {
        problems.append("\(id) is lost")
        continue
      }
      for (device, value) in own where card.own[device] != value {
        problems.append("\(id): device \(device) wrote \(value), there is \(card)")
      }
      if card.score != score[id] { problems.append("\(id): counted \(score[id] ?? 0), there is \(card)") }
    }
    return problems
  }
}
