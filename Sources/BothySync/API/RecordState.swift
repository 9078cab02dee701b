import BothyProtocol
import BothyStore

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
  case quarantined(Rejection)
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

extension RecordState {
  /// The state right after a write of `kind` with this outcome.
  init(_ outcome: SaveOutcome, _ kind: ChangeKind) {
    switch outcome {
    case .pending: self = .pending(kind)
    case .draft: self = .draft
    case .rejected(let rejection): self = .rejected(rejection)
    case .accepted, .merged, .overwritten, .withdrawn, .expired, .unknown: self = .synced
    }
  }
}
