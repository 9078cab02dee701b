import ArgumentParser
import BothyInspector
import BothyStore
import BothySync

/// `bothy outbox`: lists the changes that the server doesn't have yet.
struct OutboxCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox",
    abstract: "Prints the changes that the server does not have yet.",
    discussion: """
      When something waits for nothing but a sync and the last ones did not end
      well, the first line says so, and why. A draft waits for `bothy release`.
      A save that was sent first and got no answer isn't kept here, and the server
      may have it: a sync or the next change of its record finds out.

      Example:  bothy outbox notes.bothy --limit 20
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("The most entries to print.", valueName: "n")) var limit: Int?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit ?? 0 >= 0 else { throw ValidationError("--limit is not negative.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let entries = try session.store.outboxEntries(limit: limit)
      try output.print(
        entries, unanswered: session.store.unansweredSaves(), of: session, empty: "Nothing is pending.",
        health: session.store.syncHealth())
    }
  }
}

/// `bothy rejected`: lists the changes that the server rejected.
struct RejectedCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rejected",
    abstract: "Prints the changes that the server rejected, with its reasons; `resolve` decides about them.",
    discussion: "Example:  bothy rejected notes.bothy --json",
    aliases: ["inbox"])

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      try output.print(
        try session.store.rejectedEntries(), of: session, empty: "The server rejected nothing.")
    }
  }
}

extension OutputOptions {
  /// Prints entries.
  ///
  /// - Parameters:
  ///   - unanswered: the saves that the server may have made.
  ///   - health: the sync status, if the entries may be waiting for it.
  fileprivate func print(
    _ entries: [Outbox.Entry], unanswered: [Outbox.Entry] = [], of session: Session, empty: String,
    health: SyncHealth? = nil
  ) throws {
    let reasons = try health?.failing == nil ? [] : session.store.waitingReasons(for: entries)
    let failing = reasons.contains(where: \.isForSync) ? health?.failing : nil
    try print {
      var table = TextTable(["kind", "type", "id", "state", "tries", "reason"], whole: ["id", "reason"])
      for entry in entries {
        table.add([
          entry.change.rawValue, entry.id.type, entry.id.id, entry.stateName, "\(entry.attempts)",
          entry.reason.map { "\($0.code): \($0.message)" } ?? "",
        ])
      }
      let doubts = unanswered.map {
        "\n\($0.id): its \($0.change.rawValue) had no answer. It isn't kept here, and the server may have it."
      }
      return (failing.map { "No sync has ended well \($0.text)\n\n" } ?? "") + table.text(empty: empty)
        + doubts.joined()
    } json: { writer in
      health?.writeFailing(to: &writer)
      try writer.list("entries", entries) { try $1.writeMembers(to: &$0, in: session.store) }
      guard health != nil else { return }
      writer.list("unanswered", unanswered) { writer, entry in
        writer.members(entry.id)
        writer.member("change", entry.change.rawValue)
      }
    }
  }
}
