import BothyPostgres
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation
import Logging

/// The storage of a server for spaces, blobs and received secrets.
///
/// It is one SQLite file and folders beside it, or PostgreSQL and a folder that all server processes share. Blobs may be
/// in a bucket on S3 instead.
struct ServedStorage {
  let storage: any ServerMaintenance
  let blobs: (any BlobFileStorage)?
  let secrets: FolderSecrets?
  private let sqlite: SQLiteServerStorage?
  private let postgres: PostgresServerStorage?
  /// The files whose sizes the server's metrics have.
  let files: StorageFiles

  static func isPostgres(_ database: String) -> Bool {
    ["postgres://", "postgresql://"].contains { database.hasPrefix($0) }
  }

  /// Returns the default folder of the blobs of a file.
  static func blobFolder(of path: String) -> String { path + "-blobs" }

  /// Opens the storage of a server.
  ///
  /// - Parameters:
  ///   - replicas: the addresses of standbys that answer reads after `useReplicas`.
  ///   - blobs: the place of the blobs. By default it is a folder beside the file; with PostgreSQL, blobs are then
  ///     rejected.
  ///   - migrates: false to refuse tables that miss steps.
  ///   - logger: the log of a bucket's failures.
  static func open(
    _ database: String, replicas: [String] = [], blobs: ServedBlobs?, bounds: ServerBounds, migrates: Bool,
    logger: Logger, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedStorage {
    if isPostgres(database) {
      if blobs == nil {
        StandardStreams.note(
          "Blobs and secret values are refused: give --blobs, a folder that all processes of this server share."
        )
      } else if blobs?.folder == nil {
        StandardStreams.note(
          "Secret values are refused: they need a folder as --blobs, and stay on the devices.")
      }
      return try await open(
        postgres: database, replicas: replicas, blobs, bounds, migrates: migrates, logger, now: now)
    }
    try refuseOthers(database)
    _ = try PrivateFile.create(at: database)
    return try await open(file: database, blobs, bounds, migrates: migrates, logger, now: now)
  }

  /// Throws for an address of another database.
  private static func refuseOthers(_ database: String) throws {
    guard database.contains("://") else { return }
    throw ToolError(
      "'\(database)' can't be served. Give the path of a SQLite file, or postgres://user@host/database.")
  }

  /// Creates the tables of a storage, or runs the steps that they miss, without a time limit for a step. A file must
  /// exist. Returns the versions before and after.
  static func migrate(_ database: String) async throws -> (before: Int, after: Int) {
    if isPostgres(database) {
      do { return try await PostgresServerStorage.migrate(database) } catch let error as StorageUnavailable {
        throw ToolError("The database can't be used. \(error)")
      }
    }
    try refuseOthers(database)
    try requireFile(database)
    return try SQLiteServerStorage.migrate(database)
  }

  private static func requireFile(_ database: String) throws {
    guard FileManager.default.fileExists(atPath: database) else {
      throw ToolError(
        "The database \(database) does not exist. Give the one that `bothy serve` was started with.")
    }
  }

  /// Opens an existing storage for administration. A file must exist. With PostgreSQL, only `blobs` says where the blobs
  /// are.
  static func open(
    existing database: String, blobs: ServedBlobs?, logger: Logger, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedStorage {
    if isPostgres(database) {
      return try await open(postgres: database, blobs, ServerBounds(), migrates: true, logger, now: now)
    }
    try requireFile(database)
    return try await open(file: database, blobs, ServerBounds(), migrates: true, logger, now: now)
  }

  /// Opens an existing storage to look at it. Missing steps are refused and not run, few connections are used, and a
  /// database that is away is waited for two seconds only.
  static func open(
    reading database: String, blobs: ServedBlobs?, logger: Logger, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedStorage {
    var bounds = ServerBounds()
    (bounds.database.readers, bounds.database.connections) = (2, 1)
    bounds.database.patience = .seconds(2)
    bounds.server.queryConcurrency = 1
    if isPostgres(database) {
      return try await open(postgres: database, blobs, bounds, migrates: false, logger, now: now)
    }
    try requireFile(database)
    return try await open(file: database, blobs, bounds, migrates: false, logger, now: now)
  }

  private static func open(
    file: String, _ blobs: ServedBlobs?, _ bounds: ServerBounds, migrates: Bool, _ logger: Logger,
    now: @escaping @Sendable () -> Int64
  ) async throws -> ServedStorage {
    let blobs = blobs ?? .folder(blobFolder(of: file))
    let opened = try await blobs.open(bounds.blobs, logger: logger, now: now)
    let storage = try SQLiteServerStorage(
      at: file, readers: bounds.database.readers, queries: bounds.server.queryConcurrency,
      migrates: migrates)
    return ServedStorage(
      storage: storage, blobs: opened, secrets: FolderSecrets(folder: file + "-secrets"), sqlite: storage,
      postgres: nil, files: StorageFiles(database: file, blobs: blobs.folder))
  }

  private static func open(
    postgres address: String, replicas: [String] = [], _ blobs: ServedBlobs?, _ bounds: ServerBounds,
    migrates: Bool, _ logger: Logger, now: @escaping @Sendable () -> Int64
  ) async throws -> ServedStorage {
    let opened = try await blobs?.open(bounds.blobs, logger: logger, now: now)
    let storage: PostgresServerStorage
    var configuration = PostgresServerStorage.Configuration(
      connections: bounds.database.connections, patience: bounds.database.patience)
    configuration.queries = bounds.server.queryConcurrency
    configuration.migrates = migrates
    configuration.replicas = replicas
    do {
      storage = try await PostgresServerStorage.open(address, configuration: configuration)
    } catch let error as StorageUnavailable {
      throw ToolError("The database can't be used. \(error)")
    }
    return ServedStorage(
      storage: storage, blobs: opened,
      secrets: blobs?.folder.map { FolderSecrets(folder: $0 + "-secrets") }, sqlite: nil, postgres: storage,
      files: StorageFiles(blobs: blobs?.folder))
  }

  /// The closure that receives the secret values of applied operations. With `nil`, they are rejected and stay on the
  /// device.
  var secretReceiver: (@Sendable (String, RecordID, Secrets) throws -> Void)? {
    guard let secrets else { return nil }
    return { try secrets.receive(space: $0, $1, $2) }
  }

  /// Moves the secrets of an earlier version to their current place. Lists the spaces only if there are any.
  func adoptSecrets() async throws {
    if let secrets, try secrets.hasFormer { try secrets.adopt(spaces: await storage.spaces()) }
  }

  /// Forwards the writes of other processes to the streams of this process. A database without notifications is
  /// reported to the log once, and shown by the metrics. So is a lack of a connection, but to the log alone.
  func passNews(to notifications: ChangeNotifier, _ logger: Logger) {
    postgres?.passNews(
      of: { notifications.spaces }, to: { notifications.publish(space: $0) },
      reporting: { [postgres] sentence in
        if postgres?.looksForNews ?? false { notifications.looksForNews() }
        logger.warning("\(sentence)")
      })
  }

  /// Begins to use the replicas, and reports to the log whenever that changes.
  func useReplicas(_ logger: Logger) {
    postgres?.useReplicas { logger.warning("\($0)") }
  }

  /// Writes a copy of the database, or `nil` if the database's own tools do that.
  var backup: (@Sendable (String) async throws -> Void)? {
    guard let sqlite else { return nil }
    return { path in try await sqlite.backup(to: path) }
  }

  /// Closes PostgreSQL after its last running operation.
  func close() { postgres?.close() }

  /// Closes either database. No operation may be running.
  func closeAll() throws {
    close()
    try sqlite?.close()
  }
}
