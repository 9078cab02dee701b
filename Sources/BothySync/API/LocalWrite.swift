import BothyStore
import Logging

// The way of one write by its policy, from the change that the app requests to the receipt.

/// One change that the app requests.
enum LocalChange: Sendable {
  /// A record that is there already is moved to the container, if one is given.
  case save(AnyRecord, in: String?)
  case move(RecordID, to: String)
  case delete(RecordID)
  case share(RecordID, SharingChange, edited: Int64)
  /// A record with its audience, unless that is nil and stays as it is.
  case persist(AnyRecord, Audience?, edited: Int64)

  var id: RecordID {
    switch self {
    case .save(let record, _): record.recordID
    case .persist(let record, _, _): record.recordID
    case .delete(let id), .move(let id, _), .share(let id, _, _): id
    }
  }

  /// This change, of a value without a mark: it replaces what the store has now, and nothing that comes before it is
  /// saved.
  var readNow: LocalChange {
    guard var record = saved, record.origin.mark.number == ReadMark.whole.number else { return self }
    record.origin.mark = ReadMark()
    switch self {
    case .save(_, let container): return .save(record, in: container)
    case .persist(_, let sharing, let edited): return .persist(record, sharing, edited: edited)
    case .move, .delete, .share: return self
    }
  }

  /// - Parameters:
  ///   - time: the time of the deletion of a record that isn't here, which is queued for the server; `nil` to queue none.
  ///   - content: the content that such a deletion is of, or `nil` for whatever the server has.
  func apply(
    in transaction: WriteTransaction, assumedAt time: Int64? = nil, of content: FieldsDocument? = nil
  ) throws {
    switch self {
    case .save(let record, let container): try transaction.save(record, in: container)
    case .move(let id, let container): try transaction.move(id, to: container)
    case .delete(let id):
      if try !transaction.delete(id), let time, try OutboxQueue.mark(id, in: transaction) == nil {
        try OutboxQueue.begin(
          id, .delete, at: SyncClock.Reading(time: time, isReliable: true), last: content,
          group: transaction.group, in: transaction)
      }
    case .share(let id, let change, let edited):
      try OutboxQueue.share(id, change, edited: edited, in: transaction)
    case .persist(let record, let sharing, let edited):
      try LocalChange.save(record, in: record.container == record.type ? nil : record.container).apply(
        in: transaction)
      guard let sharing else { return }
      try transaction.flush()
      let change = SharingChange(
        from: try SyncedStore.audience(of: record.recordID, in: transaction), to: sharing)
      try OutboxQueue.share(record.recordID, change, edited: edited, in: transaction)
    }
  }
}

extension WriteTransaction {
  /// Creates the record or changes its given fields, container and audience. The change is pending.
  package func persist(_ record: AnyRecord, _ sharing: Audience?, edited: Int64) throws {
    try LocalChange.persist(record, sharing, edited: edited).apply(in: self)
  }
}

extension LocalChange {
  var isDeletion: Bool { if case .delete = self { true } else { false } }

  /// The record that the change saves.
  var saved: AnyRecord? {
    switch self {
    case .save(let record, _), .persist(let record, _, _): record
    case .move, .delete, .share: nil
    }
  }

  /// Returns the fields that the change sets, nulls included, and separately the values of the sensitive ones.
  func given(_ schema: TypeSchema) throws -> (fields: [String: JSONValue], secrets: [SecretKey: String]) {
    var (given, secrets): ([String: JSONValue], [SecretKey: String]) = ([:], [:])
    for field in schema.fields where saved?.clears(field) ?? false && !field.isSensitive {
      given[field.name] = .null
    }
    for (name, value) in saved?.fields ?? [:] {
      if let field = schema[name], field.isSensitive {
        if case .text(let secret) = value { secrets[SecretKey(id, field: name)] = secret }
        continue
      }
      var writer = JSONWriter()
      value.write(to: &writer)
      given[name] = try JSONValue(parsing: writer.bytes)
    }
    return (given, secrets)
  }
}

/// Writing by policy: in one transaction of the local file, or on the server first.
extension SyncedStore {
  /// Runs one transaction of the local file, and requests a sync as the policy says. Its changes are drafts if the
  /// policy says so. All verbs write here.
  ///
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - container: the container that counts the write.
  ///   - instead: makes the changes on the server with the given options. It is called if the store fails and the
  ///     configuration has the server tried.
  func writing<Result: Sendable>(
    _ type: String, in container: String, _ options: RequestOptions,
    _ body: @escaping @Sendable (WriteTransaction) throws -> Result,
    instead: (RequestOptions) async throws -> Result
  ) async throws -> Result {
    do {
      try await keepOpen()
      let result = try await engine.locks.withWrite(container) {
        try await store.write { try Self.drafting(options.writePolicy, $0, body) }
      }
      requestAfterSave(options)
      return result
    } catch let error as BothyError
      where error.isLocalFailure && opened.localFailure == .tryRemote && options.writePolicy != .draft
      && store.schema[type]?.isSynced == true
    {
      opened.logger.warning(
        "A save could not be stored here; it is tried on the server.", metadata: ["error": "\(error)"])
      var options = options
      options.storeFailure = error
      return try await instead(options)
    }
  }

  /// Saves a record, as `save(_:in:policy:)` does, by the options of one call.
  ///
  /// Once a save that uses the server first has begun it is carried through, whatever becomes of the task: one that is
  /// cancelled gets the same receipt or error. Before that a cancelled task throws, and nothing is changed. A process that
  /// ends meanwhile leaves the change to the next sync.
  ///
  /// Another change of the record that is made here meanwhile makes both pending. A rejected change then stays pending.
  ///
  /// A record with pending work is different under `.remoteThenLocal`: the change is added to that work, durable here,
  /// and all of it is sent at once. A rejection is thrown, and the change stays pending. A draft stays a draft.
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
    return try await perform(.save(record, in: container), options, exists: exists, local)
      .typed(E.self, sent: entity)
  }

  /// Moves a record to another container, by the write policy. A device that follows only the container it was in
  /// loses it with its next pull; so does this one once the server has acknowledged the move, if it follows
  /// containers and not that one. Throws `BothyError` `.notFound`. Apps move records by `WriteTransaction.move(_:to:)`.
  @discardableResult
  package func move(
    _ id: RecordID, to container: String, options: RequestOptions = RequestOptions()
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
    guard policy.sendsFirst else {
      return try await keep(change, options, exists: exists, local)
    }
    if let failure = options.storeFailure { return try await send(change, after: failure) }
    if let exists, try await store.read({ try $0.exists(change.id) }) != exists {
      throw exists ? WriteTransaction.notFound(change.id) : WriteTransaction.alreadyExists(change.id)
    }
    return try await networkFirst(change, keepsLocally: policy == .remoteThenLocal, options)
  }

  /// Makes a change here, for a later sync to send. The parameters are those of `perform`.
  func make(
    _ change: LocalChange, _ options: RequestOptions, exists: Bool? = nil, in transaction: WriteTransaction,
    _ local: ((WriteTransaction) throws -> Void)? = nil
  ) throws {
    // A record of some fields joins a change that isn't shown, with all of its other fields.
    let reveals = change.saved?.origin.isWhole ?? true
    try make(change.id, exists: exists, reveals: reveals, in: transaction) { isRevealed in
      if let local, !isRevealed { return try local(transaction) }
      guard
        try !change.isDeletion || options.assumesRemote || transaction.exists(change.id)
          || OutboxQueue.mark(change.id, in: transaction) != nil
      else {
        throw BothyError(
          .notFound,
          "This device has no \(change.id) to delete. If the server has it, use a network policy or "
            + "assumesRemote.")
      }
      try change.apply(in: transaction, assumedAt: clock.correctedNow())
    }
  }

  /// Makes a change of one record here, whatever an online save has left of it: a result that no row shows, or a hidden
  /// change of a record without a row. In a transaction of drafts all that is pending of the record becomes one.
  ///
  /// - Parameters:
  ///   - exists: true for a record that readers must see before.
  ///   - reveals: true if a hidden change of a record without a row is shown first.
  ///   - body: the change. Its argument is true if a hidden change was revealed for it.
  func make<Result>(
    _ id: RecordID, exists: Bool? = nil, reveals: Bool = true, in transaction: WriteTransaction,
    _ body: (Bool) throws -> Result
  ) throws -> Result {
    if let left = engine.runner.sent.left(id) {
      try StaleRows.mark(id, over: left.version, left.answer, in: transaction)
    }
    try OutboxQueue.forgetEnded(id, in: transaction)
    let isRevealed = try reveals && OutboxQueue.revealMissing(id, in: transaction)
    if isRevealed && exists == true { throw WriteTransaction.notFound(id) }
    let result = try body(isRevealed)
    if transaction.makesDrafts {
      try transaction.flush()
      try OutboxQueue.hold(id, in: transaction)
    }
    return result
  }

  /// Makes a change here, for a later sync to send. The parameters are those of `perform`.
  func keep(
    _ change: LocalChange, _ options: RequestOptions, exists: Bool? = nil,
    _ local: (@Sendable (WriteTransaction) throws -> Void)? = nil
  ) async throws -> SaveReceipt<AnyRecord> {
    try await writing(change.id.type, in: container(of: change), options) { transaction in
      try self.make(change, options, exists: exists, in: transaction, local)
      return try self.receipt(writing: change.id, in: transaction)
    } instead: {
      try await self.perform(change, $0)
    }
  }

  /// The options for all of a call that begins now, whatever policy is set meanwhile.
  func begun(_ options: RequestOptions) -> RequestOptions {
    // Without a cache every write is sent to the server; only a call that requests the cache itself throws.
    guard options.writePolicy == nil, opened.cache == .enabled else { return options }
    var options = options
    options.writePolicy = governor.writePolicy
    return options
  }

  /// Types that are written on the server only follow `.remoteThenLocal`, and are never queued.
  func policy(_ options: RequestOptions, _ type: String) throws -> WritePolicy {
    let table = try store.catalog.table(type)
    if options.storeFailure != nil && table.schema.isSynced { return .remote }
    if opened.cache == .disabled && table.schema.isSynced {
      if [.local, .draft].contains(options.writePolicy) { throw BothyError.cacheDisabled }
      return .remote
    }
    if table.schema.writeMode == .remoteOnly { return .remoteThenLocal }
    return table.schema.isSynced ? options.writePolicy ?? governor.writePolicy : .local
  }

  func requestAfterSave(_ options: RequestOptions) {
    if (options.writePolicy ?? governor.writePolicy) == .localThenRemote
      && opened.triggers.contains(.save)
    {
      engine.request()
    }
  }

  /// The container that a change counts as a write in.
  func container(of change: LocalChange) -> String {
    switch change {
    case .save(let record, let container): container ?? record.container
    case .persist(let record, _, _): record.container
    case .move(_, let container): container
    // Unreadable: the change itself will say why.
    case .delete(let id), .share(let id, _, _): (try? store.record(id))?.container ?? id.type
    }
  }

  /// Runs a block whose changes are drafts if the policy says so, by delete rules too.
  static func drafting<Result>(
    _ policy: WritePolicy?, _ transaction: WriteTransaction, _ body: (WriteTransaction) throws -> Result
  ) throws -> Result {
    guard policy == .draft else { return try body(transaction) }
    (transaction.changed, transaction.makesDrafts) = ([], true)
    let result = try body(transaction)
    try transaction.flush()
    return result
  }

  /// Returns the receipt for a write of this transaction. If nothing is left to send, the server has the record as it is,
  /// or never received it: then the insertion was taken back.
  func receipt(writing id: RecordID, in transaction: WriteTransaction) throws -> SaveReceipt<AnyRecord> {
    try transaction.flush()
    if let entry = try OutboxQueue.top(of: id, in: transaction) {
      return try receipt(for: entry, in: transaction)
    }
    let stored = try transaction.record(id)
    let isTakenBack = try stored == nil && Journal.last(of: id, in: transaction)?.outcome == .withdrawn
    return SaveReceipt(
      record: id, state: isTakenBack ? .withdrawn : .accepted(version: stored?.version ?? ""), store: self,
      revision: nil)
  }

  func receipt(for entry: Outbox.Entry, in transaction: ReadTransaction) throws -> SaveReceipt<AnyRecord> {
    let reason = try OutboxQueue.reason(of: entry, in: transaction)
    let state: SaveOutcome = entry.stage == .held ? .draft : SaveOutcome(refusedBy: reason) ?? .pending
    return SaveReceipt(
      record: entry.id, state: state, kind: entry.change, store: self, revision: entry.revision)
  }
}
