import BothyStore

/// Pending work as JSON, for tools that show it.
extension Outbox.Entry {
  /// The word for the entry's state.
  package var stateName: String {
    switch state {
    case .pending: "pending"
    case .held: "draft"
    case .quarantined: "quarantined"
    }
  }

  /// Writes `type, id, kind, revision, edited, state, attempts, retryAt, reason, waitsFor, fields`. The `fields` are
  /// those that differ from what the server last reported. Costs some look-ups.
  package func writeMembers(to writer: inout JSONWriter, in store: SyncedStore) throws {
    let waiting = try store.waitingReasons(for: [self]).first ?? .nextSync
    writer.members(record)
    writer.member("kind", kind.rawValue)
    writer.member("revision", revision)
    writer.member("edited", edited)
    writer.member("state", stateName)
    writer.member("attempts", attempts)
    writer.member("retryAt", retryAt == 0 ? nil : retryAt)
    writer.object("reason", reason) { Self.write($1, to: &$0) }
    writer.object("waitsFor") { writer in
      writer.member("what", waiting.name)
      if let record = waiting.record { writer.object("record") { $0.members(record) } }
      if case .retry(let time) = waiting { writer.member("until", time) }
      if case .blobs(let count) = waiting { writer.member("blobs", count) }
    }
    writer.member("fields", .object(try changedFields(in: store)))
  }

  /// Returns the fields that differ from what the server last reported, with null for cleared ones. Empty for a
  /// deletion.
  package func changedFields(in store: SyncedStore) throws -> [String: JSONValue] {
    guard kind != .delete, let current = try store.store.record(record) else { return [:] }
    let base = try self.base?.fields.members() ?? [:]
    var changed: [String: JSONValue] = [:]
    for (name, value) in current.fields {
      let json = value.json
      if base[name] != json { changed[name] = json }
    }
    for name in base.keys where current[name].isNull && store.store.schema[record.type]?[name] != nil {
      changed[name] = .null
    }
    return changed
  }

  /// Writes all members, empty ones as well.
  private static func write(_ reason: Rejection, to writer: inout JSONWriter) {
    writer.member("code", reason.code)
    writer.member("message", reason.message)
    writer.list("fields", reason.fields) { writer, field in
      writer.member("field", field.field)
      writer.member("code", field.code)
      writer.member("message", field.message)
    }
  }
}
