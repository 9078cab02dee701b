/// A page of the answer to a query.
///
/// A page without records is the last one.
public struct QueryPage: Sendable {
  /// The records, in the query's order.
  ///
  /// Tombstones and records that the user can't see are never among them.
  public var records: [ServerRecord] = []
  /// The cursor after which others follow, or `nil` if none do. It is also missing if a sort key has a very long value,
  /// or is a field on a server without a schema.
  ///
  /// If it is missing although `more` is true, continue with an offset. A token has at most 8,192 bytes.
  public var next: String?
  /// True if others follow for which the answer had no room. False at the query's own limit.
  ///
  /// There `next` is set all the same if others follow.
  public var more = false
}
