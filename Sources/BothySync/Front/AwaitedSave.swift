public import BothyStore

/// What came of a write that was waited for.
public struct SaveResult<Value: Sendable>: Sendable {
  /// The record as it is here now: as the server has it, once that has decided; nil where it was deleted.
  public var record: Value?
  /// Who has the record as it is given.
  public var origin: SaveOrigin
  /// What the server decided; `.pending` where it could not be asked.
  public var outcome: SaveOutcome
  /// The local content that gave way to the server's; nil where nothing did.
  public var overwritten: Value?
  /// Why the server has not decided yet; nil once it has. The next sync sends the write.
  public var problem: SyncError?
}

/// Who has a record as the result of a save gives it.
public enum SaveOrigin: Sendable, Hashable {
  /// The server, and this device the same.
  case server
  /// This device alone.
  case local
}

/// Writing and waiting for the server's word, in one call.
extension SyncedStore {
  /// Saves a record here, sends it at once and returns the record as the server has it.
  ///
  /// The write is durable before anything is sent: one transaction. It goes ahead of a sync that is running, in a request of
  /// its own. Three things may come of it:
  ///
  /// ```swift
  /// let result = try await store.save(todo, awaiting: .seconds(10))
  /// switch result.outcome {
  /// case .accepted, .merged, .overwritten: show(result.record)     // stored here and at the server
  /// case .rejected(let rejection): show(rejection.message)         // refused
  /// default: showAsPending(result.record, result.problem)          // stored here; the server was not reached
  /// }
  /// ```
  ///
  /// The save policy has no say, but for types that are written on the server only and stores without a cache: those are
  /// saved as `save` does it.
  ///
  /// A task that is cancelled waits no longer: the outcome is `.pending`, and the problem `.cancelled` says that the change
  /// is kept here.
  ///
  /// - Parameter limit: how long the server's answer is waited for. The write stays pending after that.
  ///
  /// Throws `StoreError` for what does not fit the schema; never for what the server says.
  public func save<E: Entity>(
    _ entity: E, in container: String? = nil, awaiting limit: Duration,
    options: RequestOptions = RequestOptions()
  ) async throws -> SaveResult<E> {
    let receipt = try await save(entity, in: container, options: awaited(options, E.typeName))
    let result = try await result(of: receipt, within: limit)
    let record: E? = try result.record?.entity()
    let overwritten: E? = try result.overwritten?.entity()
    return SaveResult<E>(
      record: record ?? (receipt.isStoredHere ? nil : entity), origin: result.origin, outcome: result.outcome,
      overwritten: overwritten, problem: result.problem)
  }

  /// The same for a record of any type.
  public func save(
    _ record: AnyRecord, awaiting limit: Duration, options: RequestOptions = RequestOptions()
  ) async throws -> SaveResult<AnyRecord> {
    let receipt = try await save(record, options: awaited(options, record.type))
    return try await result(of: receipt, within: limit)
  }

  /// The same for a deletion. Throws `StoreError` `.notFound` as `delete` does.
  public func delete(
    _ id: RecordID, awaiting limit: Duration, options: RequestOptions = RequestOptions()
  ) async throws -> SaveResult<AnyRecord> {
    let receipt = try await delete(id, options: awaited(options, id.type))
    return try await result(of: receipt, within: limit)
  }

  /// The write comes first here, and is not asked for twice.
  private func awaited(_ options: RequestOptions, _ type: String) throws -> RequestOptions {
    guard let schema = store.schema[type], schema.writeMode != .remoteOnly, configuration.cache == .enabled
    else { return options }
    var options = options
    options.savePolicy = .cacheOnly
    return options
  }

  private func result(of receipt: SaveReceipt, within limit: Duration) async throws -> SaveResult<AnyRecord> {
    let (outcome, problem) = try await settle(receipt, within: limit)
    // The write is durable: what became of it is read for a cancelled task too.
    return try await Task { [store] in
      try await store.read { try Self.result(of: receipt, outcome, problem, in: $0) }
    }
    .value
  }

  private static func result(
    of receipt: SaveReceipt, _ outcome: SaveOutcome, _ problem: SyncError?, in transaction: ReadTransaction
  ) throws -> SaveResult<AnyRecord> {
    var result = SaveResult(
      record: try transaction.record(receipt.record), origin: .local, outcome: outcome, problem: problem)
    switch outcome {
    case .accepted, .merged, .overwritten:
      result.origin = .server
      guard let revision = receipt.revision else { break }
      result.overwritten = try Journal.lost(of: receipt.record, at: revision, in: transaction)
    case .pending, .draft, .rejected, .withdrawn, .expired, .unknown: break
    }
    // What was written or pulled in the meantime is pending again, or newer than the verdict.
    if try Outbox.mark(receipt.record, in: transaction) != nil { result.origin = .local }
    return result
  }

  /// Sends what the receipt is for and waits for the verdict, for as long as `limit`. Returns why there is none.
  func settle(_ receipt: SaveReceipt, within limit: Duration) async throws -> (SaveOutcome, SyncError?) {
    guard let revision = receipt.revision, receipt.state != .draft else { return (receipt.state, nil) }
    let id = receipt.record
    if let verdict = try verdict(on: id, revision) { return (verdict, nil) }
    let problem = await push(id, within: limit)
    if let outcome = try outcome(of: id, revision) { return (outcome, nil) }
    if Task.isCancelled {
      let message =
        "Waiting for the server's word on \(id) was cancelled. The change is kept here. The next sync sends it."
      return (.pending, SyncError(.cancelled, message, record: id))
    }
    if configuration.triggers.contains(.save) { engine.ask() }
    let waits = SyncError(
      .pendingChanges, "\(id) waits for other changes that must be sent before it. The next sync sends it.",
      record: id)
    return (.pending, problem ?? waits)
  }

  /// Sends one record. Returns why that was not possible.
  private func push(_ id: RecordID) async -> SyncError? {
    let report = await engine.push([id])
    if let reason = report.skipped { return SyncError(reason) }
    guard let isLeft = try? isPending(id), isLeft, report.failures.isEmpty else { return nil }
    // It refers to something that must be sent first.
    return await engine.push(nil).skipped.map { SyncError($0) }
  }

  private func push(_ id: RecordID, within limit: Duration) async -> SyncError? {
    let clock = configuration.clock
    let problem = await Bounded.run(within: limit, sleep: { try await clock.sleep(for: $0) }) {
      await self.push(id)
    }
    if let problem { return problem }
    if Task.isCancelled { return SyncError(SkipReason.cancelled) }
    return SyncError(.unreachable, "The server did not answer in time. The next sync sends the change.")
  }
}
