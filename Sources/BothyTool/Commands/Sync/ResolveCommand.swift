import ArgumentParser
import BothyStore
import BothySync

/// `bothy resolve`: decides about a pending or rejected change.
struct ResolveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resolve",
    abstract: "Decides about a change that the server rejected, or about any pending one.",
    discussion: """
      A draft isn't tried again but released: see `bothy release`.

      Example:  bothy resolve notes.bothy Note 0197f3c2-… --revert
      """)

  enum Choice: String, EnumerableFlag {
    case retry, keepLocal, revert, removeLocal

    static func help(for value: Choice) -> ArgumentHelp? {
      switch value {
      case .retry: "Send it again at the next sync."
      case .keepLocal: "Keep the local content and stop sending it."
      case .revert:
        "Undo it: the record becomes what the server has. If that may have received it, a sync undoes it there."
      case .removeLocal: "Remove the record from this device only."
      }
    }

    static func name(for value: Choice) -> NameSpecification {
      switch value {
      case .keepLocal: [.customLong("keep-local"), .customLong("accept-local")]
      case .removeLocal: [.customLong("remove-local"), .customLong("evict")]
      case .retry, .revert: .long
      }
    }

    var resolution: Outbox.Decision {
      switch self {
      case .retry: .retry
      case .keepLocal: .keepLocal
      case .revert: .revert
      case .removeLocal: .removeLocal
      }
    }
  }

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the record.") var type: String
  @Argument(help: "The id of the record.") var id: String
  @Flag var choice: Choice
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      _ = try session.type(type)
      let record = RecordID(type: type, id: id)
      let entry = try session.store.pendingEntry(record)
      if choice == .retry, let entry, entry.reason == nil, try session.store.state(of: record) == .draft {
        throw ToolError("\(record) is a draft. \(session.hint(ofDraft: record))")
      }
      try session.store.resolve(record, choice.resolution)
      let state = try session.store.state(of: record).name
      let isSent =
        try choice == .revert
        && session.store.outboxEntries().contains { $0.id == record && $0.operationID != nil }
      try output.print {
        "\(record): \(choice.rawValue), now \(state)."
          + (isSent ? " The server may have received the change, so the next sync undoes it there too." : "")
          + (state == "draft" ? " " + session.hint(ofDraft: record) : "")
      } json: { writer in
        writer.members(record)
        writer.member("resolution", choice.rawValue)
        writer.member("state", state)
      }
    }
  }
}
