import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Synchronization
import Testing

/// One random history of a bank with many devices.
///
/// The devices transfer money, and open and close accounts, each in one transaction, under lost requests, lost
/// responses, repetitions and restarts. At every step each device and the server show either no account or the whole
/// total.
///
/// In half of the histories balances merge as counters, and money only moves. In the others accounts are opened and
/// closed too, under the default policy or one by which the server wins.
struct BankHistory {
  private var random: SeededGenerator
  private let world: SimulatedWorld
  private let problems = Problems()
  private let counts: Bool

  static let accountCount = 6
  static let total = 600

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    world = try SimulatedWorld()
    counts = seed.isMultiple(of: 2)
    let ids = Mutex(SeededGenerator(seed: seed &+ 1))
    for device in 0..<Int.random(in: 3...5, using: &random) {
      var configuration = SyncOptions.quiet
      configuration.batchSize = Int.random(in: 1...6, using: &random)
      configuration.pageSize = Int.random(in: 1...4, using: &random)
      configuration.merging = MergePolicies(default: seed % 4 == 1 ? .remoteWins : .fieldByField)
      configuration.makeOperationID = { [time = world.time] in
        ids.withLock { UUIDv7.make(at: Timestamp(milliseconds: time.now), using: &$0) }
      }
      let added = try world.addDevice(schema: counts ? .countingBank : .bank, configuration: configuration)
      let faults = Mutex(SeededGenerator(seed: seed &* 31 &+ UInt64(device)))
      added.remote.setScript { faults.withLock { .random(using: &$0) } }
    }
  }

  /// Runs the history and returns the problems, or an empty array.
  mutating func run() async throws -> [String] {
    let share = Self.total / Self.accountCount
    let first = try #require(world.devices.first)
    try first.open(
      Dictionary(uniqueKeysWithValues: (0..<Self.accountCount).map { ("a\($0)", share) }))
    for step in 0..<Int.random(in: 15...50, using: &random) {
      world.time.advance(by: Int64.random(in: 1...5000, using: &random))
      let device = try #require(world.devices.randomElement(using: &random))
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5: try move(on: device)
      case 5..<8: try await sync(device)
      case 8: try await fetch(device)
      default: try device.restart()
      }
      try await look("step \(step)")
    }
    try await settle()
    return problems.all
  }

  // MARK: writes

  private mutating func move(on device: SimulatedDevice) throws {
    let move = try plannedMove(on: device)
    try move?.carryOut(device.store)
  }

  /// A movement of money that is computed inside its transaction.
  private struct Move: Sendable {
    enum Kind: Sendable { case transfer, open(String), close }
    var kind: Kind
    var payer: String
    var payee: String
    var amount: Int

    func carryOut(_ store: SyncedStore) throws {
      try store.write(.atomic) { transaction in
        guard var from = try transaction.fetch(BankAccount.self, id: payer),
          var to = try transaction.fetch(BankAccount.self, id: payee)
        else { return }
        switch kind {
        case .transfer:
          from.balance -= amount
          to.balance += amount
          try transaction.update(from)
          try transaction.update(to)
        case .open(let id):
          guard try transaction.fetch(BankAccount.self, id: id) == nil else { return }
          from.balance -= amount
          try transaction.update(from)
          try transaction.insert(BankAccount(id, amount))
        case .close:
          to.balance += from.balance
          try transaction.update(to)
          try transaction.delete(BankAccount.self, id: payer)
        }
      }
    }
  }

  private mutating func plannedMove(on device: SimulatedDevice) throws -> Move? {
    let known = try device.balances().keys.sorted().shuffled(using: &random)
    guard known.count > 1 else { return nil }
    let kind: Move.Kind
    switch counts ? 9 : Int.random(in: 0..<10, using: &random) {
    case 0: kind = .open("n\(Int.random(in: 0..<4, using: &random))")
    case 1: kind = .close
    default: kind = .transfer
    }
    return Move(
      kind: kind, payer: known[0], payee: known[1], amount: Int.random(in: 1...50, using: &random))
  }

  // MARK: syncing

  /// Syncs the device and checks both sides at every exchange, sometimes with a transfer in the middle of it.
  private mutating func sync(_ device: SimulatedDevice) async throws {
    let move = Mutex(random.chance(40) ? try plannedMove(on: device) : nil)
    let (store, problems, name) = (device.store, problems, device.name)
    device.remote.setBeforeSending { _ in
      problems.look(name, "before an exchange") { try Self.balances(store) }
    }
    device.remote.setDuringExchange { [world = Watched(world)] in
      if let move = move.withLock({ move in
        defer { move = nil }
        return move
      }) {
        problems.note(name) { try move.carryOut(store) }
      }
      problems.look(name, "during an exchange") { try Self.balances(store) }
      await problems.look("the server", "after an exchange") { try await world.balances() }
    }
    _ = await device.store.sync([.both, .both, .both, .push, .pull].randomElement(using: &random) ?? .both)
    device.remote.setDuringExchange {}
    device.remote.setBeforeSending { _ in }
  }

  /// Requests one account from the server, on a device that subscribes to the bank.
  private mutating func fetch(_ device: SimulatedDevice) async throws {
    guard let id = try device.balances().keys.sorted().randomElement(using: &random) else { return }
    // A failed request shows no balance, so its error is ignored.
    _ = try? await device.store.fetch(BankAccount.self, id: id, options: .reading(.remoteElseLocal))
  }

  private static func balances(_ store: SyncedStore) throws -> [Int] {
    try store.store.read { try $0.fetch(RecordQuery<BankAccount>()) }.map(\.balance)
  }

  /// The storage, for closures that cannot hold the world.
  private struct Watched: Sendable {
    let storage: any ServerMaintenance

    init(_ world: SimulatedWorld) { storage = world.storage }

    func balances() async throws -> [Int] {
      try await storage.read(space: "test") { storage in
        var balances: [Int] = []
        try storage.forEachRecord(in: .everything) { entry in
          balances.append(Int(try entry.record.fields.members()["balance"]?.intValue ?? 0))
        }
        return balances
      }
    }
  }

  private func look(_ moment: String) async throws {
    for device in world.devices { problems.look(device.name, moment) { try Self.balances(device.store) } }
    let watched = Watched(world)
    await problems.look("the server", moment) { try await watched.balances() }
  }

  // MARK: the end

  private func settle() async throws {
    for device in world.devices {
      device.remote.setScript { .none }
      try device.restart()
    }
    for round in 0..<3 {
      for device in world.devices {
        world.time.advance(by: 10)
        let report = await device.store.sync()
        if report.obstacle != nil || !report.rejected.isEmpty || !report.blocked.isEmpty {
          problems.add("\(device.name): \(report)")
        }
        try await look("at the end, round \(round)")
      }
    }
    let digest = try await world.serverDigest()
    for device in world.devices {
      let left = try device.store.outboxEntries()
      if !left.isEmpty { problems.add("\(device.name) still has \(left.map(\.id))") }
      if try device.store.digest().digest != digest.digest {
        problems.add("\(device.name) differs from the server")
      }
      let findings = try device.store.diagnose().findings
      if !findings.isEmpty { problems.add("\(device.name): \(findings)") }
    }
  }
}

/// The inconsistencies that readers saw.
private final class Problems: Sendable {
  private let found = Mutex<[String]>([])

  var all: [String] { found.withLock { $0 } }

  func add(_ problem: String) { found.withLock { $0.append(problem) } }

  func note(_ who: String, _ body: () throws -> Void) {
    do { try body() } catch { add("\(who): \(error)") }
  }

  func look(_ who: String, _ moment: String, _ balances: () throws -> [Int]) {
    note(who) { judge(who, moment, try balances()) }
  }

  func look(_ who: String, _ moment: String, _ balances: () async throws -> [Int]) async {
    do { judge(who, moment, try await balances()) } catch { add("\(who): \(error)") }
  }

  private func judge(_ who: String, _ moment: String, _ balances: [Int]) {
    let total = balances.reduce(0, +)
    if !balances.isEmpty && total != BankHistory.total { add("\(who) shows \(total) \(moment)") }
  }
}
