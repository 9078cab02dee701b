/// The reading verbs of `LocalStore` and `SyncedStore`. They read the local file and make no request.
///
/// On a `SyncedStore`, `fetch` of records follows its read policy, which may send a request.
///
/// ```swift
/// func openTodos(_ store: some ReadableStore) async throws -> [Todo] {
///   try await store.fetch(Todo.where { !$0.done })
/// }
/// ```
public protocol ReadableStore: Sendable {
  /// Runs a block on one snapshot, off the caller's thread. Costs 20 µs before the first read.
  func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result

  /// Returns the present value of a request, then each later one. A commit that touches the types of the request costs
  /// one read of its value.
  func values<R: ReadRequest>(of request: R) -> LiveValues<R.Value>
}

extension ReadableStore {
  /// Fetches what a request describes from the local file. One query; joins read two.
  public func fetch<R: ReadRequest>(_ request: R) async throws -> R.Value {
    try await read { try $0.fetch(request) }
  }

  /// Fetches every record of a type, ordered by id. One query.
  public func fetch<E: Entity>(_ type: E.Type) async throws -> [E] { try await fetch(RecordQuery<E>()) }

  /// Fetches one record, or `nil`. One row by primary key.
  public func fetch<E: Entity>(_ type: E.Type, id: String) async throws -> E? {
    try await read { try $0.fetch(type, id: id) }
  }

  /// Fetches the record that a reference points at, or `nil`. One row by primary key.
  public func fetch<E: Entity>(_ reference: Reference<E>) async throws -> E? {
    try await fetch(E.self, id: reference.id)
  }

  /// Counts the records that a query selects. Reads no fields but those of the condition.
  public func count<E: Entity>(_ query: RecordQuery<E>) async throws -> Int {
    try await read { try $0.count(query) }
  }

  /// Counts every record of a type.
  public func count<E: Entity>(_ type: E.Type) async throws -> Int { try await count(RecordQuery<E>()) }

  /// The present records of a type, then each later list.
  public func values<E: Entity>(of type: E.Type) -> LiveValues<[E]> { values(of: RecordQuery<E>()) }

  /// The present state of one record, then each later one; `nil` while it doesn't exist. One row by primary key after
  /// each commit that touches the record.
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
