public import BothyStore

/// The reading verbs, answered from the local file.
extension SyncedStore: ReadableStore {
  /// Runs a block on one snapshot of the local file, off the caller's thread. Makes no request.
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result { try await store.read(body) }

  /// Returns the present value of a request, then each later one, whether a save here or a sync brought it.
  public func values<R: ReadRequest>(of request: R) -> LiveValues<R.Value> { store.values(of: request) }

  /// Fetches the records that a query selects, by a read policy; `nil` means the one of the configuration.
  ///
  /// Costs one local query. A policy that uses the server adds a round trip for each thousand records. Throws
  /// `BothyError` `.unreachable` where the policy needs the server.
  public func fetch<E: Entity>(_ query: RecordQuery<E>, policy: ReadPolicy? = nil) async throws -> [E] {
    try await fetchResult(query, options: RequestOptions(readPolicy: policy)).records
  }

  /// Fetches by a read policy, and reports where the answer comes from. Costs and throws as `fetch(_:policy:)`.
  public func fetchResult<E: Entity>(
    _ query: RecordQuery<E>, policy: ReadPolicy
  ) async throws -> FetchResult<E> {
    try await fetchResult(query, options: RequestOptions(readPolicy: policy))
  }

  /// Fetches every record of a type, ordered by id, by a read policy.
  public func fetch<E: Entity>(_ type: E.Type, policy: ReadPolicy? = nil) async throws -> [E] {
    try await fetch(RecordQuery<E>(), policy: policy)
  }

  /// Fetches one record by a read policy, or `nil` if it doesn't exist.
  public func fetch<E: Entity>(_ type: E.Type, id: String, policy: ReadPolicy? = nil) async throws -> E? {
    try await fetch(type, id: id, options: RequestOptions(readPolicy: policy))
  }
}

/// The writing verbs. Each is durable when it returns, and sent by the write policy.
///
/// ```swift
/// try await store.save(Todo(title: "Oil the lamp"))
/// try await store.update(Todo.self, id: id) { $0.done.toggle() }
/// try await store.delete(Todo.where { $0.done })
/// ```
extension SyncedStore {
  /// Inserts or updates a record; `nil` means the write policy in force.
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
    let options = begun(RequestOptions(writePolicy: policy))
    guard try isServerFirst(options, E.typeName) else {
      return try await writing(options) { transaction in
        try records.map { record in
          try transaction.save(record, in: container)
          return try self.receipt(writing: RecordID(record), in: transaction).typed(E.self)
        }
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
  /// A server-first write reads the record before. Changes that others make meanwhile stay. Costs as
  /// `save`.
  @discardableResult
  public func update<E: Entity>(
    _ type: E.Type, id: String, policy: WritePolicy? = nil,
    _ change: @escaping @Sendable (inout E) throws -> Void
  ) async throws -> SaveReceipt<E> {
    let options = begun(RequestOptions(writePolicy: policy))
    let record = RecordID(E.self, id: id)
    guard try isServerFirst(options, E.typeName) else {
      return try await writing(options) { transaction in
        try transaction.update(type, id: id, change)
        return try self.receipt(writing: record, in: transaction).typed(E.self)
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
    try await delete(E.self) { transaction in
      try records.map(\.id).filter { try transaction.exists(E.self, id: $0) }
    }
  }

  /// Deletes the records that a query selects, in one transaction, and returns their number. Under a policy that uses
  /// the server first each is a deletion of its own; only records on this device are found.
  @discardableResult
  public func delete<E: Entity>(_ query: RecordQuery<E>) async throws -> Int {
    try await delete(E.self) { try $0.ids(query.recordQuery) }
  }

  private func delete<E: Entity>(
    _ type: E.Type, _ ids: @escaping @Sendable (ReadTransaction) throws -> [String]
  ) async throws -> Int {
    let options = begun(RequestOptions())
    guard try isServerFirst(options, E.typeName) else {
      return try await writing(options) { transaction in
        var count = 0
        for id in try ids(transaction) where try transaction.delete(type, id: id) { count += 1 }
        return count
      }
    }
    let found = try await store.read(ids)
    for id in found { try await delete(RecordID(E.self, id: id), options: options) }
    return found.count
  }

  /// True if a write of the type reaches the server before anything changes here.
  private func isServerFirst(_ options: RequestOptions, _ type: String) throws -> Bool {
    switch try policy(options, type) {
    case .remote, .remoteThenLocal: true
    case .local, .localThenRemote, .draft: false
    }
  }

  /// Runs one transaction of the local file, and requests a sync as the policy says.
  private func writing<Result: Sendable>(
    _ options: RequestOptions, _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result {
    let result = try await store.write(body)
    askAfterSave(options)
    return result
  }
}
