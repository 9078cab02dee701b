import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Foundation
import Synchronization
import Testing

@Suite(
  "Sessions that PostgreSQL ends", .enabled(if: RealPostgres.url != nil, RealPostgres.hint),
  .timeLimit(.minutes(15)))
struct LostSessionTests {
  /// Ends sessions of one application as their commits are sent: before, or at about that time.
  private final class Saboteur: Sendable {
    let name = RealPostgres.newSchema()
    private let random: Mutex<SeededChoices>
    private let ended = Atomic<Int>(0)

    init(seed: UInt64) { random = Mutex(SeededChoices(seed: seed)) }

    var endedCount: Int { ended.load(ordering: .relaxed) }

    func see(_ sql: String) {
      guard sql == "COMMIT" else { return }
      switch random.withLock({ Int.random(in: 0..<6, using: &$0) }) {
      case 0: end()
      case 1, 2: DispatchQueue.global().async { self.end() }
      default: break
      }
    }

    private func end() {
      let sql =
        "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE application_name = '\(name)'"
      // If the server has too many connections at the moment, no session is ended.
      let rows = (try? PostgresCatalogue.rows(RealPostgres.url ?? "", sql)) ?? []
      ended.wrappingAdd(rows.count, ordering: .relaxed)
    }
  }

  @Test(
    "Each write is made and answered once while sessions end at their commits",
    arguments: 1...3)
  func once(seed: UInt64) async throws {
    let saboteur = Saboteur(seed: seed)
    var configuration = RealPostgres.configuration(saboteur.name, connections: 3)
    configuration.trace = { saboteur.see($0) }
    let storage = try await PostgresServerStorage.open(
      "\(RealPostgres.url ?? "")?application_name=\(saboteur.name)", configuration: configuration)
    var positions: [String: Int64] = [:]
    try await withThrowingTaskGroup(of: [String: Int64].self) { tasks in
      for writer in 0..<6 {
        tasks.addTask {
          var positions: [String: Int64] = [:]
          for number in 0..<15 {
            let name = "\(writer)-\(number)"
            positions[name] = try await storage.write(space: writer < 4 ? "s" : "t") { transaction in
              let position = transaction.head + 1
              try transaction.put([ServerStorageConformance.entry(position, name)])
              return position
            }
          }
          return positions
        }
      }
      for try await part in tasks { positions.merge(part) { $1 } }
    }
    for (space, count) in [("s", 60), ("t", 30)] {
      let found = try await storage.read(space: space) {
        try $0.changes(after: 0, in: .everything, limit: 1000)
      }
      #expect(found.map(\.position) == Array(1...Int64(count)), "seed \(seed): one position for each write")
      for entry in found { #expect(positions[entry.record.id.id] == entry.position, "seed \(seed)") }
    }
    #expect(saboteur.endedCount > 0)
    storage.close()
  }
}
