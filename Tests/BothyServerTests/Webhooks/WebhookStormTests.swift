import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Webhooks whose receivers and processes fail at random", .timeLimit(.minutes(10)))
struct WebhookStormTests {
  /// Writers, senders and chances of one seed.
  private struct Storm {
    let seed: UInt64
    let processes: Int
    let world: WebhookWorld
    var random: SeededGenerator
    var storages: [MortalStorage] = []
    var senders: [WebhookSender] = []
    var versions: [String: [String: Int64]] = [:]
    var written: [String: [Int64]] = [:]

    init(seed: UInt64, processes: Int) throws {
      (self.seed, self.processes) = (seed, processes)
      world = try WebhookWorld()
      random = SeededGenerator(seed: seed)
      let chances = Locked(SeededGenerator(seed: seed &+ 1))
      world.treat(by: { _ in
        var drawn = 0
        chances.change { drawn = Int.random(in: 0..<100, using: &$0) }
        return switch drawn {
        case 0..<60: .take
        case 60..<72: .refuse(status: 500)
        case 72..<78: .refuse(status: 429, retryAfter: .seconds(2))
        case 78..<88: .hangUp
        case 88..<96: .takeSilently
        default: .takeAndKill
        }
      })
      for number in 0..<processes {
        storages.append(MortalStorage(world.base))
        senders.append(try start(number, on: storages[number]))
      }
    }

    func start(_ number: Int, on storage: MortalStorage) throws -> WebhookSender {
      let isAlone = processes == 1
      let holder = isAlone ? "server" : UUIDv7.make()
      return try world.sender(holder: holder, isAlone: isAlone, on: storage) {
        ($0.changes, $0.capacity) = (20, 5)
      }
    }

    mutating func write() async throws {
      let space = "s\(Int.random(in: 0..<8, using: &random))"
      let id = "r\(Int.random(in: 0..<40, using: &random))"
      let base = versions[space]?[id]
      let isGone = base != nil && random.chance(10)
      let version = try await world.write(id, in: space, base: base, delete: isGone)
      versions[space, default: [:]][id] = isGone ? nil : version
      written[space, default: []].append(version)
      if random.chance(70) { for sender in senders { sender.news(space: space) } }
    }

    mutating func deliver() async throws {
      let number = Int.random(in: 0..<processes, using: &random)
      for _ in 0..<Int.random(in: 0...6, using: &random) { _ = await senders[number].step() }
      if storages[number].isKilled {
        storages[number] = MortalStorage(world.base)
        senders[number] = try start(number, on: storages[number])
      }
    }

    /// Each change is there, and the first times of a space's changes are in order. A record never becomes older.
    func check() {
      var seen: [String: Set<Int64>] = [:]
      var last: [String: Int64] = [:]
      var newest: [String: Int64] = [:]
      for change in world.taken.value.flatMap(\.changes) {
        let isNew = seen[change.space, default: []].insert(change.position).inserted
        if isNew {
          #expect(change.position > last[change.space] ?? 0, "seed \(seed): \(change) is out of order")
          last[change.space] = change.position
        }
        let record = "\(change.space)/\(change.record)"
        #expect(change.version >= newest[record] ?? 0, "seed \(seed): \(change) is an older state")
        newest[record] = max(change.version, newest[record] ?? 0)
      }
      for (space, positions) in written {
        #expect(seen[space] == Set(positions), "seed \(seed): \(space)")
      }
    }
  }

  /// Makes 1,500 changes. `BOTHY_TIMES=7` makes more than 10,000.
  ///
  /// Promises: A-23
  @Test(
    "Each change is delivered at least once, in order for its record",
    arguments: [(1, 1), (2, 1), (3, 2), (4, 3)] as [(UInt64, Int)])
  func storm(seed: UInt64, processes: Int) async throws {
    var storm = try Storm(seed: seed, processes: processes)
    for _ in 0..<RandomRuns.count(1500) {
      try await storm.write()
      storm.world.time.advance(by: Int64.random(in: 0...120, using: &storm.random))
      if storm.random.chance(30) { try await storm.deliver() }
    }
    storm.world.treat(.take)
    try await storm.world.finish(storm.senders[0])
    storm.check()
    let attempts = storm.world.attempts.value
    #expect(attempts > storm.world.taken.value.count, "the receiver has failed")
  }
}
