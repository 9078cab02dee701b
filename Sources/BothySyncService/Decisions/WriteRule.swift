public import BothyStore

/// The team's own decision about writes, beyond the schema and the permissions.
///
/// `AccessRules.writeRule` has it. It decides about each operation that the server is about to apply, and so never
/// about conflicts, refusals of the server's own or repetitions. A refusal is remembered like that of any other rule.
///
/// ```swift
/// struct KeepBookings: WriteRule {
///   func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
///     proposal.writes.map {
///       $0.record.type == "Booking" && $0.kind == .delete ? .refuse("kept", "Bookings are never deleted.") : .accept
///     }
///   }
/// }
/// ```
public protocol WriteRule: Sendable {
  /// Returns a decision for each of the proposed writes, in their order.
  ///
  /// The call is made outside of any transaction and delays no other request. It limits its own time. It may be called
  /// side by side for several requests. An amended write that others were made on top of is followed by another call
  /// for those. One request has at most four calls.
  ///
  /// - Throws: any error, which means that the rule can't decide now. Nothing of the request is written or remembered
  ///   then, and devices send it again later. Another number of decisions than of writes counts as such an error.
  func decisions(on proposal: WriteProposal) async throws -> [WriteDecision]
}

/// The operations of one request that the server is about to apply.
///
/// Permissions allow them, and their records fit the schema.
public struct WriteProposal: Sendable, Hashable {
  /// The space of the records.
  public var space: String
  /// The sender of the request.
  ///
  /// Its name is `nil` for a request without a token.
  public var user: Caller
  /// The server's time, in milliseconds since 1970.
  ///
  /// It is the time of the request, so all calls for it have the same.
  public var time: Int64
  /// The writes, in the order of the request. Each has the effects of those before it.
  ///
  /// They are all of the request that need a decision, and at least one.
  public var writes: [ProposedWrite]

  /// Makes a proposal, for tests of a rule.
  ///
  /// - Parameter time: milliseconds since 1970.
  public init(space: String, user: Caller, time: Int64, writes: [ProposedWrite]) {
    self.space = space
    self.user = user
    self.time = time
    self.writes = writes
  }
}

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
