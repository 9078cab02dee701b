public import BothyStore

/// One record's pending work: what the app did that the server has not acknowledged.
public struct OutboxEntry: Sendable, Hashable {
  public var record: RecordID
  public var kind: Operation.Kind
  /// Rises with each local change; an acknowledgement clears the entry only at the revision that was sent.
  public var revision: Int64
  /// When the last local change was made, in server-corrected milliseconds.
  public var edited: Int64
  /// What the server last told of the record; nil when it is not known to have it.
  public var base: Base?
  public var state: State
  /// The number of times the server refused it.
  public var attempts: Int
  /// Not sent before this time, in milliseconds since 1970.
  public var retryAt: Int64
  /// Why the server refused it last; such entries are the inbox.
  public var reason: Rejection?
  /// The operation whose outcome is unknown, if one was sent.
  public var operationID: String?
  /// What the server has now, where a pull has told of a version newer than the base.
  public var shadow: ServerRecord?

  public struct Base: Sendable, Hashable {
    public var version: String
    public var fields: FieldsDocument

    public init(version: String, fields: FieldsDocument) {
      self.version = version
      self.fields = fields
    }
  }

  public enum State: Int, Sendable, Hashable, CaseIterable {
    /// To be sent at the next sync.
    case pending = 0
    /// Held back by the app: a draft.
    case held = 1
    /// Refused as often as the rejection policy allows; waits for a decision.
    case quarantined = 2
  }
}

extension Operation.Kind {
  var number: Int64 {
    switch self {
    case .insert: 0
    case .update: 1
    case .delete: 2
    }
  }

  init(number: Int64) { self = number == 0 ? .insert : number == 1 ? .update : .delete }
}
