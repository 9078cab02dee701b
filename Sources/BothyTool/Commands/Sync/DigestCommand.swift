import ArgumentParser
import BothyStore
import BothySync

/// `bothy digest`: prints a short text that is equal for equal records.
struct DigestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest",
    abstract: "Prints a digest of the records: equal digests mean equal content.",
    discussion: """
      It is of the records here, pending changes included. --remote prints the
      server's own instead. --repair compares both, brings back what differs and
      keeps the pending changes.

      Example:  bothy digest notes.bothy --container Note
                bothy digest notes.bothy --remote
                bothy digest notes.bothy --repair
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      "A container with those below it; may be repeated. By default everything.", valueName: "path"))
  var container: [String] = []
  @Flag(help: "The server's digest.") var remote = false
  @Flag(help: "Compare with the server, and bring back what differs.") var repair = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !(remote && repair) else { throw ValidationError("Give --remote or --repair, not both.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      if repair { return try await repair(session) }
      if remote { try session.requireServer() }
      let scopes =
        container.isEmpty ? [.everything] : container.map { SyncScope(container: $0, includesChildren: true) }
      var digests: [ScopeDigest] = []
      for scope in scopes { digests.append(try await digest(scope, session)) }
      try output.print {
        var table = TextTable(["container", "records", "digest", "position"])
        for digest in digests {
          let name = digest.scope.container.isEmpty ? "(everything)" : digest.scope.container
          table.add([name, "\(digest.count)", digest.digest, digest.position.map(String.init) ?? ""])
        }
        return table.text(empty: "")
      } json: { writer in
        writer.list("containers", digests) { writer, digest in
          writer.member("container", digest.scope.container)
          writer.member("position", digest.position)
          writer.member("digest", digest.digest)
          writer.member("count", digest.count)
        }
      }
    }
  }

  /// Repairs differences. Ends with status 1 if some remain.
  private func repair(_ session: Session) async throws {
    try session.requireServer()
    var reports: [StoreMaintenance.Repair] = []
    if container.isEmpty { reports = try await session.store.maintenance.repairs() }
    for path in container {
      reports += try await session.store.maintenance.repairs(
        SyncScope(container: path, includesChildren: true))
    }
    let found = reports
    try output.print {
      var table = TextTable(["container", "equal", "repaired", "pending"])
      for report in found {
        let name = report.scope.container.isEmpty ? "(everything)" : report.scope.container
        table.add([name, report.isEqual ? "yes" : "no", "\(report.repaired.count)", "\(report.kept.count)"])
      }
      return table.text(empty: "Nothing of it is followed.")
    } json: { writer in
      writer.member("repaired", found.reduce(0) { $0 + $1.repaired.count })
      writer.list("containers", found) { writer, report in
        writer.member("container", report.scope.container)
        writer.member("equal", report.isEqual)
        writer.member("repaired", report.repaired.count)
        writer.member("kept", report.kept.count)
        writer.member("requests", report.requests)
        writer.list("records", report.repaired) { writer, id in writer.members(id) }
      }
    }
    guard found.allSatisfy(\.isEqual) else {
      throw ToolError("Something still differs. Others may be writing just now: try again.")
    }
  }

  private func digest(_ scope: SyncScope, _ session: Session) async throws -> ScopeDigest {
    if remote { return try await session.store.maintenance.remoteDigest(scope) }
    var digest = try session.store.digest(scope)
    digest.position = try session.store.containers().first { $0.scope == scope }?.position
    return digest
  }
}

extension StoreSubscriptions.ScopeStatus {
  /// The server's position that the cursor encodes, where Bothy's own server gave it.
  fileprivate var position: Int64? { cursor.flatMap { Cursor(token: $0)?.position } }
}
