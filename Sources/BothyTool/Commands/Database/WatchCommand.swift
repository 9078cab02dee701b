import ArgumentParser
import BothyInspector
import BothyStore
import BothySync

/// `bothy db watch`: prints the result of a query each time it changes.
struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Prints the answer to a query now and after each change of it, by any process.",
    discussion: """
      With --json one document a line. Ends at Ctrl-C, or after --count answers.

      Example:  bothy db watch notes.bothy Note --where "done = false" --json
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var query: QueryOptions
  @OptionGroup var order: OrderOptions
  @Option(help: ArgumentHelp("The most records to print.", valueName: "n")) var limit: Int?
  @Option(help: ArgumentHelp("End after this number of answers.", valueName: "n")) var count: Int?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard count ?? 1 > 0 else { throw ValidationError("--count is at least 1.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let type = try session.type(query.type)
      let asked = try order.ordered(query.query(limit: limit), type).checked(for: type)
      let answers = session.store.store.values(of: asked)
      let nearest = order.nearest == nil ? nil : asked.order.first
      let (store, output, count) = (session.store, output, count)
      try await Interrupts.running {
        var seen = 0
        for try await records in answers {
          let shown = try RecordView.all(records, in: store, nearest: nearest)
          try output.print {
            RecordView.table(shown, type) + "\n"
          } json: { writer in
            writer.list("records", shown) { $1.write(to: &$0) }
          }
          seen += 1
          if seen == count { return }
        }
      }
    }
  }
}
