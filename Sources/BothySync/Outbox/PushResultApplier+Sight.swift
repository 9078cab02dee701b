import BothyStore

/// Handles records that leave the scopes of this device by the server's answers, and those that return.
extension PushResultApplier {
  /// True if the verdict shows that the record is visible, in a scope that this device pulls.
  func isInSight(
    _ verdict: Outcome.Verdict, _ operation: SyncOperation, _ entry: Outbox.Entry
  ) throws -> Bool {
    let container: String
    switch verdict {
    case .applied(_, _, let record), .duplicate(_, _, let record):
      container = record?.container ?? operation.container ?? entry.container ?? entry.record.type
    case .conflict(let current?) where !current.isDeleted: container = current.container
    case .conflict, .rejected, .waiting: return false
    }
    return try PullState.scopes(in: transaction).contains { $0.contains(container) }
  }

  /// True if an operation moved the record out of all scopes that this device pulls, or a conflict shows that others
  /// did.
  func isMovedAway(
    _ operation: SyncOperation, _ verdict: Outcome.Verdict, _ entry: Outbox.Entry
  ) throws -> Bool {
    var destination = operation.kind == .update ? operation.container : nil
    if case .conflict(let current?) = verdict { destination = current.isDeleted ? nil : current.container }
    guard let container = destination else { return false }
    let scopes = try PullState.scopes(in: transaction)
    return scopes.contains { $0.contains(entry.container ?? entry.record.type) }
      && !scopes.contains { $0.contains(container) }
  }

  /// Evicts the record. If changes of it are still pending, it is evicted when they are settled.
  func letGo(_ id: RecordID, _ table: TypeTable) throws {
    guard let left = try OutboxQueue.entry(id, in: transaction) else {
      try transaction.evict(table, id: id.id)
      return
    }
    let here = try OutboxQueue.local(left, table, in: transaction)
    let isMoved = here.map { left.destination($0.container) != nil } ?? false
    if !isMoved { try OutboxQueue.leave(id, in: transaction) }
  }
}
