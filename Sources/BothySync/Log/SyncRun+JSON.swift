import BothyStore

/// The JSON form of past syncs.
extension StoreMaintenance.SyncRun {
  /// Writes `began, ended, process, pushed, pulled, uploadedBlobs, refused, requests, count, problem`.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("began", began)
    writer.member("ended", ended)
    writer.member("process", Int(process))
    writer.member("pushed", pushed)
    writer.member("pulled", pulled)
    writer.member("uploadedBlobs", uploadedBlobs)
    writer.member("refused", refused)
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
