/// The outcome of one operation on the server.
public struct Outcome: Sendable, Hashable {
  /// The id that the operation was sent with.
  package var operation: String
  /// The server's verdict on the change.
  package var verdict: Verdict

  /// Makes the answer to an operation, for servers.
  public init(operation: String, _ verdict: Verdict) {
    self.operation = operation
    self.verdict = verdict
  }

  /// The server's decision about one operation.
  public enum Verdict: Sendable, Hashable {
    /// The change is made. `record` has a value only if the server has other fields than were sent.
    case applied(version: String, modified: Int64, record: ServerRecord?)
    /// An earlier sending of the operation was applied with this result. `record` has no value if it has changed since.
    case duplicate(version: String, modified: Int64, record: ServerRecord?)
    /// The record has changed since the base. `current` is the server's version, a tombstone, or `nil` if the server
    /// has neither.
    case conflict(current: ServerRecord?)
    /// The server does not accept the change, and won't accept it unchanged.
    case rejected(Rejection)
    /// The operation waits, because the operation `on` was not applied. This one refers to its record or belongs to its
    /// group.
    case waiting(on: String)
  }
}

extension Outcome.Verdict {
  /// The reason of a rejection, or `nil` for other verdicts.
  package var rejection: Rejection? { if case .rejected(let rejection) = self { rejection } else { nil } }

  /// The server's version in a conflict.
  package var current: ServerRecord? { if case .conflict(let current) = self { current } else { nil } }
}

extension Outcome.Verdict {
  /// True if the server has made the change, now or at an earlier sending.
  package var isApplied: Bool {
    switch self {
    case .applied, .duplicate: true
    case .conflict, .rejected, .waiting: false
    }
  }

  /// True if the record had changed since the operation's base.
  package var isConflict: Bool { if case .conflict = self { true } else { false } }
}
