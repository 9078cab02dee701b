import BothyStore

/// The reason why the server rejected an operation.
///
/// ```swift
/// for entry in try await store.outbox.rejected() {
///   guard case .rejected(let rejection) = entry.state else { continue }
///   switch rejection.kind {
///   case .uniqueViolation: show("\(entry.id): another record has this value.")
///   default: show("\(entry.id): \(rejection.message)")
///   }
/// }
/// ```
public struct Rejection: Sendable, Hashable, Codable {
  /// The code of operations whose group was incomplete. None of it was applied.
  package static let incompleteGroup = "incompleteGroup"
  /// The code of operations on which the server failed inside.
  package static let serverError = BothyError.Code.serverError.rawValue
  /// The code of a change that gives a unique field a value of another record.
  package static let uniqueViolation = BothyError.Code.uniqueViolation.rawValue

  /// True if the operation may have been applied nevertheless. Only an identical one can be sent again.
  package var leavesDoubt: Bool { code == Self.serverError }

  /// The code as the server sent it: `forbidden`, `invalid`, `unknownType`, `unknownReference`, `uniqueViolation`, …
  public var code: String
  /// The code to switch on: `case .uniqueViolation:`. A later server may send one without a constant.
  public var kind: BothyError.Code { BothyError.Code(code) }
  /// A message for people.
  public var message: String
  /// The invalid fields.
  public var fields: [FieldError]

  /// The problem with one field.
  public struct FieldError: Sendable, Hashable, Codable {
    /// The field's name. It is `sharing` or similar if the problem isn't in a field.
    public var field: String
    /// The code as the server sent it, like that of the rejection: `required`, `unknown`, `tooDeep`, …
    public var code: String
    /// The code to switch on.
    public var kind: BothyError.Code { BothyError.Code(code) }
    /// A message for people, to show at the field.
    public var message: String
    /// The other record of the problem: the one that has the unique value, or the missing one that the field refers to.
    /// `nil` if the problem has none, or the user may not see it.
    public var record: RecordID?

    /// Makes an error, for servers, one for each invalid field.
    public init(field: String, code: String, message: String, record: RecordID? = nil) {
      self.field = field
      self.code = code
      self.message = message
      self.record = record
    }
  }

  /// Makes a rejection, for servers. `fields` is empty if the whole record is rejected.
  public init(code: String, message: String, fields: [FieldError] = []) {
    self.code = code
    self.message = message
    self.fields = fields
  }
}
