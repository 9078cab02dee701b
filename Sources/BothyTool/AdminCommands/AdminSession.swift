import ArgumentParser
import BothySync
import Foundation

/// The database of a server, as `bothy serve --database` names it.
struct ServedOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The server's database, as given to `bothy serve`.", valueName: "path"),
    completion: .file())
  var database = "./bothy-server.sqlite"
}

/// What the commands of `bothy admin` work with: a server's ledger and blobs, without the server.
struct AdminSession {
  let ledger: any LedgerUpkeep
  let blobs: any BlobVault
  let authority: Authority
  /// Writes a copy of the database; nil where the database's own tools do that.
  let backup: (@Sendable (String) async throws -> Void)?
  let clock: ToolClock

  /// Opens the database, which has to be there, runs `body` and closes it.
  static func with<Result>(
    _ options: ServedOptions, _ body: (AdminSession) async throws -> Result
  ) async throws -> Result {
    let path = options.database
    guard FileManager.default.fileExists(atPath: path) else {
      throw ToolError("There is no database at \(path). Give the one that `bothy serve` was started with.")
    }
    let clock = try ToolClock()
    let ledger = try SQLiteLedger(at: path)
    let blobs = FolderVault(at: path + "-blobs", now: { clock.now() })
    let session = AdminSession(
      ledger: ledger, blobs: blobs,
      authority: Authority(ledger: ledger, blobs: blobs, now: { clock.now() }),
      backup: { try await ledger.backup(to: $0) }, clock: clock)
    do {
      let result = try await body(session)
      try ledger.close()
      return result
    } catch {
      try? ledger.close()  // the first error is the one to tell
      throw error
    }
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
