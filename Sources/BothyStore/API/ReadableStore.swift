/// The reading verbs of `LocalStore` and `SyncedStore`. They read the local file and make no request.
///
/// On a `SyncedStore`, `fetch` of records follows its read policy, which may send a request. A function that takes
/// `some ReadableStore`, like this one, reads the file alone:
///
/// ```swift
/// func openTodos(_ store: some ReadableStore) async throws -> [Todo] {
///   try await store.fetch(Todo.where { !$0.done })
/// }
/// ```
public protocol ReadableStore: Sendable {
  /// Runs a block on one snapshot, off the caller's thread. Costs 20 µs before the first read.
  ///
  /// All reads in the block see the same commit. The block must not wait for another task, because it holds one of the
  /// store's four readers.
  func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result

  /// Returns the present value of a request, then each later one. A commit that touches the types of the request costs
  /// one read of its value. The call itself reads nothing. The sequence ends when the task is cancelled or the store is
  /// closed, and throws the error of a read.
  func values<R: ReadRequest>(of request: R) -> LiveValues<R.Value>
}

extension ReadableStore {
  /// Fetches what a request describes from the local file. One query; joins read two.
  ///
  /// Runs off the caller's thread, in a transaction of its own. For several results of one moment use `read`.
  ///
  /// - Throws: `BothyError` `unknownField` or `invalidQuery` for a request that doesn't fit the schema, and
  ///   `unknownType` for a type that the store wasn't opened with. Also `.cancelled` in a cancelled task.
  public func fetch<R: ReadRequest>(_ request: R) async throws -> R.Value {
    try await read { try $0.fetch(request) }
  }

  /// Fetches every record of a type, ordered by id. One query.
  ///
  /// All records are in memory at once. Ids made by default sort by the time of their creation. Leaves out records with
  /// content that this app doesn't know and has no default for.
  public func fetch<E: Entity>(_ type: E.Type) async throws -> [E] { try await fetch(RecordQuery<E>()) }

  /// Fetches one record, or `nil`. One row by primary key.
  ///
  /// - Throws: `BothyError` `.invalidValue` for a record with content that this app doesn't know and has no default
  ///   for. A type that the store wasn't opened with throws `unknownType`.
  public func fetch<E: Entity>(_ type: E.Type, id: String) async throws -> E? {
    try await read { try $0.fetch(type, id: id) }
  }

  /// Fetches the record that a reference points at, or `nil`. One row by primary key.
  ///
  /// A target that isn't on this device counts as absent. For many records use `RecordQuery.with(_:)`, which reads each
  /// target once.
  public func fetch<E: Entity>(_ reference: Reference<E>) async throws -> E? {
    try await fetch(E.self, id: reference.id)
  }

  /// Counts the records that a query selects. Reads no fields but those of the condition.
  ///
  /// The limit and the offset hold. Records that a fetch leaves out because this app can't read them are counted.
  ///
  /// - Throws: `BothyError` `unknownField` or `invalidQuery` for a query that doesn't fit the schema.
  public func count<E: Entity>(_ query: RecordQuery<E>) async throws -> Int {
    try await read { try $0.count(query) }
  }

  /// Counts every record of a type.
  ///
  /// SQLite reads the smallest index or the table to its end, so the time grows with the type. No record is made.
  public func count<E: Entity>(_ type: E.Type) async throws -> Int { try await count(RecordQuery<E>()) }

  /// The present records of a type, then each later list.
  ///
  /// Ordered by id. Each commit that touches the type costs a read of all its records, so large types need a query with
  /// a limit.
  public func values<E: Entity>(of type: E.Type) -> LiveValues<[E]> { values(of: RecordQuery<E>()) }

  /// The present state of one record, then each later one; `nil` while it doesn't exist. One row by primary key after
  /// each commit that touches the record.
  ///
  /// ```swift
  /// for try await current in store.values(of: Todo.self, id: todo.id) { show(current?.title ?? "deleted") }
  /// ```
  public func values<E: Entity>(of type: E.Type, id: String) -> LiveValues<E?> {
    values(of: RecordByID<E>(id: id))
  }
}

/// One record by its id.
struct RecordByID<E: Entity>: ReadRequest {
  let id: String

  var plan: ReadTransaction.Plan<E?> {
    ReadTransaction.Plan(.records(RecordID(E.self, id: id)), ReadIdentity(words: [E.typeName, id])) {
      [id] transaction, fingerprint in
      let entity = try transaction.fetch(E.self, id: id)
      if let entity { fingerprint?.combine(entity) }
      return entity
    }
  }
}
