import BothyStore

/// The result of one record of a batch.
package struct BatchResult: Sendable {
  /// The record that was to be saved or deleted.
  package var record: RecordID
  /// Its receipt, or what was thrown for it.
  package var result: Result<SaveReceipt<AnyRecord>, any Error>

  /// Why it failed, nil if it did not.
  package var error: (any Error)? { if case .failure(let error) = result { error } else { nil } }
}
