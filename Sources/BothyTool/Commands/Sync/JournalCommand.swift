import ArgumentParser
import BothyInspector
import BothyStore
import BothySync

/// `bothy journal`: shows decisions about local writes, and their lost content.
struct JournalCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "journal",
    abstract: "Prints what became of local writes and what they lost; `restore` brings that back.",
    discussion: """
      Example:  bothy journal show notes.bothy --lost
                bothy journal notes.bothy --record Note/0197f3c2-…
                bothy journal restore notes.bothy 42
      """,
    subcommands: [JournalShowCommand.self, JournalRestoreCommand.self],
    defaultSubcommand: JournalShowCommand.self)
}

/// `bothy journal show`, which is also the default command.
struct JournalShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Prints the newest decisions about local writes, the newest first.")

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("Only decisions about this record.", valueName: "type/id")) var record: String?
  @Flag(help: "Only decisions that took content of this device, or undid a deletion.") var lost = false
  @Option(help: ArgumentHelp("The most decisions to print.", valueName: "n")) var limit = 50
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if let record, Self.parsed(record) == nil {
      throw ValidationError("'\(record)' names no record. Write it like Note/0197f3c2-….")
    }
    if limit < 1 { throw ValidationError("--limit needs a number from 1 on.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let record = record.flatMap(Self.parsed)
      if let record { _ = try session.type(record.type) }
      let entries = try session.store.journal.entries(of: record, losing: lost, limit: limit)
      try output.print {
        let texts = entries.map { $0.text(session.store.store.schema[$0.record.type]) }
        return texts.isEmpty ? "The journal has nothing of this." : texts.joined(separator: "\n")
      } json: { writer in
        writer.list("entries", entries) { $1.writeMembers(to: &$0) }
      }
    }
  }

  /// Parses an id. Ids may have slashes, types can't.
  private static func parsed(_ text: String) -> RecordID? {
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    return parts.count == 2 ? RecordID(type: parts[0], id: parts[1]) : nil
  }
}

/// `bothy journal restore`: restores the content that a decision replaced.
struct JournalRestoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Brings back what a decision took, as a new change that the next sync sends.",
    discussion: "Example:  bothy journal restore notes.bothy 42")

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The decision's number, which `bothy journal` prints.") var number: Int64
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let receipt = try await session.store.journal.restore(number)
      let state = try session.store.state(of: receipt.record).name
      try output.print {
        "\(receipt.record) has what it lost, and is \(state)."
      } json: { writer in
        writer.members(receipt.record)
        writer.member("number", number)
        writer.member("state", state)
      }
    }
  }
}

extension JournalEntry {
  /// The decision on one line, and a line for each field that it replaced.
  fileprivate func text(_ type: TypeSchema?) -> String {
    let time = Timestamp(milliseconds: decided).rfc3339
    let reason = if case .rejected(let reason) = outcome { " \(reason.message)" } else { "" }
    var lines = ["\(number)  \(time)  \(record)  \(change.rawValue) \(word): \(sentence)\(reason)"]
    let when = replaced.map { " (written at \(Timestamp(milliseconds: $0).rfc3339))" } ?? ""
    lines += lostFields.map { field in
      let schema = type?[field.name]
      func text(_ value: JSONValue) -> String { (schema?.written(json: value) ?? value).canonicalText }
      let now = isGone ? "the record is gone" : "is \(text(field.now)) now\(when)"
      return "    \(field.name) was \(text(field.local)), \(now)"
    }
    if let restored { lines.append("    restored at \(Timestamp(milliseconds: restored).rfc3339)") }
    return lines.joined(separator: "\n")
  }
}
