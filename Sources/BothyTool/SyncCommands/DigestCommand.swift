import ArgumentParser
import BothyStore
import BothySync

/// `bothy digest`: a short text that is equal where the records are equal.
struct DigestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest",
    abstract: "Prints a digest of the records: equal digests mean equal content.",
    discussion: """
      Of what is here, pending changes included; --remote asks the server for its
      own instead.

      Example:  bothy digest notes.bothy --container Note
                bothy digest notes.bothy --remote
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      "A container with those below it; may be repeated. By default everything.", valueName: "path"))
  var container: [String] = []
  @Flag(help: "The server's digest.") var remote = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      if remote { try session.requireServer() }
      let scopes =
        container.isEmpty ? [.space] : container.map { PullScope(container: $0, includesChildren: true) }
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

  private func digest(_ scope: PullScope, _ session: Session) async throws -> ScopeDigest {
    if remote { return try await session.store.remoteDigest(scope) }
    var digest = try session.store.digest(scope)
    digest.position = try session.store.containers().first { $0.scope == scope }?.position
    return digest
  }
}
