public import BothyStore

extension SyncedStore {
  /// The local file, for the benchmarks, which are a package of their own and measure its blocking calls.
  @_spi(Benchmarks) public var localFile: LocalStore { store }

  /// The path of the file; empty for a store in memory.
  public var path: String { store.path }

  /// The types that the store holds.
  public var schema: StoreSchema { store.schema }

  /// Closes the file, after transactions that are running. Later calls throw `BothyError`.
  public func close() throws { try store.close() }

  /// The changed records of each commit of this process from now on, with their origin: an array for each commit. Commits of
  /// other processes are left out.
  ///
  /// While a listener exists, each write costs a note, and a write from the server one more look-up. A slow listener
  /// receives all events later. Ends when the store is closed.
  public var events: AsyncStream<[RecordChange]> { store.events }

  /// Returns the records that a query selects in the local file, in the order of the query. Iterating reads one page after
  /// another, so memory is bounded by one page.
  ///
  /// ```swift
  /// for try await todo in store.records(Todo.order(by: \.title), pageSize: 100) { print(todo.title) }
  /// ```
  public func records<E: Entity>(_ query: RecordQuery<E>, pageSize: Int = 500) -> RecordPages<E> {
    store.records(query, pageSize: pageSize)
  }

  /// Returns records of any type, like `records(_:pageSize:)` with a typed query.
  public func records(_ query: AnyQuery, pageSize: Int = 500) -> RecordPages<AnyRecord> {
    store.records(query, pageSize: pageSize)
  }

  /// Fetches a record of any type from the local file, or `nil`. One look-up.
  public func record(_ id: RecordID) async throws -> AnyRecord? { try await read { try $0.record(id) } }
}
