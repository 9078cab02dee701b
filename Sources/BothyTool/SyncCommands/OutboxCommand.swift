import ArgumentParser
import BothyStore
import BothySync

/// `bothy outbox`: lists the changes that the server doesn't have yet.
struct OutboxCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox",
    abstract: "Prints the changes that the server does not have yet.",
    discussion: """
      When something waits for nothing but a sync and the last ones did not end
      well, the first line says so, and why.

      Example:  bothy outbox notes.bothy --limit 20
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("The most entries to print.", valueName: "n")) var limit: Int?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let entries = try session.store.outboxEntries(limit: limit)
      try output.print(
        entries, of: session, empty: "Nothing is pending.", standing: session.store.syncStanding())
    }
  }
}

/// `bothy inbox`: lists the changes that the server rejected.
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
  /// Prints entries.
  ///
  /// - Parameter standing: the sync status, if the entries may be waiting for it.
  fileprivate func print(
    _ entries: [Outbox.Entry], of session: Session, empty: String, standing: SyncHealth? = nil
  ) throws {
    let reasons = try standing?.failing == nil ? [] : session.store.waitingReasons(for: entries)
    let failing = reasons.contains(where: \.isForSync) ? standing?.failing : nil
    try print {
      var table = TextTable(["kind", "type", "id", "state", "tries", "reason"])
      for entry in entries {
        table.add([
          entry.kind.rawValue, entry.record.type, entry.record.id, entry.stateName, "\(entry.attempts)",
          entry.reason.map { "\($0.code): \($0.message)" } ?? "",
        ])
      }
      return (failing.map { "No sync has ended well \($0.text)\n\n" } ?? "") + table.text(empty: empty)
    } json: { writer in
      standing?.writeFailing(to: &writer)
      try writer.list("entries", entries) { try $1.writeMembers(to: &$0, in: session.store) }
    }
  }
}
