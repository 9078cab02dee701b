import ArgumentParser
import BothySync
import BothySyncService
import Foundation
import Logging

/// The database of a server, as in `bothy serve --database`.
struct ServedOptions: ParsableArguments {
  static let standardDatabase = "./bothy-server.sqlite"

  @Option(
    help: ArgumentHelp(
      "The server's database, as given to `bothy serve`: a file or postgres://….", valueName: "path"),
    completion: .file())
  var database = ServedOptions.standardDatabase
  @Option(
    help: ArgumentHelp(
      "The folder of its blobs, or s3://bucket/prefix; of a file, PATH-blobs by default.", valueName: "dir"),
    completion: .directory)
  var blobs: String?
  @OptionGroup(title: "Blobs on S3") var s3: S3Options

  /// The folder or the bucket of the blobs, or `nil` if it isn't given.
  var blobPlace: String? {
    blobs ?? (ServedStorage.isPostgres(database) ? nil : ServedStorage.blobFolder(of: database))
  }
}

/// The session of the commands of `bothy admin`: a server's storage and blobs, without the server.
struct AdminSession {
  let storage: any ServerMaintenance
  /// The bytes of blobs, or `nil` if their place isn't known.
  let blobs: (any BlobFileStorage)?
  /// The values of sensitive fields, or `nil` if their folder isn't known.
  let secrets: FolderSecrets?
  let service: SyncService
  /// Writes a copy of the database, or `nil` if the database's own tools do that.
  let backup: (@Sendable (String) async throws -> Void)?
  let clock: CLIClock

  /// Opens the database, which must exist, runs `body` and closes it.
  static func with<Result>(
    _ options: ServedOptions, _ body: (AdminSession) async throws -> Result
  ) async throws -> Result {
    let clock = try CLIClock()
    let served = try await ServedStorage.open(
      existing: options.database, blobs: ServedBlobs(options.blobs, options.s3),
      logger: Logger(label: "bothy.admin"), now: { clock.now() })
    let session = AdminSession(
      storage: served.storage, blobs: served.blobs, secrets: served.secrets,
      service: SyncService(storage: served.storage, blobs: served.blobs, now: { clock.now() }),
      backup: served.backup, clock: clock)
    return try await Opened.use(session, body, close: { _ in try served.closeAll() })
  }

  /// Returns the stored blobs of a space with their sizes, or none if their place isn't known.
  func keptBlobs(in space: String) async throws -> [String: Int64] {
    try await blobs?.kept(in: space) ?? [:]
  }

  /// Returns true if blobs or values of sensitive fields of a space are stored, also of a space that is gone.
  func hasRemains(of space: String) async throws -> Bool {
    if try secrets.map({ try !$0.records(of: space).isEmpty }) ?? false { return true }
    return try await !keptBlobs(in: space).isEmpty
  }

  /// Returns the spaces of a command: the named ones, all of which must exist, or all spaces.
  func spaces(_ named: [String]) async throws -> [String] {
    let known = try await storage.spaces()
    if let unknown = named.first(where: { !known.contains($0) }) {
      let list = known.isEmpty ? "none" : known.prefix(20).joined(separator: ", ")
      throw ToolError("The database has no space '\(unknown)'. There are: \(list).")
    }
    return named.isEmpty ? known : named
  }
}
