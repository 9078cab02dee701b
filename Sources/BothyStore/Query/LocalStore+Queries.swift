/// Queries in a transaction of their own. The synchronous forms run on the calling thread, the asynchronous ones
/// outside it. Neither waits for a write. The methods of `ReadTransaction` document costs and errors.
extension LocalStore {
  /// Returns the records that the query describes, in its order.
  @inlinable
  package func fetch<E: Entity>(_ query: RecordQuery<E>) throws -> [E] { try read { try $0.fetch(query) } }

  /// Returns the records that the query describes, in its order.
  @inlinable
  package func fetch<E: Entity>(_ query: RecordQuery<E>) async throws -> [E] {
    try await read { try $0.fetch(query) }
  }

  /// Returns the records of any type that the query describes.
  package func fetch(_ query: AnyQuery) throws -> [AnyRecord] { try read { try $0.fetch(query) } }

  /// Returns the records of any type that the query describes.
  package func fetch(_ query: AnyQuery) async throws -> [AnyRecord] { try await read { try $0.fetch(query) } }

  /// Returns the records with the ids, in the order of the ids, all from one moment. Leaves out absent records.
  @inlinable
  package func fetch<E: Entity>(_ type: E.Type, ids: some Sequence<String>) throws -> [E] {
    try read { try $0.fetch(type, ids: ids) }
  }

  /// Returns the records with the ids, in the order of the ids, all from one moment. Leaves out absent records.
  @inlinable
  package func fetch<E: Entity>(_ type: E.Type, ids: some Sequence<String> & Sendable) async throws -> [E] {
    try await read { try $0.fetch(type, ids: ids) }
  }

  /// Returns the number of records that `fetch` returns.
  package func count<E: Entity>(_ query: RecordQuery<E>) throws -> Int { try count(query.recordQuery) }

  /// Returns the number of records that `fetch` returns.
  package func count<E: Entity>(_ query: RecordQuery<E>) async throws -> Int {
    try await count(query.recordQuery)
  }

  /// Returns the number of records that `fetch` returns.
  package func count(_ query: AnyQuery) throws -> Int { try read { try $0.count(query) } }

  /// Returns the number of records that `fetch` returns.
  package func count(_ query: AnyQuery) async throws -> Int { try await read { try $0.count(query) } }
}
