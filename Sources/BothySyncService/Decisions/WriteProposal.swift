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
