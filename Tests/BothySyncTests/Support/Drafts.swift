import BothyStore
import BothySync

extension SyncedStore {
  /// Runs a transaction whose changes are drafts, and returns the records.
  @discardableResult
  func writeDraft(_ body: @escaping @Sendable (WriteTransaction) throws -> Void) async throws -> [RecordID] {
    try await write(policy: .draft) { transaction in
      try body(transaction)
      try transaction.flush()
      return transaction.changed ?? []
    }
  }
}
