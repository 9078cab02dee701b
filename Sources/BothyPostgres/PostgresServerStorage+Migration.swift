import BothyStore

/// The steps that change the tables, run by an operator apart from the start of a server.
extension PostgresServerStorage {
  /// Creates missing tables and runs missing steps, without a time limit for a step. Returns the versions of the tables
  /// before and after.
  ///
  /// Servers may run meanwhile. A step that changes a table waits for running transactions, and later ones wait for it.
  /// Each step is one transaction, so after an error the finished steps remain. Throws `StorageUnavailable`, or
  /// `BothyError`, with `.newerFile` if the tables need a newer server.
  public static func migrate(
    _ address: String, configuration: Configuration = Configuration()
  ) async throws -> (before: Int, after: Int) {
    var settings = SessionSettings(
      address: address, schema: configuration.schema, patience: configuration.patience,
      trace: configuration.trace)
    settings.statementTime = nil
    let pool = WorkerPool(settings, limit: 1)
    defer { pool.close() }
    var configuration = configuration
    configuration.migrates = true
    let installing = configuration
    let versions = try await pool.run(CallTime(grace: .seconds(86_400))) {
      try installing.installer(on: $0).install()
    }
    return (versions.before.version, versions.after.version)
  }
}

extension PostgresServerStorage.Configuration {
  func installer(on connection: PostgresConnection) -> StorageInstaller {
    StorageInstaller(schema: schema, connection: connection, steps: steps, migrates: migrates)
  }
}
