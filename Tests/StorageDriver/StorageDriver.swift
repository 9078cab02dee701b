import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Foundation

/// Measures the effect of group commit. It counts the writes per second of 32 callers to one space, with and without
/// joint commits. It uses SQLite and, if BOTHY_POSTGRES is set, PostgreSQL, there also by the number of processes.
@main
struct StorageDriver {
  private static let callers = 32
  private static let rounds = 3
  private static let time = Duration.seconds(2)

  static func main() async throws {
    let folder = NSTemporaryDirectory() + "bothy-storage-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // In the worst case a file stays in the temporary folder.
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await compare("SQLite") { limit in
      let path = "\(folder)/\(UUID().uuidString).sqlite"
      return try SQLiteServerStorage(at: path, lanes: WriteQueues(limit: limit))
    }
    guard let address = ProcessInfo.processInfo.environment["BOTHY_POSTGRES"] else { return }
    try await compare("PostgreSQL") { limit in
      var configuration = PostgresServerStorage.Configuration()
      configuration.joinedWrites = limit
      return try await PostgresServerStorage.open(address, configuration: configuration)
    }
    try await compareProcesses(on: address)
  }

  /// Prints the writes per second of all callers to one space, spread over storages as those of as many processes.
  private static func compareProcesses(on address: String) async throws {
    var best: [Int: Double] = [:]
    for _ in 0..<rounds {
      for count in [1, 2, 4] {
        var storages: [PostgresServerStorage] = []
        for _ in 0..<count { storages.append(try await PostgresServerStorage.open(address)) }
        best[count] = max(best[count] ?? 0, try await writesPerSecond(of: storages))
        for storage in storages { storage.close() }
      }
    }
    for (count, rate) in best.sorted(by: { $0.key < $1.key }) {
      print("PostgreSQL, one space, \(count) processes: \(Int(rate)) writes/s")
    }
  }

  private static func compare(_ name: String, _ make: @Sendable (Int) async throws -> any ServerStorage)
    async throws
  {
    var best: [Int: Double] = [:]
    for _ in 0..<rounds {
      for limit in [1, 32] {
        best[limit] = max(best[limit] ?? 0, try await writesPerSecond(of: [make(limit)]))
      }
    }
    let (alone, joined) = (best[1] ?? 1, best[32] ?? 0)
    print(
      "\(name): \(Int(alone)) writes/s alone, \(Int(joined)) joined, "
        + String(format: "%.2f times", joined / alone))
  }

  /// Returns the writes per second. Each write has one record of a kilobyte, and each caller waits for its answer.
  private static func writesPerSecond(of storages: [any ServerStorage]) async throws -> Double {
    let space = UUID().uuidString
    let text = String(repeating: "x", count: 1000)
    let start = ContinuousClock.now
    let count = try await withThrowingTaskGroup(of: Int.self) { tasks in
      for caller in 0..<callers {
        let storage = storages[caller % storages.count]
        tasks.addTask {
          var count = 0
          while ContinuousClock.now - start < time {
            let id = RecordID(type: "Item", id: "\(caller)-\(count)")
            try await storage.write(space: space) { transaction in
              let position = transaction.head + 1
              let fields = FieldsDocument(["text": .string(text)])
              let record = ServerRecord(id: id, version: String(position), modified: 0, fields: fields)
              try transaction.put([StoredRecord(position: position, record: record)])
            }
            count += 1
          }
          return count
        }
      }
      return try await tasks.reduce(0, +)
    }
    return Double(count) / ((ContinuousClock.now - start) / .seconds(1))
  }
}
