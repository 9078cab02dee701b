import ArgumentParser
import BothyStore
import BothySync

/// `bothy db changes`: lists the server's changes in order.
struct ChangesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "changes",
    abstract: "Prints a page of the server's changes; the pending ones here when it can't be reached.",
    discussion: """
      Changes nothing here. Go on after a page with the cursor it ends with. With
      --history it says who changed what and when, newest first; go on with --before.

      Example:  bothy db changes notes.bothy --container Note --limit 20
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(help: ArgumentHelp("Only this container and those below it.", valueName: "path")) var container:
    String?
  @Option(help: ArgumentHelp("Start after this place.", valueName: "text")) var cursor: String?
  @Option(help: ArgumentHelp("The most changes to print.", valueName: "n")) var limit = 100
  @Flag(help: "Who changed which fields and when, newest first.") var history = false
  @Option(help: ArgumentHelp("With --history: only changes before this place.", valueName: "n")) var before:
    Int64?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is at least 1.") }
    guard history || before == nil else { throw ValidationError("--before goes with --history.") }
    guard !history || cursor == nil else { throw ValidationError("--cursor does not go with --history.") }
  }

  func run() async throws {
    try await Session.with(database) { session in
      if history { return try await showHistory(session) }
      do {
        try show(try await page(session))
      } catch let error as RemoteError where error.errorClass == .unreachable && cursor == nil {
        if session.address != nil { StandardStreams.note("\(error.message) Pending here:") }
        try showPending(session)
      }
    }
  }

  private func showHistory(_ session: Session) async throws {
    try session.requireServer()
    let scope = container.map { SyncScope(container: $0, includesChildren: true) } ?? .everything
    let page = try await session.store.maintenance.history(of: scope, before: before, limit: limit)
    try output.print {
      var table = TextTable(["position", "when", "who", "what", "type", "id", "fields"], whole: ["id"])
      for entry in page.entries {
        var fields = entry.fields.joined(separator: ", ")
        if let from = entry.movedFrom {
          fields += (fields.isEmpty ? "" : "; ") + "from \(from) to \(entry.container)"
        }
        table.add([
          "\(entry.position)", Timestamp(milliseconds: entry.time).rfc3339, entry.user ?? "-",
          entry.kind.rawValue, entry.record.type, entry.record.id, fields,
        ])
      }
      let more = page.next.map { "\nGo on with --before \($0)" } ?? ""
      return table.text(empty: "No changes are remembered.") + more
    } json: {
      page.writeMembers(to: &$0)
    }
  }

  private func page(_ session: Session) async throws(RemoteError) -> SyncResponse.Page {
    let scope = container.map { SyncScope(container: $0, includesChildren: true) } ?? .everything
    let request = SyncRequest(
      device: session.store.device, schemaVersion: session.store.store.schema.version,
      pulls: [SyncRequest.Pull(scope, cursor: cursor)], limit: limit)
    let response = try await session.remote.exchange(request)
    guard let page = response.pages.first else { throw RemoteError(.serverError, "The server sent no page.") }
    return page
  }

  private func show(_ page: SyncResponse.Page) throws {
    try output.print {
      var table = TextTable(["version", "type", "id", "what"], whole: ["id"])
      for change in page.changes {
        table.add([change.version, change.id.type, change.id.id, change.isDeleted ? "deleted" : "changed"])
      }
      return table.text(empty: "No changes.") + "\nGo on with --cursor \(page.cursor)"
    } json: { writer in
      writer.array("changes", page.changes) { $1.write(to: &$0) }
      writer.member("cursor", page.cursor)
      writer.member("more", page.more)
      writer.member("reset", page.reset)
      writer.member("origin", "remote")
    }
  }

  private func showPending(_ session: Session) throws {
    let entries = try session.store.outboxEntries().filter { entry in
      try container.map { try session.isIn($0, entry) } ?? true
    }
    try output.print {
      var table = TextTable(["kind", "type", "id"], whole: ["id"])
      for entry in entries { table.add([entry.change.rawValue, entry.id.type, entry.id.id]) }
      return table.text(empty: "Nothing is pending.")
    } json: { writer in
      writer.list("changes", entries) { writer, entry in
        writer.members(entry.id)
        writer.member("kind", entry.change.rawValue)
      }
      writer.member("cursor", String?.none)
      writer.member("more", false)
      writer.member("reset", false)
      writer.member("origin", "local")
    }
  }
}

extension Session {
  fileprivate func isIn(_ container: String, _ entry: Outbox.Entry) throws -> Bool {
    let own = try store.store.record(entry.id)?.container ?? entry.id.type
    return SyncScope(container: container, includesChildren: true).contains(own)
  }
}
