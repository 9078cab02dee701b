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
      try writer.list("entries", entries) { try $1.write(to: &$0, in: session.store) }
    }
  }
}

extension OutboxEntry {
  fileprivate var stateName: String {
    switch state {
    case .pending: "pending"
    case .held: "draft"
    case .quarantined: "quarantined"
    }
  }

  fileprivate func write(to writer: inout JSONWriter, in store: SyncedStore) throws {
    writer.members(record)
    writer.member("kind", kind.rawValue)
    writer.member("revision", revision)
    writer.member("edited", edited)
    writer.member("state", stateName)
    writer.member("attempts", attempts)
    writer.member("retryAt", retryAt == 0 ? nil : retryAt)
    writer.key("reason")
    if let reason { writer.object { reason.writeMembers(to: &$0) } } else { writer.null() }
    writer.member("fields", .object(try changedFields(in: store)))
  }

  /// What differs from what the server last told: new values, null for cleared ones. Nothing for a deletion.
  private func changedFields(in store: SyncedStore) throws -> [String: JSONValue] {
    guard kind != .delete, let current = try store.store.record(record) else { return [:] }
    let base = try self.base?.fields.members() ?? [:]
    var changed: [String: JSONValue] = [:]
    for (name, value) in current.fields {
      let json = try JSONValue(parsing: value.jsonText)
      if base[name] != json { changed[name] = json }
    }
    for name in base.keys where current[name].isNull && store.store.schema[record.type]?[name] != nil {
      changed[name] = .null
    }
    return changed
  }
}

extension Rejection {
  fileprivate func writeMembers(to writer: inout JSONWriter) {
    writer.member("code", code)
    writer.member("message", message)
    writer.list("fields", fields) { writer, field in
      writer.member("field", field.field)
      writer.member("code", field.code)
      writer.member("message", field.message)
    }
  }
}
