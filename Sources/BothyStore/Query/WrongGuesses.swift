// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension RecordQuery {
  @available(*, unavailable, renamed: "where(_:)")
  public func filter(_ condition: (E.Fields) -> Condition) -> Self { self }
  @available(*, unavailable, renamed: "where(_:)")
  public func filter(_ field: (E.Fields) -> Field<Bool>) -> Self { self }
  @available(*, unavailable, renamed: "order(by:_:)")
  public func sorted<V>(by field: KeyPath<E.Fields, Field<V>>) -> Self { self }
  @available(*, unavailable, renamed: "order(by:_:)")
  public func sort<V>(by field: KeyPath<E.Fields, Field<V>>) -> Self { self }
  @available(*, unavailable, message: "Give the direction: `order(by: \\.title, .descending)`.")
  public func order<V>(by field: KeyPath<E.Fields, Field<V>>, ascending: Bool) -> Self { self }
  @available(
    *, unavailable,
    message:
      "Call `order` for each key, the most important one first: `order(by: \\.due).order(by: \\.title)`."
  )
  public func order<V, W>(
    by first: KeyPath<E.Fields, Field<V>>, _ second: KeyPath<E.Fields, Field<W>>
  ) -> Self { self }
  @available(*, unavailable, message: "Give the direction: `order(by: \\.title, .descending)`.")
  public func reversed() -> Self { self }
  @available(*, unavailable, renamed: "limit(_:)")
  public func prefix(_ count: Int) -> Self { self }
  @available(*, unavailable, message: "Give it with the limit: `limit(20, offset: 40)`.")
  public func offset(_ count: Int) -> Self { self }
  @available(*, unavailable, renamed: "matching(_:)")
  public func search(_ words: String) -> Self { self }
  @available(*, unavailable, renamed: "minimum(_:)")
  public func min<V: FieldConvertible>(_ field: KeyPath<E.Fields, Field<V>>) -> AggregateQuery<V?> {
    minimum(field)
  }
  @available(*, unavailable, renamed: "maximum(_:)")
  public func max<V: FieldConvertible>(_ field: KeyPath<E.Fields, Field<V>>) -> AggregateQuery<V?> {
    maximum(field)
  }
  @available(*, unavailable, renamed: "group(by:)")
  public func grouped<Key: FieldConvertible>(by field: KeyPath<E.Fields, Field<Key>>) -> GroupQuery<E, Key> {
    group(by: field)
  }
  @available(*, unavailable, message: "Name the field: `distinct(\\.list)`.")
  public func distinct() -> Self { self }
  @available(*, unavailable, renamed: "count(distinct:)")
  public func countDistinct<V>(_ field: KeyPath<E.Fields, Field<V>>) -> AggregateQuery<Int> {
    count(distinct: field)
  }
  @available(*, unavailable, message: "Give a query of the children: `with(Step.all, by: \\.todo)`.")
  public func with<C: Entity>(
    _ type: C.Type, by field: KeyPath<C.Fields, Field<Reference<E>?>>
  ) -> JoinQuery<Joined<E, [C]>> { with(RecordQuery<C>(), by: field) }
  @available(*, unavailable, message: "Give a query of the children: `with(Step.all, by: \\.todo)`.")
  public func with<C: Entity>(
    _ type: C.Type, by field: KeyPath<C.Fields, Field<Reference<E>>>
  ) -> JoinQuery<Joined<E, [C]>> { with(RecordQuery<C>(), by: field) }
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

extension Entity {
  @available(*, unavailable, renamed: "order(by:_:)")
  public static func sorted<V>(by field: KeyPath<Fields, Field<V>>) -> RecordQuery<Self> { RecordQuery() }
  @available(*, unavailable, message: "Begin with `all`: `Todo.all.limit(20)`.")
  public static func limit(_ count: Int, offset: Int = 0) -> RecordQuery<Self> { RecordQuery() }
  @available(*, unavailable, message: "Begin with `all`: `Todo.all.matching(\"oil\")`.")
  public static func matching(_ words: String) -> RecordQuery<Self> { RecordQuery() }
  @available(*, unavailable, message: "Begin with `all`: `Todo.all.count()`.")
  public static func count() -> AggregateQuery<Int> { RecordQuery<Self>().count() }
  @available(*, unavailable, message: "Begin with `all`: `Todo.all.group(by: \\.list)`.")
  public static func group<Key: FieldConvertible>(
    by field: KeyPath<Fields, Field<Key>>
  ) -> GroupQuery<Self, Key> { RecordQuery<Self>().group(by: field) }
  @available(*, unavailable, message: "Begin with `all`: `Todo.all.select(\\.title)`.")
  public static func select<V>(_ field: KeyPath<Fields, Field<V>>) -> JoinQuery<V> {
    RecordQuery<Self>().select(field)
  }
  @available(*, unavailable, message: "Begin with `all`: `Todo.all.distinct(\\.list)`.")
  public static func distinct<V>(_ field: KeyPath<Fields, Field<V>>) -> JoinQuery<V> {
    RecordQuery<Self>().select(field)
  }
  @available(*, unavailable, message: "End with `first`: `Todo.where { $0.done }.first()`.")
  public static func first(_ condition: (Fields) -> Condition) -> FirstQuery<Self> {
    RecordQuery<Self>().first()
  }
  @available(*, unavailable, message: "End with `first`: `Todo.where { $0.done }.first()`.")
  public static func first(_ field: (Fields) -> Field<Bool>) -> FirstQuery<Self> {
    RecordQuery<Self>().first()
  }
}

extension Field {
  @available(
    *, unavailable,
    message: "A condition is computed by SQLite. Use `equals(naturally:)` or `contains(_:ignoringCase:)`."
  )
  public func lowercased() -> Self { self }
  @available(
    *, unavailable,
    message: "A condition is computed by SQLite. Use `equals(naturally:)` or `contains(_:ignoringCase:)`."
  )
  public func uppercased() -> Self { self }
  @available(
    *, unavailable,
    message: "A condition compares values as they are stored. Move the computation to the value."
  )
  public static func + (field: Self, value: Value) -> Self { field }
  @available(
    *, unavailable,
    message: "A condition compares values as they are stored. Move the computation to the value."
  )
  public static func - (field: Self, value: Value) -> Self { field }
  @available(
    *, unavailable,
    message: "A condition compares values as they are stored. Move the computation to the value."
  )
  public static func * (field: Self, value: Value) -> Self { field }
  @available(
    *, unavailable,
    message: "A condition compares values as they are stored. Move the computation to the value."
  )
  public static func / (field: Self, value: Value) -> Self { field }
  @available(*, unavailable, message: "Begin with the field: `$0.due < date`.")
  public static func == (value: Value, field: Self) -> Condition { field.isNull }
  @available(*, unavailable, message: "Begin with the field: `$0.due < date`.")
  public static func != (value: Value, field: Self) -> Condition { field.isNull }
  @available(*, unavailable, message: "Begin with the field: `$0.due < date`.")
  public static func < (value: Value, field: Self) -> Condition { field.isNull }
  @available(*, unavailable, message: "Begin with the field: `$0.due < date`.")
  public static func <= (value: Value, field: Self) -> Condition { field.isNull }
  @available(*, unavailable, message: "Begin with the field: `$0.due < date`.")
  public static func > (value: Value, field: Self) -> Condition { field.isNull }
  @available(*, unavailable, message: "Begin with the field: `$0.due < date`.")
  public static func >= (value: Value, field: Self) -> Condition { field.isNull }
  @available(*, unavailable, message: "Use `contains(text, ignoringCase: true)`.")
  public func localizedStandardContains(_ text: String) -> Condition { isNull }
  @available(*, unavailable, message: "Use `contains(text, ignoringCase: true)`.")
  public func localizedCaseInsensitiveContains(_ text: String) -> Condition { isNull }
  @available(*, unavailable, renamed: "hasPrefix(_:)")
  public func starts(with text: String) -> Condition { isNull }
  @available(*, unavailable, message: "Compare with an empty text: `$0.title == \"\"`.")
  public var isEmpty: Condition { isNull }
  @available(*, unavailable, renamed: "includes(_:)")
  public func contains<Element: FieldConvertible>(_ element: Element) -> Condition
  where Value.Unwrapped == [Element] { includes(element) }
  @available(
    *, unavailable,
    message: "A reference is compared as a whole: `$0.list == list`, or `$0.list == Reference(id: id)`."
  )
  public var id: Field<String> { Field<String>("id") }
  @available(
    *, unavailable,
    message:
      "A condition reads the fields of one type. Fetch both with `with(_:)`, or compare the reference: `$0.list == list`."
  )
  public var name: Field<String> { Field<String>("name") }
}

@available(
  *, unavailable, message: "A row is a value of a type of your own: `SQLQuery(text, as: Share.self)`."
)
public struct SQLRow: Decodable, Sendable {
  public subscript<Value: FieldConvertible>(column: String) -> Value? { nil }
}

@available(
  *, unavailable,
  message:
    "Name the type of the rows: `SQLQuery(text, as: Share.self)`. Observers follow the tables that the text reads."
)
extension SQLQuery where Row == SQLRow {
  public init(_ text: SQLText, reading types: any Entity.Type...) { self.init(text, as: SQLRow.self) }
}
