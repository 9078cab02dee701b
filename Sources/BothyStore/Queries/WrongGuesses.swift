// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension RecordQuery {
  @available(*, unavailable, renamed: "where(_:)")
  public func filter(_ condition: (E.Fields) -> Condition) -> Self { self }
  @available(*, unavailable, renamed: "where(_:)")
  public func filter(_ field: (E.Fields) -> Field<Bool>) -> Self { self }
  @available(*, unavailable, renamed: "order(by:_:)")
  public func sorted<V>(by field: KeyPath<E.Fields, Field<V>>) -> Self { self }
  @available(
    *, unavailable,
    message: "Write \\.title, without the type's name: conditions and sort keys name fields of Todo.Fields."
  )
  public func order<V>(by property: KeyPath<E, V>, _ direction: SortDirection = .ascending) -> Self { self }
}

extension Entity {
  @available(*, unavailable, renamed: "where(_:)")
  public static func filter(_ condition: (Fields) -> Condition) -> RecordQuery<Self> { RecordQuery() }
  @available(*, unavailable, renamed: "where(_:)")
  public static func filter(_ field: (Fields) -> Field<Bool>) -> RecordQuery<Self> { RecordQuery() }
  @available(
    *, unavailable,
    message: "Write \\.title, without the type's name: conditions and sort keys name fields of Todo.Fields."
  )
  public static func order<V>(
    by property: KeyPath<Self, V>, _ direction: SortDirection = .ascending
  ) -> RecordQuery<Self> { RecordQuery() }
}

extension FieldSchema {
  @available(
    *, unavailable,
    message: "A record isn't stored in another. Declare a `Reference` to it, and fetch both with `.with(_:)`."
  )
  public static func field<E: Entity>(
    _ name: String, _ type: E.Type, default: E? = nil, onDelete: FieldKind.DeleteRule = .nullify
  ) -> FieldSchema { FieldSchema(name, .text) }
  @available(
    *, unavailable,
    message: "A record isn't stored in another. Declare a `Reference` to it, and fetch both with `.with(_:)`."
  )
  public static func field<E: Entity>(
    _ name: String, _ type: E?.Type, default: E? = nil, onDelete: FieldKind.DeleteRule = .nullify
  ) -> FieldSchema { FieldSchema(name, .text) }
}

extension Field {
  @available(
    *, unavailable,
    message: "A condition is computed by SQLite. Use `contains` or `hasPrefix` with `ignoringCase:`."
  )
  public func lowercased() -> Self { self }
}

extension ReadableStore {
  @available(*, unavailable, renamed: "values(of:)")
  public func observe<R: ReadRequest>(_ request: R) -> LiveValues<R.Value> { values(of: request) }
}
