public import BothyStore
import Logging

/// The writing verbs. Each is durable when it returns, and sent by the write policy.
///
/// ```swift
/// let lamp = Todo(title: "Oil the lamp")
/// try await store.save(lamp)
/// try await store.update(Todo.self, id: lamp.id) { $0.done = true }
/// try await store.delete(Todo.where { $0.done })
/// ```
extension SyncedStore {
  /// Inserts or updates a record; `nil` means the write policy in force.
  ///
  /// ```swift
  /// try await store.save(Trip(name: "Oslo to Bergen"), in: "trips/oslo", policy: .draft)
  /// ```
  ///
  /// Under `.localThenRemote` and `.local` it returns when the write is durable here: one transaction. Under
  /// `.remoteThenLocal` and `.remote` it returns when the server has answered: one round trip and four transactions.
  /// A rejection is thrown then, and changes nothing here.
  ///
  /// Throws `BothyError` for what does not fit the schema, `BothyError` `.rejected` for a rejection, `.unreachable` under
  /// `.remote`, and `.requiresNetwork` for a type that is written on the server only.
  @discardableResult
  public func save<E: Entity>(
    _ record: E, in container: String? = nil, policy: WritePolicy? = nil
  ) async throws -> SaveReceipt<E> {
    try await save(record, in: container, options: RequestOptions(writePolicy: policy))
  }

  /// Inserts or updates records, in one transaction of the local file. Returns a receipt for each, in their order.
  ///
  /// Under `.remoteThenLocal` and `.remote` each record is a save of its own, one after the other. The first that
  /// fails ends the call; those before it are saved.
  @discardableResult
  public func save<E: Entity>(
    _ records: [E], in container: String? = nil, policy: WritePolicy? = nil
  ) async throws -> [SaveReceipt<E>] {
    try await save(records, in: container, begun(RequestOptions(writePolicy: policy)))
  }

  private func save<E: Entity>(
    _ records: [E], in container: String?, _ options: RequestOptions
  ) async throws -> [SaveReceipt<E>] {
    guard try policy(options, E.typeName).sendsFirst else {
      return try await writing(E.typeName, in: container ?? E.typeName, options) { transaction in
        try records.map { record in
          let id = RecordID(record)
          try self.make(id, in: transaction) { _ in try transaction.save(record, in: container) }
          return try self.receipt(writing: id, in: transaction).typed(E.self)
        }
      } instead: {
        try await self.save(records, in: container, $0)
      }
    }
    var receipts: [SaveReceipt<E>] = []
    for record in records { receipts.append(try await save(record, in: container, options: options)) }
    return receipts
  }

  /// Inserts a record. Throws `BothyError` `.alreadyExists` if its id is taken on this device; `save` updates it then.
  /// Costs as `save`.
  @discardableResult
  public func insert<E: Entity>(
    _ record: E, in container: String? = nil, policy: WritePolicy? = nil
  ) async throws -> SaveReceipt<E> {
    try await write(record, in: container, RequestOptions(writePolicy: policy), exists: false) {
      try $0.insert(record, in: container)
    }
  }

  /// Updates a record. Throws `BothyError` `.notFound` if it is not on this device; `save` inserts it then. Costs as
  /// `save`.
  @discardableResult
  public func update<E: Entity>(_ record: E, policy: WritePolicy? = nil) async throws -> SaveReceipt<E> {
    try await write(record, in: nil, RequestOptions(writePolicy: policy), exists: true) {
      try $0.update(record)
    }
  }

  /// Changes a record in place. Only changed fields are sent. Throws `BothyError` `.notFound` if it is not on this device.
  ///
  /// ```swift
  /// try await store.update(Hut.self, id: "corrour") { $0.beds += 2 }
  /// ```
  ///
  /// A server-first write reads the record before. Changes that others make meanwhile stay. Costs as
  /// `save`.
  @discardableResult
  public func update<E: Entity>(
    _ type: E.Type, id: String, policy: WritePolicy? = nil,
    _ change: @escaping @Sendable (inout E) throws -> Void
  ) async throws -> SaveReceipt<E> {
    try await update(type, id, begun(RequestOptions(writePolicy: policy)), change)
  }

  private func update<E: Entity>(
    _ type: E.Type, _ id: String, _ options: RequestOptions,
    _ change: @escaping @Sendable (inout E) throws -> Void
  ) async throws -> SaveReceipt<E> {
    let record = RecordID(E.self, id: id)
    guard try policy(options, E.typeName).sendsFirst else {
      return try await writing(E.typeName, in: E.typeName, options) { transaction in
        try self.make(record, exists: true, in: transaction) { _ in
          _ = try transaction.update(type, id: id, change)
        }
        return try self.receipt(writing: record, in: transaction).typed(E.self)
      } instead: {
        try await self.update(type, id, $0, change)
      }
    }
    guard var value = try await store.read({ try $0.fetch(type, id: id) }) else {
      throw WriteTransaction.notFound(record)
    }
    try change(&value)
    return try await save(value, options: options)
  }

  /// Changes the stored record with the id of `record` in place: other changes that `record` holds are not saved. Throws
  /// `BothyError` `.notFound` if it is not on this device.
  @discardableResult
  public func update<E: Entity>(
    _ record: E, policy: WritePolicy? = nil, _ change: @escaping @Sendable (inout E) throws -> Void
  ) async throws -> SaveReceipt<E> {
    try await update(E.self, id: record.id, policy: policy, change)
  }

  /// Deletes a record. Throws `BothyError` `.notFound` if it is not on this device.
  @discardableResult
  public func delete<E: Entity>(_ record: E, policy: WritePolicy? = nil) async throws -> SaveReceipt<E> {
    try await delete(E.self, id: record.id, policy: policy)
  }

  /// Deletes a record by its id. Throws `BothyError` `.notFound` if it is not on this device; a policy that uses the
  /// server deletes it there all the same.
  @discardableResult
  public func delete<E: Entity>(
    _ type: E.Type, id: String, policy: WritePolicy? = nil
  ) async throws -> SaveReceipt<E> {
    try await delete(RecordID(E.self, id: id), options: RequestOptions(writePolicy: policy)).typed(E.self)
  }

  /// Deletes records in one transaction, and returns the number of those that were on this device. Under a policy that
  /// uses the server first each is a deletion of its own.
  @discardableResult
  public func delete<E: Entity>(_ records: [E]) async throws -> Int {
    try await delete(E.self, begun(RequestOptions())) { _ in records.map(\.id) }
  }

  /// Deletes the records that a query selects, in one transaction, and returns their number. Under a policy that uses
  /// the server first each is a deletion of its own; only records on this device are found.
  @discardableResult
  public func delete<E: Entity>(_ query: RecordQuery<E>) async throws -> Int {
    try await delete(E.self, begun(RequestOptions())) { try $0.ids(query.recordQuery) }
  }

  private func delete<E: Entity>(
    _ type: E.Type, _ options: RequestOptions,
    _ ids: @escaping @Sendable (ReadTransaction) throws -> [String]
  ) async throws -> Int {
    guard try policy(options, E.typeName).sendsFirst else {
      return try await writing(E.typeName, in: E.typeName, options) { transaction in
        try ids(transaction).count { id in
          try self.make(RecordID(type, id: id), in: transaction) { _ in try transaction.delete(type, id: id) }
        }
      } instead: {
        try await self.delete(type, $0, ids)
      }
    }
    let found = try await store.read { transaction in
      try ids(transaction).filter { try transaction.exists(type, id: $0) }
    }
    for id in found { try await delete(RecordID(E.self, id: id), options: options) }
    return found.count
  }

  // MARK: writing by policy

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
  private func make<Result>(
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
}
