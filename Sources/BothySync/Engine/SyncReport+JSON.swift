import BothyStore

/// The JSON form of a sync report.
extension SyncReport {
  /// Writes `synced, failures, overwritten, blocked, lost, givenBack, unreadable, pulled, pushed` and
  /// `uploadedBlobs, requests, repaired, skipped`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.list("synced", synced) { writer, item in
      writer.members(item.record)
      writer.member("action", item.action.name)
    }
    writer.list("failures", failures) { writer, failure in
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
  package var name: String { "\(self)" }
}
