import ArgumentParser
import BothyStore

/// `bothy admin migrate`: brings the tables of a server to the form that this version needs.
struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Creates the tables of a server, or runs the steps that they miss.",
    discussion: """
      A server does this by itself when it starts, unless it has --no-migrate. Here a
      step may take as long as it needs. With PostgreSQL the servers may run
      meanwhile. Servers of an older version go on where a step only adds something.
      After other steps they refuse all requests, so update them then.

      Example:  bothy admin migrate postgres://bothy@db.internal/bothy
                bothy admin migrate server.sqlite
      """)

  @Argument(
    help: ArgumentHelp("A file, or postgres://user@host/database.", valueName: "database"),
    completion: .file())
  var database: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let (before, after) = try await ServedStorage.migrate(database)
    try output.print {
      before == after
        ? "The tables have version \(after), and no step is missing."
        : "The tables had version \(before) and have version \(after) now."
    } json: { writer in
      writer.member("before", before)
      writer.member("after", after)
    }
  }
}
