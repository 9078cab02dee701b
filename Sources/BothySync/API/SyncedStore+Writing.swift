public import BothyStore
import Logging

/// Writing by policy.
extension SyncedStore {
  /// Saves a record, as `save(_:in:policy:)` does, by the options of one call.
  ///
  /// Once a save that uses the server first has begun it is carried through, whatever becomes of the task: one that is
  /// cancelled gets the same receipt or error. Before that a cancelled task throws, and nothing is changed. A process that
  /// ends meanwhile leaves the change to the next sync.
  ///
  /// Another change of the record that is made here meanwhile makes both pending. A rejection then waits in the inbox.
  ///
  /// A record with pending work is different under `.remoteThenLocal`: the change is added to that work, durable here,
  /// and all of it is sent at once. A rejection is thrown, and waits in the inbox. A draft stays a draft.
  @discardableResult
  package func save<E: Entity>(
    _ entity: E, in container: String? = nil, options: RequestOptions
  ) async throws -> SaveReceipt<E> {
    try await write(entity, in: container, options, exists: nil) { try $0.save(entity, in: container) }
  }

  /// Writes a record by the write policy.
  ///
  /// - Parameters:
  ///   - exists: True for a record that has to be on this device, false for one that must not be.
  ///   - local: The write in the local file, where that comes first.
  func write<E: Entity>(
    _ entity: E, in container: String?, _ options: RequestOptions, exists: Bool?,
    _ local: @escaping @Sendable (WriteTransaction) throws -> Void
  ) async throws -> SaveReceipt<E> {
    var record = AnyRecord(entity)
    record.container = container ?? E.typeName
    // A field that the entity has no value in is cleared, as a local save clears it.
    for field in E.schema.fields where record.fields[field.name] == nil { record.fields[field.name] = .null }
    return try await perform(.save(record, in: container), options, exists: exists, local)
      .typed(E.self, sent: entity)
  }

  /// Saves a record of any type: inserts it if its id is new, else changes the fields that are given. Costs and throws
  /// as for an entity.
  @discardableResult
  package func save(_ record: AnyRecord, options: RequestOptions = RequestOptions()) async throws
    -> SaveReceipt<AnyRecord>
  {
    try await perform(.save(record, in: nil), options)
  }

  /// Moves a record to another container, by the save policy. A device that follows only the container it was in
  /// loses it with its next pull; so does this one once the server has acknowledged the move, if it follows
  /// containers and not that one. Throws `BothyError` `.notFound`.
  @discardableResult
  public func move(_ id: RecordID, to container: String) async throws -> SaveReceipt<AnyRecord> {
    try await move(id, to: container, options: RequestOptions())
  }

  /// Like `move(_:to:)`, but with options of the call.
  @discardableResult
  package func move(
    _ id: RecordID, to container: String, options: RequestOptions
  ) async throws -> SaveReceipt<AnyRecord> {
    try await perform(.move(id, to: container), options)
  }

  /// Deletes a record. Of one that is not on this device only the server can know: network policies ask it, the others
  /// throw `BothyError` `.notFound`, unless `options.assumesRemote` has the deletion sent by the next sync. Costs and
  /// throws as `save` beside that.
  @discardableResult
  package func delete(_ id: RecordID, options: RequestOptions = RequestOptions()) async throws -> SaveReceipt<
    AnyRecord
  > {
    try await perform(.delete(id), options)
  }

  /// Deletes a record by its type and id, like `delete(_:options:)`.
  @discardableResult
  package func delete<E: Entity>(
    _ type: E.Type, id: String, options: RequestOptions
  ) async throws -> SaveReceipt<E> {
    try await delete(RecordID(E.self, id: id), options: options).typed(E.self)
  }

  /// Makes a change by the write policy.
  ///
  /// - Parameters:
  ///   - exists: true for a record that has to be on this device, false for one that must not be.
  ///   - local: the write in the local file, where that comes first, or `nil` for the change itself.
  @discardableResult
  func perform(
    _ change: LocalChange, _ options: RequestOptions, exists: Bool? = nil,
    _ local: (@Sendable (WriteTransaction) throws -> Void)? = nil
  ) async throws -> SaveReceipt<AnyRecord> {
    let options = begun(options)
    let policy = try policy(options, change.id.type)
    guard policy == .remoteThenLocal || policy == .remote else {
      return try await keep(change, options, local)
    }
    if let exists, try await store.read({ try $0.exists(change.id) }) != exists {
      throw exists ? WriteTransaction.notFound(change.id) : WriteTransaction.alreadyExists(change.id)
    }
    return try await networkFirst(change, keepsLocally: policy == .remoteThenLocal, options)
  }

  /// Makes a change here, for a later sync to send.
  func make(_ change: LocalChange, _ options: RequestOptions, in transaction: WriteTransaction) throws {
    try OutboxQueue.revealMissing(change.id, in: transaction)
    if change.isDeletion, try !OutboxQueue.knows(change.id, in: transaction) {
      guard options.assumesRemote else {
        throw BothyError(
          .notFound,
          "This device has no \(change.id) to delete. If the server has it, use a network policy or "
            + "assumesRemote.")
      }
      return try OutboxQueue.assumeDeleted(change.id, at: clock.correctedNow(), in: transaction)
    }
    try change.apply(in: transaction)
    try hold(change.id, options, in: transaction)
  }

  /// Runs the local write of a change; where the store fails, the configuration says whether the server is tried.
  private func keep(
    _ change: LocalChange, _ options: RequestOptions,
    _ local: (@Sendable (WriteTransaction) throws -> Void)? = nil
  ) async throws -> SaveReceipt<AnyRecord> {
    let left = engine.pass.sent.left(change.id)
    do {
      let receipt = try await engine.locks.withWrite(container(of: change)) {
        try await store.write { transaction in
          if let left { try StaleRows.mark(change.id, over: left.version, left.answer, in: transaction) }
          if let local {
            try local(transaction)
            try self.hold(change.id, options, in: transaction)
          } else {
            try self.make(change, options, in: transaction)
          }
          return try self.receipt(writing: change.id, in: transaction)
        }
      }
      askAfterSave(options)
      return receipt
    } catch let error as BothyError
      where error.isLocalFailure && configuration.localFailure == .tryRemote && options.writePolicy != .draft
      && store.schema[change.id.type]?.isSynced == true
    {
      configuration.logger.warning(
        "A save could not be stored here; it is tried on the server.", metadata: ["error": "\(error)"])
      do {
        let outcome = try await StorelessWrite(pass: engine.pass, change: change).run()
        return SaveReceipt(
          record: change.id, state: outcome, store: self, revision: nil, isStoredHere: false)
      } catch let there as BothyError
        where there.code != .rejected && there.code != .conflict
      {
        // The server has not decided, so what failed is the store.
        throw BothyError(
          error.code, "\(error.message) It was tried on the server too: \(there.message)", record: change.id,
          underlying: there)
      }
    }
  }

  /// Runs a transaction whose changes are drafts, and returns the records. Single pending changes of these records become
  /// drafts with them. Earlier transactions that changed them are sent.
  @discardableResult
  package func writeDraft(_ body: @escaping @Sendable (WriteTransaction) throws -> Void) async throws
    -> [RecordID]
  {
    try await store.write { try Self.drafting($0, body).records }
  }

  private static func drafting<Result>(
    _ transaction: WriteTransaction, _ body: (WriteTransaction) throws -> Result
  ) throws -> (result: Result, records: [RecordID]) {
    transaction.drafts = []
    let result = try body(transaction)
    try transaction.flush()
    return (result, transaction.drafts ?? [])
  }

  /// Makes the change a draft, in the transaction that makes it.
  private func hold(_ id: RecordID, _ options: RequestOptions, in transaction: WriteTransaction) throws {
    guard options.writePolicy == .draft else { return }
    try transaction.flush()
    try OutboxQueue.hold(id, in: transaction)
  }

  /// The options for all of a call that begins now, whatever policy is set meanwhile.
  func begun(_ options: RequestOptions) -> RequestOptions {
    // Without a cache every write is sent to the server; only a call that requests the cache itself throws.
    guard options.writePolicy == nil, configuration.cache == .enabled else { return options }
    var options = options
    options.writePolicy = writePolicy
    return options
  }

  /// Types that are written on the server only follow `.remoteThenLocal`, and are never queued.
  func policy(_ options: RequestOptions, _ type: String) throws -> WritePolicy {
    let table = try store.catalog.table(type)
    if configuration.cache == .disabled && table.schema.isSynced {
      if [.local, .draft].contains(options.writePolicy) { throw BothyError.cacheDisabled }
      return .remote
    }
    if table.schema.writeMode == .remoteOnly { return .remoteThenLocal }
    return table.schema.isSynced ? options.writePolicy ?? writePolicy : .local
  }

  func askAfterSave(_ options: RequestOptions) {
    if (options.writePolicy ?? writePolicy) == .localThenRemote && configuration.triggers.contains(.save) {
      engine.ask()
    }
  }

  /// The container that a change counts as a write in.
  private func container(of change: LocalChange) -> String {
    switch change {
    case .save(let record, let container): container ?? record.container
    case .persist(let record, _, _): record.container
    case .move(_, let container): container
    // Unreadable: the change itself will say why.
    case .delete(let id), .share(let id, _, _): (try? store.record(id))?.container ?? id.type
    }
  }

  // MARK: network first

  private func networkFirst(
    _ change: LocalChange, keepsLocally: Bool, _ options: RequestOptions
  ) async throws -> SaveReceipt<AnyRecord> {
    let isRemoteOnly = store.schema[change.id.type]?.writeMode == .remoteOnly
    let isKept = keepsLocally && (options.cacheResults ?? true)
    let save = OnlineSave(
      change, in: self,
      keeping: configuration.cache == .disabled ? .uncached : isKept ? .here : .thereAlone,
      isQueued: keepsLocally && !isRemoteOnly)
    switch try await engine.locks.withWrite(container(of: change), { try await save.run() }) {
    case .settled(let receipt):
      if receipt.known == .pending { askAfterSave(options) }
      return receipt
    case .pending(let change):
      guard keepsLocally else { throw BothyError.pendingChanges(change.id) }
      return try await overPending(change, options)
    case .unreachable(let error):
      guard isRemoteOnly else { throw error }
      throw BothyError(
        .requiresNetwork, "\(change.id.type) is written on the server only, and it can't be reached.",
        record: change.id, underlying: error)
    }
  }

  /// Makes a change on top of the pending ones of the record, durable here, and sends all of them at once, with what
  /// was written together with it. What does not reach the server stays pending, and a draft stays a draft.
  private func overPending(_ change: LocalChange, _ options: RequestOptions) async throws -> SaveReceipt<
    AnyRecord
  > {
    let receipt = try await keep(change, options)
    guard let revision = receipt.revision, receipt.known != .draft else { return receipt }
    _ = await engine.sync(
      SyncPass.Request(scope: .push, pulls: [], records: [change.id], ignoresRetryTimes: true))
    guard let outcome = try outcome(of: change.id, revision) else { return receipt }
    if case .rejected(let rejection) = outcome {
      throw BothyError(
        rejection.code == Rejection.mergeFailed ? .conflict : .rejected,
        rejection.message + " The change waits in the inbox.", record: change.id, rejection: rejection)
    }
    return SaveReceipt(record: change.id, state: outcome, store: self, revision: revision)
  }
}

extension BothyError {
  static func pendingChanges(_ id: RecordID) -> BothyError {
    BothyError(
      .pendingChanges, "\(id) has changes that the server does not have yet. Sync first.", record: id)
  }
}

/// How the server treats the changes of one transaction.
public enum WriteGrouping: Sendable, Hashable {
  /// Each record by itself. A rejected one delays no other.
  case independent
  /// All of them or none. If one record is rejected, or the server's version of it is kept, the others do the same.
  case atomic
}

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
  ///   try transaction.update(Account.self, id: "ann") { $0.pence -= 500 }
  ///   try transaction.update(Account.self, id: "ben") { $0.pence += 500 }
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
    let result = try await store.write { transaction in
      guard options.writePolicy == .draft else { return try self.write(grouping, transaction, body) }
      return try Self.drafting(transaction) { try self.write(grouping, $0, body) }.result
    }
    switch options.writePolicy {
    case .remote, .remoteThenLocal: _ = await engine.push(nil)
    case .local, .localThenRemote, .draft, nil: askAfterSave(options)
    }
    return result
  }

  /// The blocking form of `write(_:policy:_:)`, for tests and tools.
  @discardableResult
  package func write<Result>(
    _ grouping: WriteGrouping = .independent, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    let options = begun(RequestOptions())
    let result = try store.write { try self.write(grouping, $0, body) }
    askAfterSave(options)
    return result
  }

  private func write<Result>(
    _ grouping: WriteGrouping, _ transaction: WriteTransaction, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    guard grouping == .atomic else { return try body(transaction) }
    let group = UUIDv7.make()
    transaction.group = group
    let result = try body(transaction)
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
}
