import BothyProtocol

/// The decision of the server about one change.
public enum Verdict: Sendable, Hashable {
  /// The server has the change as it was written, at this version; empty for a deletion.
  case accepted(version: String)
  /// The server has a merge of the change and a newer remote version.
  case merged(version: String)
  /// The remote version was kept, or stayed deleted if the version is empty. The journal has the replaced content.
  case replaced(version: String)
  /// The server rejected the change. The outbox has it, unless the rejection policy or a decision undid it.
  case rejected(Rejection)

  /// The verdict of an outcome, or `nil` if the server decided nothing.
  init?(_ outcome: SaveOutcome) {
    switch outcome {
    case .accepted(let version): self = .accepted(version: version)
    case .merged(let version): self = .merged(version: version)
    case .overwritten(let version): self = .replaced(version: version)
    case .rejected(let rejection): self = .rejected(rejection)
    case .pending, .draft, .withdrawn, .expired, .unknown: return nil
    }
  }

  func origin<Value>(isPending: Bool) -> SaveResult<Value>.Origin {
    if isPending { return .local }
    switch self {
    case .rejected: return .local
    case .merged: return .merged
    case .accepted, .replaced: return .remote
    }
  }
}
