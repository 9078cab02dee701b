package import BothyStore

/// Saving several records, each for itself.
extension SyncedStore {
  /// Saves and deletes several records by the save policy, and returns the outcome of each.
  ///
  /// Under `.localThenRemote` and `.local` all of them are one local transaction, which throws as a whole. Under
  /// the network policies each is sent for itself, inserts before updates before deletions; one that is refused keeps
  /// no other back, and saving the failed ones again sends nothing else.
  @discardableResult
  package func save(
    _ records: [AnyRecord], deleting ids: [RecordID] = [], options: RequestOptions = RequestOptions()
  ) async throws -> [BatchResult] {
    let options = begun(options)
    let changes =
      try await sorted(records).map { LocalChange.save($0, in: nil) } + ids.map { LocalChange.delete($0) }
    let networkFirst = try changes.filter {
      [.remoteThenLocal, .remote].contains(try policy(options, $0.id.type))
    }
    if networkFirst.isEmpty {
      let receipts = try await store.write { transaction in
        for change in changes { try self.make(change, options, in: transaction) }
        return try changes.map { try self.receipt(writing: $0.id, in: transaction) }
      }
      askAfterSave(options)
      return receipts.map { BatchResult(record: $0.record, result: .success($0)) }
    }
    var results: [BatchResult] = []
    for change in changes {
      do {
        results.append(BatchResult(record: change.id, result: .success(try await perform(change, options))))
      } catch { results.append(BatchResult(record: change.id, result: .failure(error))) }
    }
    return results
  }

  /// Records that are new here first.
  private func sorted(_ records: [AnyRecord]) async throws -> [AnyRecord] {
    try await store.read { transaction in
      let known = try Set(records.map(\.recordID).filter { try transaction.exists($0) })
      return records.filter { !known.contains($0.recordID) } + records.filter { known.contains($0.recordID) }
    }
  }
}

/// What became of one record of a batch.
package struct BatchResult: Sendable {
  /// The record that was to be saved or deleted.
  package var record: RecordID
  /// Its receipt, or what was thrown for it.
  package var result: Result<SaveReceipt<AnyRecord>, any Error>

  /// Why it failed, nil if it did not.
  package var error: (any Error)? { if case .failure(let error) = result { error } else { nil } }
}
