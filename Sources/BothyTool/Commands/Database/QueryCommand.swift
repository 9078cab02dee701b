import ArgumentParser
import BothyInspector
import BothyStore
import BothySync

/// `bothy db query`: reads the records that match a condition, in order.
struct QueryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Prints the records that fit a condition.",
    discussion: """
      Conditions compare fields: =, !=, <, <=, >, >=, IN (…), CONTAINS, BEGINSWITH,
      IS NULL, INCLUDES, MATCHES 'full text' IN (title), title NATURAL < 'item 10',
      start WITHIN 500 m OF lat,lon, start INSIDE west,south,east,north; joined by
      AND, OR, NOT and brackets. --nearest shows the metres. --order "title NATURAL"
      sorts without case and accents, and -_rank the best of MATCHES first.

      Example:  bothy db query notes.bothy Note --order -due,title --limit 10
                bothy db query notes.bothy Note --where "due < 2026-12-01"
                bothy db query trips.bothy Trip --nearest 51.5,-0.1 --limit 20
                bothy db query notes.bothy Note --where "done = true" --explain
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var query: QueryOptions
  @OptionGroup var order: OrderOptions
  @Option(help: ArgumentHelp("The most records to print.", valueName: "n")) var limit: Int?
  @Option(help: ArgumentHelp("How many to leave out at the start.", valueName: "n")) var offset = 0
  @Option(help: ArgumentHelp("The read policy, which says when a request is sent.", valueName: "policy"))
  var fetch: ReadPolicy?
  @Flag(help: "Print how SQLite reads the records of the file, and which index it uses.") var explain = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit ?? 0 >= 0, offset >= 0 else {
      throw ValidationError("--limit and --offset are not negative.")
    }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let type = try session.type(query.type)
      // A server without a schema finds nothing for a misspelt field, so the file's own schema is checked first.
      let asked = try order.ordered(query.query(limit: limit, offset: offset), type).checked(for: type)
      if explain { return try await printPlan(of: asked, in: session) }
      let policy = try session.readPolicy(fetch)
      let result = try await session.store.fetchResult(asked, options: RequestOptions(readPolicy: policy))
      let nearest = order.nearest == nil ? nil : asked.order.first
      let records = try RecordView.all(result.records, in: session.store, nearest: nearest)
      try output.print {
        RecordView.table(records, type)
      } json: { writer in
        writer.list("records", records) { $1.write(to: &$0) }
        writer.member("origin", result.origin.rawValue)
        writer.member("complete", result.isComplete)
        writer.member("age", result.age.map { $0 / .seconds(1) })
      }
    }
  }
}

extension QueryCommand {
  private func printPlan(of query: AnyQuery, in session: Session) async throws {
    let statements = try await session.store.store.read { transaction in
      try transaction.explained { _ = try transaction.fetch(query) }
    }
    try output.print {
      statements.map(\.description).joined(separator: "\n")
    } json: { writer in
      writer.list("statements", statements) { writer, statement in statement.writeMembers(to: &writer) }
    }
  }
}

/// `bothy db count`: counts the records that match a condition.
struct CountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "count",
    abstract: "Prints how many records fit a condition.",
    discussion: "Example:  bothy db count notes.bothy Note --where \"done = true\"")

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var query: QueryOptions
  @Option(help: ArgumentHelp("The read policy, which says when a request is sent.", valueName: "policy"))
  var fetch: ReadPolicy?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let asked = try query.query().checked(for: session.type(query.type))
      let options = RequestOptions(readPolicy: try session.readPolicy(fetch ?? .local))
      let count = try await session.store.count(asked, options: options)
      try output.print {
        "\(count)"
      } json: {
        $0.member("count", count)
      }
    }
  }
}
