import BothyPostgres
import Foundation
import Testing

/// The PostgreSQL server that `scripts/with-postgres` has started.
enum PostgresUnderTest {
  static let url = ProcessInfo.processInfo.environment["BOTHY_POSTGRES"]
  static let hint: Comment =
    "BOTHY_POSTGRES is not set: run the tests by scripts/with-postgres swift test --filter BothyServerTests"

  /// Runs `body` with a storage in its own schema.
  static func with(_ body: (PostgresServerStorage) async throws -> Void) async throws {
    let schema = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
    var configuration = PostgresServerStorage.Configuration(
      schema: schema, connections: 4, patience: .seconds(100))
    configuration.checkTime = .seconds(100)
    let storage = try await PostgresServerStorage.open(url ?? "", configuration: configuration)
    defer { storage.close() }
    try await body(storage)
  }
}
