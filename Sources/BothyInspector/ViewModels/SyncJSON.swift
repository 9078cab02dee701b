import BothyStore
package import BothySync

// The JSON of a store's state, its syncs and its pending changes, for the page and the tool.

extension Outbox.Counts {
  /// Writes `insert, update, delete`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("insert", insert)
    writer.member("update", update)
    writer.member("delete", delete)
  }
}

extension BlobStorage.Backlog {
  /// Writes `waiting, bytes, sent`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("waiting", count)
    writer.member("bytes", bytes)
    writer.member("sent", sent)
  }
}

extension StoreSubscriptions.ScopeStatus {
  /// Writes `container, children, cursor, complete, pulledAt`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("container", scope.container)
    writer.member("children", scope.includesChildren)
    writer.member("cursor", cursor)
    writer.member("complete", isComplete)
    writer.member("pulledAt", pulledAt)
  }
}

extension LeaseHolder {
  /// Writes `process, until`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("process", Int(process))
    writer.member("until", end)
  }
}

/// Past syncs.
extension StoreMaintenance.SyncRun {
  /// Writes `began, ended, process, pushed, pulled, uploadedBlobs, rejected, requests, count, problem`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("began", began)
    writer.member("ended", ended)
    writer.member("process", Int(process))
    writer.member("pushed", pushed)
    writer.member("pulled", pulled)
    writer.member("uploadedBlobs", uploadedBlobs)
    writer.member("rejected", rejected)
    writer.member("requests", requests)
    writer.member("count", count)
    writer.object("problem", problem) { $1.writeMembers(to: &$0) }
  }
}

extension SyncHealth {
  /// Writes `lastEndedWell, failing`, the latter null or `reason, message, remedy, since, last, count`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("lastEndedWell", lastEndedWell)
    writeFailing(to: &writer)
  }

  /// Writes `failing` alone.
  package func writeFailing(to writer: inout JSONWriter) {
    writer.object("failing", failing) { writer, failing in
      failing.reason.writeMembers(to: &writer)
      writer.member("since", failing.since)
      writer.member("last", failing.last)
      writer.member("count", failing.count)
    }
  }
}

extension SyncStop {
  /// Writes `reason, message, remedy`.
  fileprivate func writeMembers(to writer: inout JSONWriter) {
    writer.member("reason", name)
    writer.member("message", sentence)
    writer.member("remedy", remedy)
  }
}

extension SyncReport {
  /// Writes `synced, failures, overwritten, blocked, lost, givenBack, unreadable, pulled, pushed` and
  /// `uploadedBlobs, requests, repaired, skipped`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.list("synced", synced) { writer, item in
      writer.members(item.record)
      writer.member("action", item.action.name)
    }
    writer.list("failures", rejected) { writer, failure in
      writer.members(failure.record)
      writer.member("operation", failure.operation.rawValue)
      writer.member("code", failure.code)
      writer.member("message", failure.message)
      writer.member("attempts", failure.attempts)
    }
    writer.list("overwritten", overwritten) { writer, item in
      writer.members(item.record)
      writer.key("fields")
      if let fields = item.fields { writer.raw(fields.bytes) } else { writer.null() }
    }
    writer.list("blocked", blocked) { writer, item in
      writer.members(item.record)
      writer.object("by") { $0.members(item.by) }
    }
    writer.list("lost", lost) { writer, id in writer.members(id) }
    writer.list("givenBack", givenBack) { writer, id in writer.members(id) }
    writer.list("unreadable", unreadable) { writer, item in
      writer.members(item.record)
      writer.member("version", item.version)
      writer.member("container", item.container)
      writer.member("reason", item.reason)
    }
    writer.member("pulled", pulled)
    writer.member("pushed", pushed)
    writer.member("uploadedBlobs", uploadedBlobs)
    writer.member("requests", requests)
    writer.member("repaired", repaired)
    writer.member("skipped", stop?.name)
  }
}

extension SyncReport.Record.Action {
  /// The word for documents.
  fileprivate var name: String { "\(self)" }
}

extension JournalEntry {
  /// Writes `number, type, id, change, verdict, cause, policy, why, version, reason, decided, replaced, restored,
  /// restorable, lost, lostFields, container, gone`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("number", number)
    writer.members(record)
    writer.member("change", change.rawValue)
    writer.member("verdict", word)
    writer.member("cause", cause.name)
    writer.member("policy", policy)
    writer.member("why", sentence)
    writer.member("final", isFinal)
    switch outcome {
    case .accepted(let version), .merged(let version), .overwritten(let version):
      writer.member("version", version)
    case .rejected(let reason):
      writer.object("reason") { writer in
        writer.member("code", reason.code)
        writer.member("message", reason.message)
      }
    case .pending, .draft, .withdrawn, .expired, .unknown: break
    }
    writer.member("decided", decided)
    writer.member("replaced", replaced)
    writer.member("restored", restored)
    writer.member("restorable", isRestorable)
    writer.member("undoneDeletion", isUndoneDeletion)
    writer.member("gone", isGone)
    writer.member("container", lostContainer)
    writer.key("lost")
    if let lost { writer.raw(lost.bytes) } else { writer.null() }
    writer.list("lostFields", lostFields) { writer, field in
      writer.member("field", field.name)
      writer.member("base", field.base)
      writer.member("local", field.local)
      writer.member("now", field.now)
    }
  }
}

/// Pending work.
extension Outbox.Entry {
  /// The word for the entry's state.
  package var stateName: String {
    switch stage {
    case .pending: "pending"
    case .held: "draft"
    case .quarantined: "quarantined"
    }
  }

  /// Writes `type, id, kind, revision, edited, state, attempts, retryAt, reason, waitsFor, fields`. The `fields` are
  /// those that differ from what the server last reported. Costs some look-ups.
  package func writeMembers(to writer: inout JSONWriter, in store: SyncedStore) throws {
    let waiting = try store.waitingReasons(for: [self]).first ?? .nextSync
    writer.members(id)
    writer.member("kind", change.rawValue)
    writer.member("revision", revision)
    writer.member("edited", editedTime)
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
    let type = store.store.schema[id.type]
    let fields = try changedFields(in: store).map { name, value in
      (name, type?[name]?.written(json: value) ?? value)
    }
    writer.member("fields", .object(Dictionary(uniqueKeysWithValues: fields)))
  }

  /// Returns the fields that differ from what the server last reported, with null for cleared ones. Empty for a
  /// deletion.
  package func changedFields(in store: SyncedStore) throws -> [String: JSONValue] {
    guard change != .delete, let current = try store.store.record(id) else { return [:] }
    let base = try self.base?.fields.members() ?? [:]
    var changed: [String: JSONValue] = [:]
    for (name, value) in current.fields {
      let json = value.json
      if base[name] != json { changed[name] = json }
    }
    for name in base.keys where current[name].isNull && store.store.schema[id.type]?[name] != nil {
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
