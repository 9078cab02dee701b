import BothyStore
import BothySync

/// A sync report as JSON and as text.
extension SyncReport {
  /// Writes `synced, failures, overwritten, blocked, pulled, pushed, uploadedBlobs, requests, skipped`.
  func writeMembers(to writer: inout JSONWriter) {
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
    writer.member("pulled", pulled)
    writer.member("pushed", pushed)
    writer.member("uploadedBlobs", uploadedBlobs)
    writer.member("requests", requests)
    writer.member("repaired", repaired)
    writer.member("skipped", skipped?.name)
  }

  /// What was done in a line, what needs attention in a line each.
  var text: String {
    var lines = ["Sent \(pushed), received \(pulled), \(requests) request\(requests == 1 ? "" : "s")."]
    if uploadedBlobs > 0 { lines.append("Uploaded \(uploadedBlobs) blob\(uploadedBlobs == 1 ? "" : "s").") }
    lines += failures.map { "Refused: \($0.operation.rawValue) of \($0.record): \($0.message)" }
    lines += overwritten.map { "Overwritten by the server: \($0.record)" }
    lines += blocked.map { "Held back: \($0.record) waits for \($0.by)" }
    if let skipped { lines.append("Not finished: \(skipped.name).") }
    return lines.joined(separator: "\n")
  }
}

extension SyncedRecord.Action {
  var name: String {
    switch self {
    case .insertedOnServer: "insertedOnServer"
    case .updatedOnServer: "updatedOnServer"
    case .deletedFromServer: "deletedFromServer"
    case .updatedCache: "updatedCache"
    case .removedFromCache: "removedFromCache"
    case .alreadyDeleted: "alreadyDeleted"
    }
  }
}

extension SkipReason {
  /// What happened and what to do.
  var message: String {
    switch self {
    case .unreachable(let message): "\(message) \(Reason.network)"
    case .authenticationRequired(let message): "\(message) \(Reason.authentication)"
    case .throttled(let message): "\(message) Try again later."
    case .serverError(let message): "\(message) Look at the server's log."
    case .refused(_, let message): message
    case .alreadyRunning: "A sync is running already."
    case .paused, .expensiveNetwork, .constrainedNetwork, .lowPower, .signedOut: SyncError(self).message
    case .updateRequired(let message): message
    case .cancelled: "It was cancelled."
    }
  }
}
