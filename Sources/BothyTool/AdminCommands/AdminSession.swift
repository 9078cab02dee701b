import ArgumentParser
import BothySync
import BothySyncService
import Foundation

/// The database of a server, as `bothy serve --database` names it.
struct ServedOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server's database, as given to `bothy serve`: a file or postgres://….", valueName: "path"),
    completion: .file())
  var database = "./bothy-server.sqlite"
  @Option(
    help: ArgumentHelp("The folder of its blobs; of a file, PATH-blobs by default.", valueName: "dir"),
    completion: .directory)
  var blobs: String?

  /// Where the blobs are; nil when nobody has said so.
  var blobFolder: String? {
    blobs ?? (ServedLedger.isPostgres(database) ? nil : ServedLedger.blobFolder(of: database))
  }
}

/// What the commands of `bothy admin` work with: a server's ledger and blobs, without the server.
struct AdminSession {
  let ledger: any LedgerUpkeep
  /// The bytes of blobs; nil when it is not known where they are.
  let blobs: (any BlobVault)?
  /// The values of sensitive fields; nil when it is not known where they are.
  let secrets: FolderSecrets?
  let authority: Authority
  /// Writes a copy of the database; nil where the database's own tools do that.
  let backup: (@Sendable (String) async throws -> Void)?
  let clock: ToolClock

  /// Opens the database, which has to be there, runs `body` and closes it.
  static func with<Result>(
    _ options: ServedOptions, _ body: (AdminSession) async throws -> Result
  ) async throws -> Result {
    let clock = try ToolClock()
    let served = try await ServedLedger.open(
      existing: options.database, blobs: options.blobs, now: { clock.now() })
    let session = AdminSession(
      ledger: served.ledger, blobs: served.blobs, secrets: served.secrets,
      authority: Authority(ledger: served.ledger, blobs: served.blobs, now: { clock.now() }),
      backup: served.backup, clock: clock)
    do {
      let result = try await body(session)
      try served.closeAll()
      return result
    } catch {
      try? served.closeAll()  // the first error is the one to tell
      throw error
    }
  }

  /// The kept blobs of a space with their sizes; none when it is not known where they are.
  func keptBlobs(in space: String) async throws -> [String: Int64] {
    try await blobs?.kept(in: space) ?? [:]
  }

  /// The spaces that a command is about: those named, all of which have to be there, or all there are.
  func spaces(_ named: [String]) async throws -> [String] {
    let known = try await ledger.spaces()
    if let unknown = named.first(where: { !known.contains($0) }) {
      let list = known.isEmpty ? "none" : known.prefix(20).joined(separator: ", ")
      throw ToolError("The database has no space '\(unknown)'. There are: \(list).")
    }
    return named.isEmpty ? known : named
  }
}
