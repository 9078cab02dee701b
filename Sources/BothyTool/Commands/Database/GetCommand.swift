import ArgumentParser
import BothyInspector
import BothyStore
import BothySync

/// `bothy db get`: reads one record by id.
struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Prints one record.",
    discussion: """
      Fails with status 1 when the record does not exist.

      Example:  bothy db get notes.bothy Note 0197f3c2-… --fetch local
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the record.") var type: String
  @Argument(help: "The id of the record.") var id: String
  @Option(help: ArgumentHelp("The read policy, which says when a request is sent.", valueName: "policy"))
  var fetch: ReadPolicy?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let schema = try session.type(type)
      let query = AnyQuery(type, where: .compare(field: "id", .equal, .text(id)))
      let policy = try session.readPolicy(fetch)
      let found = try await session.store.fetchResult(query, options: RequestOptions(readPolicy: policy))
        .records
        .first
      guard let found else { throw Session.missing(RecordID(type: type, id: id)) }
      let shown = try RecordView(found, in: session.store)
      try output.print {
        shown.text(schema)
      } json: {
        shown.write(to: &$0)
      }
    }
  }
}

extension Session {
  /// Returns the requested policy, else the configured one. Without a server, it is the one for the local file.
  ///
  /// Throws if the server alone is requested, and the database has none.
  func readPolicy(_ asked: ReadPolicy?) throws -> ReadPolicy {
    if asked == .remote { try requireServer() }
    return asked ?? (address == nil ? .local : store.options.readPolicy)
  }
}
