import BothyStore
import BothySync
import BothyTesting
import Synchronization
import Testing

/// Transfers while writers, readers and syncs run concurrently on each device.
@Suite("Concurrent bank transfers", .timeLimit(.minutes(15)))
struct Scenario06ConcurrentBank {
  /// The transfers of the writers, and the sums that readers saw.
  private final class Tally: Sendable {
    private let state = Mutex((expected: [String: Int](), torn: [[String: Int]](), writing: 0))

    var expected: [String: Int] { state.withLock { $0.expected } }
    var torn: [[String: Int]] { state.withLock { $0.torn } }
    var isWriting: Bool { state.withLock { $0.writing > 0 } }

    func open(_ accounts: [String: Int], writers: Int) { state.withLock { $0 = (accounts, [], writers) } }
    func ended() { state.withLock { $0.writing -= 1 } }
    func moved(_ amount: Int, _ from: String, _ to: String) {
      state.withLock {
        $0.expected[from, default: 0] -= amount
        $0.expected[to, default: 0] += amount
      }
    }
    func saw(_ balances: [String: Int]) {
      state.withLock { if balances.values.reduce(0, +) != 500 { $0.torn.append(balances) } }
    }
  }

  private static func write(_ store: SyncedStore, seed: UInt64, _ tally: Tally) async throws {
    var random = SeededGenerator(seed: seed)
    defer { tally.ended() }
    for _ in 0..<80 {
      let payer = Int.random(in: 0..<5, using: &random)
      let (from, to) = ("a\(payer)", "a\((payer + Int.random(in: 1..<5, using: &random)) % 5)")
      let amount = Int.random(in: 1...5, using: &random)
      try await store.write(.atomic) { transaction in
        try transaction.update(BankAccount.self, id: from) { $0.balance -= amount }
        try transaction.update(BankAccount.self, id: to) { $0.balance += amount }
      }
      tally.moved(amount, from, to)
      tally.saw(try await store.store.read { try $0.balances() })
      for _ in 0..<Int.random(in: 0...20, using: &random) { await Task.yield() }
    }
  }

  /// Promises: Scenario-6
  @Test(
    "No concurrent reader sees a part of a transfer, and no transfer is lost",
    arguments: 1...3 as ClosedRange<UInt64>)
  func sideBySide(seed: UInt64) async throws {
    let world = try SimulatedWorld()
    var configuration = SyncOptions()
    configuration.merging = MergePolicies(default: .fieldByField)
    configuration.batchSize = 20
    configuration.pageSize = 3
    let devices = try (0..<4).map { _ in
      try world.addDevice(schema: .countingBank, configuration: configuration)
    }
    let tally = Tally()
    let accounts = Dictionary(uniqueKeysWithValues: (0..<5).map { ("a\($0)", 100) })
    tally.open(accounts, writers: devices.count)
    try devices[0].open(accounts)
    for device in devices { await device.store.sync() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, device) in devices.enumerated() {
        let store = device.store
        group.addTask { try await Self.write(store, seed: seed * 10 + UInt64(number), tally) }
        group.addTask { while tally.isWriting { await store.sync() } }
      }
      try await group.waitForAll()
    }
    for _ in 0..<4 { for device in devices { await device.store.sync() } }
    #expect(tally.torn.isEmpty)
    #expect(try await world.serverBalances() == tally.expected)
    for device in devices { #expect(try device.balances() == tally.expected) }
  }
}

extension ReadTransaction {
  fileprivate func balances() throws -> [String: Int] {
    Dictionary(uniqueKeysWithValues: try fetch(RecordQuery<BankAccount>()).map { ($0.id, $0.balance) })
  }
}
