import BothyStore

/// Settles accepted operations whose changes have ended here before the answer came: a purge, a decision or another
/// process has removed them.
extension PushResultApplier {
  /// Requests the record, which the pages of the operation's own request leave out. Does nothing if the row or a pending
  /// change shows this version already. A doubt about the operation ends, and that of a deletion with its delete rules.
  func settle(ended operation: SyncOperation, _ version: String, _ record: ServerRecord?) throws {
    let id = operation.record
    // A change on top of one that is pending is in doubt, and is sent again after that.
    let isLater = try OutboxQueue.later(of: id, in: transaction).contains { $0.operationID == operation.id }
    if isLater { return }
    let table = try transaction.catalog.table(id.type)
    let row = try transaction.row(table, id: id.id)
    if let doubt = try OutboxQueue.doubt(about: id, in: transaction), doubt.operationID == operation.id {
      let shown = operation.kind == .delete ? "" : version
      try Journal.note(
        doubt, .accepted, .online, version: shown, at: clock.correctedNow(), in: transaction)
      try OutboxQueue.endDoubt(id, isMade: true, in: transaction)
      if operation.kind == .delete, let known = row?.version, !known.isNewer(than: version) {
        try AudienceTable.set(.nobody, of: id, in: transaction)
        return try transaction.forget(table, id: id.id)
      }
    }
    let entry = try OutboxQueue.entry(id, in: transaction)
    if operation.kind == .delete && row == nil && entry == nil { return }
    let known = [row?.version, entry?.base?.version, entry?.remoteVersion?.version].compactMap { $0 }
    if known.contains(where: { $0 == version || $0.isNewer(than: version) }) { return }
    let marked = try Refetch.container(of: id, in: transaction)
    let scopes = try PullState.scopes(in: transaction)
    func isFollowed(_ place: String) -> Bool { scopes.contains { $0.contains(place) } }
    let places = [
      record?.container, operation.container, row.map { $0.container ?? id.type }, entry?.container, marked,
    ].compactMap(\.self)
    // A record that the operation moved out of sight is requested where it is shown, so that it goes.
    let place = places.first(where: isFollowed) ?? places.first ?? id.type
    let isKept = row != nil || entry != nil || isFollowed(place)
    if isKept { try Refetch.mark(id, in: place, in: transaction) }
  }
}
