/// The moments of a write at which the test kit can end the process.
package enum StoreStep: String, Sendable, Hashable, CaseIterable {
  /// The transaction has begun, and nothing is written.
  case begin
  /// Everything is written, and nothing is committed.
  case commit
  /// The transaction is committed, and the caller has not returned yet.
  case committed
}
