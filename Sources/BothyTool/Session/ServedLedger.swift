import BothyPostgres
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation

/// Where a server keeps its spaces, blobs and the secrets it is handed: one SQLite file and folders beside it, or
/// PostgreSQL and a folder that all its processes share.
struct ServedLedger {
  let ledger: any LedgerUpkeep
  let blobs: (any BlobVault)?
  let secrets: FolderSecrets?
  private let sqlite: SQLiteLedger?
  private let postgres: PostgresLedger?

  static func isPostgres(_ database: String) -> Bool {
    ["postgres://", "postgresql://"].contains { database.hasPrefix($0) }
  }

  /// Where the blobs of a file are when nothing else is said.
  static func blobFolder(of path: String) -> String { path + "-blobs" }

  /// - Parameter blobs: the folder of the blobs; nil keeps them beside the file, or refuses them with PostgreSQL.
  static func open(
    _ database: String, blobs: String?, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedLedger {
    if isPostgres(database) {
      if blobs == nil {
        Standard.note(
          "Blobs and secret values are refused: give --blobs, a folder that all processes of this server share."
        )
      }
      return try await open(postgres: database, blobs: blobs, now: now)
    }
    guard !database.contains("://") else {
      throw ToolError(
        "'\(database)' can't be served. Give the path of a SQLite file, or postgres://user@host/database.")
    }
    _ = try PrivateFile.create(at: database)
    return try open(file: database, blobs: blobs, now: now)
  }

  /// What a server keeps, for those who look after it: a file has to be there. Where the blobs in PostgreSQL's company are
  /// only `blobs` says.
  static func open(
    existing database: String, blobs: String?, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedLedger {
    if isPostgres(database) { return try await open(postgres: database, blobs: blobs, now: now) }
    guard FileManager.default.fileExists(atPath: database) else {
      throw ToolError(
        "There is no database at \(database). Give the one that `bothy serve` was started with.")
    }
    return try open(file: database, blobs: blobs, now: now)
  }

  private static func open(
    file: String, blobs: String?, now: @escaping @Sendable () -> Int64
  ) throws -> ServedLedger {
    let ledger = try SQLiteLedger(at: file)
    return ServedLedger(
      ledger: ledger, blobs: FolderVault(at: blobs ?? blobFolder(of: file), now: now),
      secrets: FolderSecrets(folder: file + "-secrets"), sqlite: ledger, postgres: nil)
  }

  private static func open(
    postgres address: String, blobs: String?, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedLedger {
    let ledger: PostgresLedger
    do {
      ledger = try await PostgresLedger.open(address)
    } catch let error as LedgerUnavailable {
      throw ToolError("The database can't be used. \(error)")
    }
    return ServedLedger(
      ledger: ledger, blobs: blobs.map { FolderVault(at: $0, now: now) },
      secrets: blobs.map { FolderSecrets(folder: $0 + "-secrets") }, sqlite: nil, postgres: ledger)
  }

  /// What a server does with the secret values of applied operations; nil refuses them, and the device keeps them.
  var secretReceiver: (@Sendable (String, RecordID, Secrets) throws -> Void)? {
    guard let secrets else { return nil }
    return { try secrets.receive(space: $0, $1, $2) }
  }

  /// Brings secrets that an earlier version kept to where they are kept now.
  func adoptSecrets() async throws {
    if let secrets { try secrets.adopt(spaces: await ledger.spaces()) }
  }

  /// Lets the streams of this process hear of what other processes write.
  func passNews(to hints: HintHub) {
    postgres?.passNews(of: { hints.spaces }, to: { hints.publish(space: $0) })
  }

  /// Writes a copy of the database; nil where the database's own tools do that.
  var backup: (@Sendable (String) async throws -> Void)? {
    guard let sqlite else { return nil }
    return { path in try await sqlite.backup(to: path) }
  }

  /// Lets go of PostgreSQL when nothing is under way any more.
  func close() { postgres?.close() }

  /// Closes either database; nothing may be under way.
  func closeAll() throws {
    close()
    try sqlite?.close()
  }
}
