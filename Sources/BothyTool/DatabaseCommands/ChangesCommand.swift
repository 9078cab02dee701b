import ArgumentParser
import BothyStore
import BothySync

/// `bothy db changes`: what changed on the server, in the order it did.
struct ChangesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "changes",
    abstract: "Prints a page of the server's changes; what is pending here when it can't be reached.",
    discussion: """
      Changes nothing here. Go on after a page with the cursor it ends with.

      Example:  bothy db changes notes.bothy --container Note --limit 20
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("Only this container and those below it.", valueName: "path")) var container:
    String?
  @Option(help: ArgumentHelp("Start after this place.", valueName: "text")) var cursor: String?
  @Option(help: ArgumentHelp("At most so many changes.", valueName: "n")) var limit = 100
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      do {
        try show(try await page(session))
      } catch let error as RemoteError where error.errorClass == .unreachable && cursor == nil {
        if session.address != nil { Standard.note("\(error.message) What is pending here:") }
        try showPending(session)
      }
    }
  }

  private func page(_ session: Session) async throws(RemoteError) -> SyncResponse.Page {
    let scope = container.map { PullScope(container: $0, includesChildren: true) } ?? .space
    let request = SyncRequest(
      device: session.store.device, schemaVersion: session.store.store.schema.version,
      pulls: [SyncRequest.Pull(scope, cursor: cursor)], limit: limit)
    let response = try await session.remote.exchange(request)
    guard let page = response.pages.first else { throw RemoteError(.serverError, "The server sent no page.") }
    return page
  }

  private func show(_ page: SyncResponse.Page) throws {
    try output.print {
      var table = TextTable(["version", "type", "id", "what"])
      for change in page.changes {
        table.add([change.version, change.id.type, change.id.id, change.isDeleted ? "deleted" : "changed"])
      }
      return table.text(empty: "No changes.") + "\nGo on with --cursor \(page.cursor)"
    } json: { writer in
      writer.key("changes")
      writer.beginArray()
      for change in page.changes { change.write(to: &writer) }
      writer.endArray()
      writer.member("cursor", page.cursor)
      writer.member("more", page.more)
      writer.member("reset", page.reset)
      writer.member("origin", "network")
    }
  }

  private func showPending(_ session: Session) throws {
    let entries = try session.store.outbox().filter { entry in
      try container.map { try session.isIn($0, entry) } ?? true
    }
    try output.print {
      var table = TextTable(["kind", "type", "id"])
      for entry in entries { table.add([entry.kind.rawValue, entry.record.type, entry.record.id]) }
      return table.text(empty: "Nothing is pending.")
    } json: { writer in
      writer.list("changes", entries) { writer, entry in
        writer.members(entry.record)
        writer.member("kind", entry.kind.rawValue)
      }
      writer.member("cursor", String?.none)
      writer.member("more", false)
      writer.member("reset", false)
      writer.member("origin", "cache")
    }
  }
}

extension Session {
  fileprivate func isIn(_ container: String, _ entry: OutboxEntry) throws -> Bool {
    let own = try store.store.record(entry.record)?.container ?? entry.record.type
    return PullScope(container: container, includesChildren: true).contains(own)
  }
}
