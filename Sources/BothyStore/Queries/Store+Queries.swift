/// Queries in a transaction of their own. The synchronous forms run on the calling thread, the asynchronous ones
/// off it; neither waits for a write. What each costs and throws is said at `ReadTransaction`'s method.
extension Store {
  /// The records that the query describes, in its order.
  @inlinable
  public func fetch<E: Entity>(_ query: RecordQuery<E>) throws -> [E] { try read { try $0.fetch(query) } }

  /// The records that the query describes, in its order.
  @inlinable
  public func fetch<E: Entity>(_ query: RecordQuery<E>) async throws -> [E] {
    try await read { try $0.fetch(query) }
  }

  /// The records that the query describes, of any type.
  public func fetch(_ query: AnyQuery) throws -> [AnyRecord] { try read { try $0.fetch(query) } }

  /// The records that the query describes, of any type.
  public func fetch(_ query: AnyQuery) async throws -> [AnyRecord] { try await read { try $0.fetch(query) } }

  /// The records with the ids, in the order of the ids, all from one moment; absent ones are left out.
  @inlinable
  public func fetch<E: Entity>(_ type: E.Type, ids: some Sequence<String>) throws -> [E] {
    try read { try $0.fetch(type, ids: ids) }
  }

  /// The records with the ids, in the order of the ids, all from one moment; absent ones are left out.
  @inlinable
  public func fetch<E: Entity>(_ type: E.Type, ids: some Sequence<String> & Sendable) async throws -> [E] {
    try await read { try $0.fetch(type, ids: ids) }
  }

  /// How many records `fetch` would return.
  public func count<E: Entity>(_ query: RecordQuery<E>) throws -> Int { try count(query.recordQuery) }

  /// How many records `fetch` would return.
  public func count<E: Entity>(_ query: RecordQuery<E>) async throws -> Int {
    try await count(query.recordQuery)
  }

  /// How many records `fetch` would return.
  public func count(_ query: AnyQuery) throws -> Int { try read { try $0.count(query) } }

  /// How many records `fetch` would return.
  public func count(_ query: AnyQuery) async throws -> Int { try await read { try $0.count(query) } }
}
