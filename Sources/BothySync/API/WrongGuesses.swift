public import BothyStore

// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension SyncedStore {
  @available(
    *, unavailable,
    message:
      "Name the record: `update(Todo.self, id: id) { … }` or `update(todo) { … }`. To change many, use `write { … }`."
  )
  public func update<E: Entity>(_ type: E.Type, _ change: (inout E) throws -> Void) async throws {}
  @available(*, unavailable, message: "To delete every record of the type, use `delete(Todo.all)`.")
  public func delete<E: Entity>(_ type: E.Type) async throws {}
  @available(*, unavailable, message: "Name the type too: `delete(Todo.self, id: id)`.")
  public func delete(_ id: String) async throws {}
}
