import BothyStore

/// What became of one operation on the server.
public struct Outcome: Sendable, Hashable {
  public var operation: String
  public var verdict: Verdict

  public init(operation: String, _ verdict: Verdict) {
    self.operation = operation
    self.verdict = verdict
  }

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
  static let incompleteGroup = "incompleteGroup"

  /// A word to branch on: `forbidden`, `invalid`, `unknownType`, `unknownReference`, `tooLarge`, …
  public var code: String
  /// A sentence for people.
  public var message: String
  /// What is wrong with which field.
  public var fields: [FieldError]

  public struct FieldError: Sendable, Hashable, Codable {
    public var field: String
    public var code: String
    public var message: String

    public init(field: String, code: String, message: String) {
      self.field = field
      self.code = code
      self.message = message
    }
  }

  public init(code: String, message: String, fields: [FieldError] = []) {
    self.code = code
    self.message = message
    self.fields = fields
  }
}
