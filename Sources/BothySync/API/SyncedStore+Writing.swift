public import BothyStore

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

  /// Changes the records that a query selects in place, in one transaction, and returns their number.
  ///
  /// ```swift
  /// let count = try await store.update(Todo.where { $0.due < Date() }) { $0.effort += 1 }
  /// ```
  ///
  /// Memory holds the records. Only changed fields are sent. Records that this app can't read are left out, and only
  /// those on this device are found. Under a policy that uses the server first each is a change of its own: the first
  /// that fails ends the call, and those before it are saved. Throws the error of `change`, and as `update(_:id:)`.
  @discardableResult
  public func update<E: Entity>(
    _ query: RecordQuery<E>, _ change: @escaping @Sendable (inout E) throws -> Void
  ) async throws -> Int {
    try await update(query, begun(RequestOptions()), change)
  }

  private func update<E: Entity>(
    _ query: RecordQuery<E>, _ options: RequestOptions,
    _ change: @escaping @Sendable (inout E) throws -> Void
  ) async throws -> Int {
    guard try policy(options, E.typeName).sendsFirst else {
      return try await writing(E.typeName, in: E.typeName, options) { transaction in
        let found = try transaction.fetch(query)
        for record in found {
          try self.make(RecordID(record), exists: true, in: transaction) { _ in
            _ = try transaction.update(record, change)
          }
        }
        return found.count
      } instead: {
        try await self.update(query, $0, change)
      }
    }
    let found = try await store.read { try $0.fetch(query) }
    for record in found { _ = try await update(E.self, record.id, options, change) }
    return found.count
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
}
