import BothyPostgres
import BothySync
import BothySyncService
import BothyTesting
import Foundation

/// The servers of wide histories, which alternate between a storage in memory and one on PostgreSQL if it is available.
enum WideStorages {
  private static let address = ProcessInfo.processInfo.environment["BOTHY_POSTGRES"]

  /// The schema for all histories of a process, each of which has a space of its own in it.
  private static let postgres = Task<PostgresServerStorage?, any Error> {
    guard let address else { return nil }
    let schema = "h" + UUID().uuidString.lowercased().replacing("-", with: "")
    return try await PostgresServerStorage.open(
      address,
      configuration: PostgresServerStorage.Configuration(
        schema: schema, connections: 4, patience: .seconds(100)))
  }

  /// The storage in memory for all histories of a process, each of which has a space of its own in it. So its tables are
  /// made and its statements are prepared once.
  private static let memory: Result<SQLiteServerStorage, any Error> = Result { try SQLiteServerStorage() }

  /// Returns the world of a history. Odd seeds have the server on PostgreSQL.
  static func world(of history: WideHistory) async throws -> SimulatedWorld {
    guard history.seed % 2 == 1, let storage = try await postgres.value else {
      return try SimulatedWorld(storage: memory.get(), space: UUID().uuidString)
    }
    return try SimulatedWorld(storage: storage, space: UUID().uuidString)
  }
}
