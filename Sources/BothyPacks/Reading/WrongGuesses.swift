public import BothyStore

// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension Pack {
  @available(*, unavailable, message: "Fetch a query of every record: `fetch(City.all)`.")
  public func fetch<E: Entity>(_ type: E.Type) throws -> [E] { [] }
  @available(*, unavailable, message: "Count a query of every record: `count(City.all)`.")
  public func count<E: Entity>(_ type: E.Type) throws -> Int { 0 }
  @available(
    *, unavailable,
    message:
      "A pack answers queries of records, which may lie in several files. Fetch them, or use `count(_:)`."
  )
  public func fetch<R: ReadRequest>(_ request: R) async throws -> R.Value { throw CancellationError() }
  @available(
    *, unavailable,
    message: "A pack has no transactions, because it never changes. Call `fetch` for each query."
  )
  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (ReadTransaction) throws -> Result
  ) async throws -> Result { throw CancellationError() }
  @available(
    *, unavailable, message: "A pack never changes: `fetch` once. `PackStore.pack()` opens a newer version."
  )
  public func values<R: ReadRequest>(of request: R) -> AsyncStream<R.Value> { AsyncStream { $0.finish() } }
  @available(*, unavailable, renamed: "fetch(_:)")
  public func resolve<Target: Entity>(_ reference: Reference<Target>) throws -> Target? {
    try fetch(reference)
  }
}
