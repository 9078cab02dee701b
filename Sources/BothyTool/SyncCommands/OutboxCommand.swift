import ArgumentParser
import BothyStore
import BothySync

/// `bothy outbox`: the changes that the server does not have yet.
struct OutboxCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox",
    abstract: "Prints the changes that the server does not have yet.",
    discussion: "Example:  bothy outbox notes.bothy --limit 20")

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("At most so many entries.", valueName: "n")) var limit: Int?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try output.print(try session.store.outbox(limit: limit), of: session, empty: "Nothing is pending.")
    }
  }
}

/// `bothy inbox`: the changes that the server refused.
struct InboxCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inbox",
    abstract: "Prints the changes that the server refused, with its reasons; `resolve` decides about them.",
    discussion: "Example:  bothy inbox notes.bothy --json")

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try output.print(try session.store.inbox(), of: session, empty: "The server refused nothing.")
    }
  }
}

extension OutputOptions {
  fileprivate func print(_ entries: [OutboxEntry], of session: Session, empty: String) throws {
    try print {
      var table = TextTable(["kind", "type", "id", "state", "tries", "reason"])
      for entry in entries {
        table.add([
          entry.kind.rawValue, entry.record.type, entry.record.id, entry.stateName, "\(entry.attempts)",
          entry.reason.map { "\($0.code): \($0.message)" } ?? "",
        ])
      }
      return table.text(empty: empty)
    } json: { writer in
      try writer.list("entries", entries) { try $1.writeMembers(to: &$0, in: session.store) }
    }
  }
}
