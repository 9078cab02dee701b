/// The content of a space that concerns one user.
///
/// Records that are shared with the user aren't counted.
public struct UserStatistics: Sendable, Hashable {
  /// The user's name in records and lists.
  ///
  /// A group has the prefix `group:`.
  public var user: String
  /// The number of live records that it owns.
  public var records: Int
  /// The number of lists that it is a member of.
  public var lists: Int

  /// Makes statistics, for storages.
  public init(user: String, records: Int, lists: Int) {
    self.user = user
    self.records = records
    self.lists = lists
  }
}
