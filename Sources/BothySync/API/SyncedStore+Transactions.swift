import BothyStore

/// Writing several records in one transaction.
extension SyncedStore {
  /// Runs a block in one transaction of the local file, and sends its changes by the write policy; `nil` means the one in
  /// force.
  ///
  /// Under `.atomic` the changes stay together, also after a relaunch and when one of its records is decided about. Any
  /// number of such transactions can wait. They are sent in the order of writing. If one is rejected, later ones continue
  /// without it, or wait if they build on it.
  ///
  /// ```swift
  /// try await store.write(.atomic) { transaction in
  ///   try transaction.update(Purse.self, id: "ann") { $0.pence -= 500 }
  ///   try transaction.update(Purse.self, id: "ben") { $0.pence += 500 }
  /// }
  /// ```
  ///
  /// Does not run on the caller's executor. Under the policies that send first it returns when the server was asked for the
  /// changes, which are durable here before; the outbox has those that were rejected or not answered. Throws what `body`
  /// throws, and `BothyError`, such as `tooManyTogether` for more than a thousand records under
  /// `.atomic`; then nothing is changed.
  @discardableResult
  public func write<Result: Sendable>(
    _ grouping: WriteGrouping = .independent, policy: WritePolicy? = nil,
    _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    let options = begun(RequestOptions(writePolicy: policy))
    guard options.writePolicy?.sendsFirst == true else {
      let result = try await store.write { try self.write(grouping, options, $0, body) }
      requestAfterSave(options)
      return result
    }
    let (result, changed) = try await store.write { transaction in
      transaction.changed = []
      let result = try self.write(grouping, options, transaction, body)
      try transaction.flush()
      return (result, transaction.changed ?? [])
    }
    if !changed.isEmpty { _ = await engine.push(changed, isFilled: true) }
    return result
  }

  /// The blocking form of `write(_:policy:_:)`, for tests and tools.
  @discardableResult
  package func write<Result>(
    _ grouping: WriteGrouping = .independent, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    let options = begun(RequestOptions())
    let result = try store.write { try self.write(grouping, options, $0, body) }
    requestAfterSave(options)
    return result
  }

  private func write<Result>(
    _ grouping: WriteGrouping, _ options: RequestOptions, _ transaction: WriteTransaction,
    _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    guard grouping == .atomic else { return try Self.drafting(options.writePolicy, transaction, body) }
    let group = UUIDv7.make()
    transaction.group = group
    let result = try Self.drafting(options.writePolicy, transaction, body)
    try transaction.flush()
    let count = try OutboxQueue.memberCount(of: group, in: transaction)
    let limit = configuration.groupLimit
    guard count <= limit else {
      throw BothyError(
        .tooManyTogether,
        "\(count) records must be sent together, and the limit is \(limit). Write fewer at a time.")
    }
    return result
  }

  // MARK: saving records of any type

  /// Saves a record of any type: inserts it if its id is new, else changes the fields that are given. Costs and throws
  /// as for an entity.
  @discardableResult
  package func save(_ record: AnyRecord, options: RequestOptions = RequestOptions()) async throws
    -> SaveReceipt<AnyRecord>
  {
    try await perform(.save(record, in: nil), options)
  }

  /// Creates the record or changes its given fields, container and audience, by the configured write policy. Makes one
  /// entry of the outbox in one transaction.
  package func persist(
    _ record: AnyRecord, _ sharing: Audience?
  ) async throws -> SaveReceipt<AnyRecord> {
    try await perform(.persist(record, sharing, edited: clock.correctedNow()), RequestOptions())
  }

  // MARK: saving several records, each for itself

  /// Saves and deletes several records by the write policy, and returns the outcome of each.
  ///
  /// Under `.localThenRemote` and `.local` all of them are one local transaction, which throws as a whole. Under
  /// the network policies each is sent for itself, inserts before updates before deletions; one that is rejected keeps
  /// no other back, and saving the failed ones again sends nothing else.
  @discardableResult
  package func save(
    _ records: [AnyRecord], deleting ids: [RecordID] = [], options: RequestOptions = RequestOptions()
  ) async throws -> [BatchResult] {
    let options = begun(options)
    let changes =
      try await sorted(records).map { LocalChange.save($0, in: nil) } + ids.map { LocalChange.delete($0) }
    return try await perform(changes, options)
  }

  private func perform(_ changes: [LocalChange], _ options: RequestOptions) async throws -> [BatchResult] {
    // Only records of synced types can be tried on the server.
    guard let first = changes.first(where: { store.schema[$0.id.type]?.isSynced == true }) ?? changes.first
    else { return [] }
    guard try changes.contains(where: { try policy(options, $0.id.type).sendsFirst }) else {
      return try await writing(first.id.type, in: container(of: first), options) { transaction in
        for change in changes { try self.make(change, options, in: transaction) }
        return try changes.map {
          let receipt = try self.receipt(writing: $0.id, in: transaction)
          return BatchResult(record: receipt.record, result: .success(receipt))
        }
      } instead: {
        try await self.perform(changes, $0)
      }
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

/// The result of one record of a batch.
package struct BatchResult: Sendable {
  /// The record that was to be saved or deleted.
  package var record: RecordID
  /// Its receipt, or what was thrown for it.
  package var result: Result<SaveReceipt<AnyRecord>, any Error>

  /// Why it failed, nil if it did not.
  package var error: (any Error)? { if case .failure(let error) = result { error } else { nil } }
}
