import ArgumentParser
import BothyStore
import BothySync

/// `bothy db delete`: deletes a record here, and on the server at the next sync.
struct DeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Deletes a record; the server is told at the next sync.",
    discussion: """
      References to it follow their delete rules. Fails with status 1 when the record
      does not exist.

      Example:  bothy db delete notes.bothy Note 0197f3c2-…
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the record.") var type: String
  @Argument(help: "The id of the record.") var id: String
  @Option(help: ArgumentHelp("Where the write is made first.", valueName: "policy")) var save: WritePolicy?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let isHere = save != .remote && save != .remoteThenLocal
      let record = try session.target(type, id, save, isHere: isHere)
      let receipt = try await session.store.delete(record, options: RequestOptions(writePolicy: save))
      let problem = try await session.problem(with: receipt, waits: save == .localThenRemote)
      if let problem { throw problem }
      let state = try session.store.state(of: record).name
      try output.print {
        "\(record) is deleted (\(state))."
      } json: { writer in
        writer.member("id", id)
        writer.member("deleted", true)
        writer.member("state", state)
      }
    }
  }
}
