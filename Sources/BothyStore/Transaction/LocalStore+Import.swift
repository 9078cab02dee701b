// Imports of many records.

extension LocalStore {
  /// The progress of an import: the numbers of inserted records and of existing ones that were updated.
  ///
  /// A record that occurs twice in the import is inserted once and then updated. A record counts as updated also if its
  /// values were the same.
  ///
  /// ```swift
  /// let rows = ["Corrour", "Staoineag"].map { AnyRecord("Hut", ["name": .text($0)]) }
  /// let imported = try await store.maintenance.importRecords(rows) { show("\($0.inserted) so far") }
  /// show("\(imported.inserted) new, \(imported.updated) updated")
  /// ```
  public typealias ImportProgress = (inserted: Int, updated: Int)

  /// Inserts many records, or updates the given fields of those that exist, in one transaction a batch.
  ///
  /// `progress` runs after each batch, on an arbitrary thread. A failing batch is rolled back, and its error is thrown.
  /// A cancelled task stops between batches with `BothyError` `.cancelled`. Earlier batches stay. Memory is bounded by
  /// one batch.
  ///
  /// A record counts as existing by its type and id. Its container stays. Each batch is a commit, so observations
  /// deliver once a batch.
  ///
  /// - Parameters:
  ///   - records: The records. The sequence is read once, a batch at a time.
  ///   - size: The number of records of a batch, at least 1. Larger ones are faster and use more memory.
  ///   - progress: Receives the numbers so far.
  /// - Throws: `BothyError` `unknownType`, `unknownField` or `.invalidValue` for a record that doesn't fit the schema,
  ///   and `.uniqueViolation` for a value that another record has. After a failure import all records again: those that
  ///   are here count as updated.
  @discardableResult
  public func importRecords(
    _ records: some Sequence<AnyRecord>, batch size: Int = 1000,
    progress: @Sendable (ImportProgress) -> Void = { _ in }
  ) async throws -> ImportProgress {
    var done: ImportProgress = (0, 0)
    var batch: [AnyRecord] = []
    for record in records {
      batch.append(record)
      if batch.count >= max(1, size) { try await importBatch(&batch, &done, progress) }
    }
    if !batch.isEmpty { try await importBatch(&batch, &done, progress) }
    return done
  }

  /// Like the import of a sequence, but for records that arrive over time.
  @discardableResult
  package func importRecords<Records: AsyncSequence>(
    from records: Records, batch size: Int = 1000, progress: @Sendable (ImportProgress) -> Void = { _ in }
  ) async throws -> ImportProgress where Records.Element == AnyRecord {
    var done: ImportProgress = (0, 0)
    var batch: [AnyRecord] = []
    for try await record in records {
      batch.append(record)
      if batch.count >= max(1, size) { try await importBatch(&batch, &done, progress) }
    }
    if !batch.isEmpty { try await importBatch(&batch, &done, progress) }
    return done
  }

  private func importBatch(
    _ batch: inout [AnyRecord], _ done: inout ImportProgress, _ progress: (ImportProgress) -> Void
  ) async throws {
    guard !Task.isCancelled else {
      throw BothyError(
        .cancelled, "The import was cancelled after \(done.inserted + done.updated) records, which are kept.")
    }
    let records = batch
    let inserted = try await write { transaction in
      var inserted = 0
      for record in records {
        if try transaction.exists(record.recordID) {
          try transaction.update(record.recordID, fields: record.fields)
        } else {
          try transaction.insert(record)
          inserted += 1
        }
      }
      return inserted
    }
    done.inserted += inserted
    done.updated += records.count - inserted
    batch.removeAll(keepingCapacity: true)
    progress(done)
  }
}
