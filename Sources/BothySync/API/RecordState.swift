public import BothyStore

/// The sync state of a record.
public enum RecordState: Sendable, Hashable {
  /// Nothing is pending. Also the state of a record that isn't on this device.
  case synced
  /// The next sync sends the change.
  case pending(ChangeKind)
  /// Not sent before `release`.
  case draft
  /// Rejected, and sent again later.
  case rejected(Rejection)
  /// Rejected too often. Waits for a decision.
  case quarantined(Rejection?)
  /// Not sent, because another record written together with it is rejected.
  case blocked(by: RecordID)

  /// The name for reports.
  public var name: String {
    switch self {
    case .synced: "synced"
    case .pending: "pending"
    case .draft: "draft"
    case .rejected: "rejected"
    case .quarantined: "quarantined"
    case .blocked: "blocked"
    }
  }
}

extension OutboxQueue {
  /// Returns the sync state of a record. One look-up, and another for the changes written together with it. A record
  /// whose last change is held back is a draft.
  static func state(of id: RecordID, in transaction: ReadTransaction) throws -> RecordState {
    guard let entry = try entry(id, in: transaction) else { return .synced }
    if entry.isBeneath, try isHeld(id, in: transaction) { return .draft }
    switch (entry.state, entry.reason) {
    case (.held, _): return .draft
    case (.quarantined, let reason): return .quarantined(reason)
    case (.pending, let reason?): return .rejected(reason)
    case (.pending, nil):
      if let other = try refusedMember(with: entry, in: transaction) { return .blocked(by: other.record) }
      return .pending(entry.kind)
    }
  }
}
