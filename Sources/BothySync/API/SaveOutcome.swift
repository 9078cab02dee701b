import BothyProtocol

/// The outcome of a write, as far as it is known.
package enum SaveOutcome: Sendable, Hashable {
  /// Durable here; the server does not have it yet.
  case pending
  /// Not sent before the app releases it.
  case draft
  /// The server has it as it was written, at this version. Empty for a deletion.
  case accepted(version: String)
  /// The server has a merge of it with what others wrote, at this version.
  case merged(version: String)
  /// The server kept its own version, which is empty if it has no such record. The journal has the replaced content.
  case overwritten(version: String)
  /// The server rejected it.
  case rejected(Rejection)
  /// It was undone here before the server decided. The journal has the cause.
  case withdrawn
  /// The journal no longer has the decision.
  case expired
  /// The file has nothing about it, or no answer came and the server may have made it.
  case unknown
}

extension SaveOutcome {
  /// True if the server has decided, and the write isn't pending.
  var isDecided: Bool {
    switch self {
    case .accepted, .merged, .overwritten: true
    case .pending, .draft, .rejected, .withdrawn, .expired, .unknown: false
    }
  }

  /// The outcome by the reason of a waiting entry. `nil` without a reason, and if the server failed, because it decided
  /// nothing then.
  init?(refusedBy reason: Rejection?) {
    guard let reason, !reason.leavesDoubt else { return nil }
    self = .rejected(reason)
  }
}
