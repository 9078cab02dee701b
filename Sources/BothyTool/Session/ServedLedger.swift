import BothyPostgres
import BothyServer
import BothyStore
import BothySync

/// Where a server keeps its spaces, blobs and the secrets it is handed: one SQLite file and folders beside it, or
/// PostgreSQL and a folder that all its processes share.
struct ServedLedger {
  let ledger: any Ledger
  let blobs: (any BlobVault)?
  let secrets: FileSecretStore?
  private let postgres: PostgresLedger?

  /// - Parameter blobs: the folder of the blobs; nil keeps them beside the file, or refuses them with PostgreSQL.
  static func open(
    _ database: String, blobs: String?, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedLedger {
    if ["postgres://", "postgresql://"].contains(where: { database.hasPrefix($0) }) {
      return try await open(postgres: database, blobs: blobs, now: now)
    }
    guard !database.contains("://") else {
      throw ToolError(
        "'\(database)' can't be served. Give the path of a SQLite file, or postgres://user@host/database.")
    }
    _ = try PrivateFile.create(at: database)
    return ServedLedger(
      ledger: try SQLiteLedger(at: database), blobs: FolderVault(at: blobs ?? database + "-blobs", now: now),
      secrets: FileSecretStore(folder: database + "-secrets"), postgres: nil)
  }

  private static func open(
    postgres address: String, blobs: String?, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedLedger {
    if blobs == nil {
      Standard.note(
        "Blobs and secret values are refused: give --blobs, a folder that all processes of this server share."
      )
    }
    let ledger: PostgresLedger
    do {
      ledger = try await PostgresLedger.open(address)
    } catch let error as LedgerUnavailable {
      throw ToolError("The database can't be used. \(error)")
    }
    return ServedLedger(
      ledger: ledger, blobs: blobs.map { FolderVault(at: $0, now: now) },
      secrets: blobs.map { FileSecretStore(folder: $0 + "-secrets") }, postgres: ledger)
  }

  /// What a server does with the secret values of applied operations; nil refuses them, and the device keeps them.
  var secretReceiver: (@Sendable (String, RecordID, Secrets) throws -> Void)? {
    guard let secrets else { return nil }
    return { space, record, values in
      for (field, value) in values.values {
        try secrets.set(
          value, for: SecretKey(RecordID(type: "\(space)/\(record.type)", id: record.id), field: field))
      }
    }
  }

  /// Lets the streams of this process hear of what other processes write.
  func passNews(to hints: HintHub) {
    postgres?.passNews(of: { hints.spaces }, to: { hints.publish(space: $0) })
  }

  /// Lets go of the database when nothing is under way any more.
  func close() { postgres?.close() }
}
