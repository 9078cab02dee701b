// Likely wrong guesses of a store's verbs, answered by the compiler with the right call. No symbol here is ever called.

extension ReadableStore {
  @available(*, unavailable, renamed: "values(of:)")
  public func observe<R: ReadRequest>(_ request: R) -> LiveValues<R.Value> { values(of: request) }
  @available(*, unavailable, renamed: "values(of:)")
  public func watch<R: ReadRequest>(_ request: R) -> LiveValues<R.Value> { values(of: request) }
  @available(*, unavailable, message: "Give the type and the id: `values(of: Todo.self, id: todo.id)`.")
  public func values<E: Entity>(of record: E) -> LiveValues<E?> { values(of: E.self, id: record.id) }
  @available(*, unavailable, renamed: "fetch(_:)")
  public func fetchAll<E: Entity>(_ query: RecordQuery<E>) async throws -> [E] { [] }
  @available(*, unavailable, renamed: "fetch(_:)")
  public func fetchAll<E: Entity>(_ type: E.Type) async throws -> [E] { [] }
  @available(*, unavailable, message: "Fetch the first record: `fetch(Todo.where { $0.done }.first())`.")
  public func fetchOne<E: Entity>(_ query: RecordQuery<E>) async throws -> E? { nil }
  @available(*, unavailable, renamed: "count(_:)")
  public func fetchCount<E: Entity>(_ query: RecordQuery<E>) async throws -> Int { 0 }
  @available(*, unavailable, renamed: "fetch(_:id:)")
  public func get<E: Entity>(_ type: E.Type, _ id: String) async throws -> E? { nil }
  @available(*, unavailable, renamed: "fetch(_:id:)")
  public func find<E: Entity>(_ type: E.Type, id: String) async throws -> E? { nil }
  @available(*, unavailable, message: "Count the records: `count(query) > 0`.")
  public func exists<E: Entity>(_ query: RecordQuery<E>) async throws -> Bool { false }
  @available(*, unavailable, message: "Put the condition in the query: `fetch(Todo.where { $0.done })`.")
  public func fetch<E: Entity>(
    _ type: E.Type, where condition: (E.Fields) -> Condition
  ) async throws -> [E] { [] }
  @available(*, unavailable, message: "Put the condition in the query: `fetch(Todo.where { $0.done })`.")
  public func fetch<E: Entity>(
    _ type: E.Type, where field: (E.Fields) -> Field<Bool>
  ) async throws -> [E] { [] }
  @available(
    *, unavailable, message: "Put the ids in the query: `fetch(Todo.where { ids.contains($0.id) })`."
  )
  public func fetch<E: Entity>(_ type: E.Type, ids: [String]) async throws -> [E] { [] }
  @available(*, unavailable, message: "Fetch a sum: `fetch(Todo.all.sum(\\.effort))`.")
  public func sum<E: Entity, V>(
    _ query: RecordQuery<E>, _ field: KeyPath<E.Fields, Field<V>>
  ) async throws {}
}

extension LocalStore {
  @available(*, unavailable, message: "Use `LocalStore(inMemory: [Todo.self])`.")
  public static func inMemory(_ schema: StoreSchema) throws -> LocalStore { try LocalStore(inMemory: schema) }
}

extension StoreSchema {
  @available(
    *, unavailable, message: "Write the types without brackets: `StoreSchema(version: 2, Todo.self)`."
  )
  public init(version: Int, _ types: [any Entity.Type]) { self.init(types, version: version) }
}

extension WriteTransaction {
  @available(*, unavailable, renamed: "save(_:in:)")
  public func insert<E: Entity>(_ records: [E], in container: String? = nil) throws {}
}

extension Migration.Step {
  @available(*, unavailable, renamed: "dropField(type:field:)")
  public static func removeField(type: String, field: String) -> Self { .dropField(type: type, field: field) }
  @available(*, unavailable, renamed: "dropType(_:)")
  public static func removeType(_ type: String) -> Self { .dropType(type) }
  @available(
    *, unavailable, message: "A new field that is optional or has a default needs no step. Raise the version."
  )
  public static func addField(type: String, field: String) -> Self { .dropField(type: type, field: field) }
}
