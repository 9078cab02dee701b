public import BothyStore

/// What became of one operation on the server.
public struct Outcome: Sendable, Hashable {
  /// The id that the operation was sent with.
  public var operation: String
  /// Whether the change is made, and what the server has otherwise.
  public var verdict: Verdict

  /// What servers answer an operation with.
  public init(operation: String, _ verdict: Verdict) {
    self.operation = operation
    self.verdict = verdict
  }

  /// What the server decided about an operation.
  public enum Verdict: Sendable, Hashable {
    /// The change is made. `record` is there only when the server has other fields than were sent.
    case applied(version: String, modified: Int64, record: ServerRecord?)
    /// An earlier sending of the same operation was applied with this result.
    case duplicate(version: String, modified: Int64, record: ServerRecord?)
    /// The record has changed since the base. `current` is what the server has, a tombstone or nil when it has
    /// none.
    case conflict(current: ServerRecord?)
    /// The server does not accept the change, and will not if it is sent again as it is.
    case rejected(Rejection)
    /// Not applied, because the operation `on` was not: it makes what this one refers to, or belongs to the same
    /// group.
    case waiting(on: String)
  }
}

/// Why the server refused an operation.
public struct Rejection: Sendable, Hashable, Codable {
  /// The code of operations whose group did not come whole; none of it was applied.
  package static let incompleteGroup = "incompleteGroup"
  /// The code of operations on which the server failed inside.
  package static let serverError = "serverError"
  /// The code of a change that gives a unique field a value that another record has.
  package static let uniqueViolation = "uniqueViolation"

  /// Whether the operation may have been applied all the same: only the same one can be sent again.
  package var leavesDoubt: Bool { code == Self.serverError }

  /// A word to branch on: `forbidden`, `invalid`, `unknownType`, `unknownReference`, `uniqueViolation`, …
  public var code: String
  /// A sentence for people.
  public var message: String
  /// What is wrong with which field.
  public var fields: [FieldError]

  /// What is wrong with one field.
  public struct FieldError: Sendable, Hashable, Codable {
    /// The field's name; `sharing` and the like where it is no field that is wrong.
    public var field: String
    /// A word to branch on, as that of the rejection.
    public var code: String
    /// A sentence for people, to show at the field.
    public var message: String
    /// The other record that it is about: the one that has the unique value, or the missing one that the field refers to.
    /// Nil where there is none, and where the principal may not see it.
    public var record: RecordID?

    /// What servers answer with, one for each field that is wrong.
    public init(field: String, code: String, message: String, record: RecordID? = nil) {
      self.field = field
      self.code = code
      self.message = message
      self.record = record
    }
  }

  /// What servers answer with; `fields` is empty where the record as a whole is refused.
  public init(code: String, message: String, fields: [FieldError] = []) {
    self.code = code
    self.message = message
    self.fields = fields
  }
}

extension Outcome.Verdict {
  /// Why the operation was refused, if it was.
  package var rejection: Rejection? { if case .rejected(let rejection) = self { rejection } else { nil } }

  /// What the server has instead, where that stood in the way.
  package var current: ServerRecord? { if case .conflict(let current) = self { current } else { nil } }
}

extension Outcome.Verdict {
  /// Whether the server has made the change, now or at an earlier sending.
  package var isApplied: Bool {
    switch self {
    case .applied, .duplicate: true
    case .conflict, .rejected, .waiting: false
    }
  }

  /// Whether the record had changed since the operation's base.
  package var isConflict: Bool { if case .conflict = self { true } else { false } }
}
