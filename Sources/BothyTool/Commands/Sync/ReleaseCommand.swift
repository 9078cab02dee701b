import ArgumentParser
import BothyServer
import BothyStore
import BothySync

/// `bothy release`: lets one draft be sent, or all of them.
struct ReleaseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "release",
    abstract: "Lets a draft, or all of them, be sent by the next sync.",
    discussion: """
      A draft is made by `bothy db put --draft`, and `bothy outbox` shows it. All
      drafts of the record are released. Fails with status 1 when the record has
      none.

      Example:  bothy release notes.bothy Note 0197f3c2-…
                bothy release notes.bothy --all
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the record.") var type: String?
  @Argument(help: "The id of the record.") var id: String?
  @Flag(help: "Release all drafts of the database.") var all = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard all ? type == nil : id != nil else {
      throw ValidationError("Give the type and id of a draft, or --all.")
    }
  }

  func run() async throws {
    try await Session.with(database) { session in
      let released = try release(in: session)
      try output.print {
        switch released.count {
        case 0: "There are no drafts."
        case 1: "Released \(released[0]); the next sync sends it."
        default: "Released \(released.count) drafts; the next sync sends them."
        }
      } json: { writer in
        writer.list("released", released) { $0.members($1) }
      }
    }
  }

  private func release(in session: Session) throws -> [RecordID] {
    guard let type, let id else { return try session.store.releaseDrafts() }
    _ = try session.type(type)
    let record = RecordID(type: type, id: id)
    let released = try session.store.release([record])
    guard released.isEmpty else { return released }
    throw ToolError("\(record) is not a draft. `bothy outbox` shows which records are.")
  }
}

extension Session {
  /// The sentence about a draft, with its remedy.
  func hint(ofDraft record: RecordID) -> String {
    let words = [store.store.path, record.type, record.id].map(OperatorReports.quoted)
    return "A draft is not sent before it is released: bothy release \(words.joined(separator: " "))"
  }
}
