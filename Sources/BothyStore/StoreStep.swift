/// The moments of a write at which a process can end: where the test kit makes it end.
package enum StoreStep: String, Sendable, Hashable, CaseIterable {
  /// The transaction has begun; nothing is written.
  case begin
  /// Everything is written; nothing is committed.
  case commit
  /// Committed; whoever asked for it has not been told.
  case committed
}
