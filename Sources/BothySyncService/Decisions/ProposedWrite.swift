import BothyStore

/// One operation that the server is about to apply, with the record before and after it.
///
/// A decision holds for just this write. If the record has changed when the operation is applied, the rule decides
/// again.
public struct ProposedWrite: Sendable, Hashable {
  /// The operation's id, unique in the request.
  ///
  /// A repetition of a request has the same ids. A rule may use it as a key for what it does elsewhere.
  public var operation: String
  /// The kind of change.
  ///
  /// An insert over a tombstone is an insert, with `before` being `nil`.
  public var kind: ChangeKind
  /// The changed record.
  ///
  /// Its type is the wire name. Lists of users are records too.
  public var record: RecordID
  /// The fields that the operation sets. A null clears the field.
  ///
  /// They have wire names. Empty for a deletion, and for a change of the audience alone.
  public var fields: [String: JSONValue] = [:]
  /// The names of the sensitive fields that it sets or clears. A rule doesn't see their values.
  ///
  /// A write of these alone has equal fields before and after it.
  public var sensitiveFields: Set<String> = []
  /// The change of the record's audience, if the operation has one.
  ///
  /// `after` has the audience that results.
  public var sharing: SharingChange?
  /// The name of the operation's group. Refusing one operation refuses its group.
  ///
  /// A group is what an app wrote in one transaction. `nil` for an operation by itself.
  public var group: String?
  /// The record as it is, or `nil` if it doesn't exist. The version is empty if the request itself has changed it.
  ///
  /// A record that was deleted is `nil` too.
  public var before: ServerRecord?
  /// The record after the write, without a version, or `nil` for a deletion.
  ///
  /// The owner of a record that never existed is the sender. Sensitive fields aren't in it.
  public var after: ServerRecord?

  /// Makes a write, for tests of a rule.
  public init(
    operation: String, kind: ChangeKind, record: RecordID, fields: [String: JSONValue] = [:],
    before: ServerRecord? = nil, after: ServerRecord? = nil
  ) {
    self.operation = operation
    self.kind = kind
    self.record = record
    self.fields = fields
    self.before = before
    self.after = after
  }
}
