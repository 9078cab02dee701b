import BothyStore

/// The JSON form of a store's sync status.
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
