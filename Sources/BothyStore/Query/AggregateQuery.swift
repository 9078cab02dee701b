/// A number, or a smallest or largest value, computed by SQLite from the records of a query.
///
/// ```swift
/// let effort = try await store.fetch(Todo.where { !$0.done }.sum(\.effort))
/// let last = try await store.fetch(Todo.all.maximum(\.due))
/// ```
///
/// Costs the rows that the query visits; no record is made. A query's limit holds: the ten newest are summed, say.
public struct AggregateQuery<Value: Sendable>: ReadRequest {
  public let plan: ReadTransaction.Plan<Value>
}

extension RecordQuery {
  /// Counts the records. Reads no fields but those of the condition.
  public func count() -> AggregateQuery<Int> {
    AggregateQuery(
      plan: ReadTransaction.Plan(.types(E.typeName), ReadIdentity(recordQuery, words: ["count"])) {
        [recordQuery] transaction, fingerprint in
        let count = try transaction.count(recordQuery)
        fingerprint?.combine(count)
        return count
      })
  }

  /// Adds up a field, records without a value left out. Returns 0 for no values. Whole numbers beyond 64 bits throw.
  public func sum<V>(
    _ field: KeyPath<E.Fields, Field<V>>
  ) -> AggregateQuery<V.Unwrapped> where V.Unwrapped: FieldConvertible & Numeric {
    number("sum", E.fields[keyPath: field].fieldName, orZero: true)
  }

  /// Returns the mean of a field, records without a value left out, or `nil` for no values.
  public func average<V>(
    _ field: KeyPath<E.Fields, Field<V>>
  ) -> AggregateQuery<Double?> where V.Unwrapped: Numeric {
    number("avg", E.fields[keyPath: field].fieldName)
  }

  /// The smallest value of a field, records without a value left out; `nil` for no values.
  public func minimum<V: FieldConvertible>(_ field: KeyPath<E.Fields, Field<V>>) -> AggregateQuery<V?> {
    number("min", E.fields[keyPath: field].fieldName)
  }

  /// The largest value of a field, records without a value left out; `nil` for no values.
  public func maximum<V: FieldConvertible>(_ field: KeyPath<E.Fields, Field<V>>) -> AggregateQuery<V?> {
    number("max", E.fields[keyPath: field].fieldName)
  }

  /// Groups the records by a field: `Todo.all.group(by: \.list).count()`.
  public func group<Key: FieldConvertible>(by field: KeyPath<E.Fields, Field<Key>>) -> GroupQuery<E, Key> {
    GroupQuery(query: recordQuery, key: E.fields[keyPath: field].fieldName)
  }

  private func number<V: FieldConvertible>(
    _ function: String, _ field: String, orZero: Bool = false
  ) -> AggregateQuery<V> {
    AggregateQuery(
      plan: ReadTransaction.Plan(.types(E.typeName), ReadIdentity(recordQuery, words: [function, field])) {
        [recordQuery] transaction, fingerprint in
        let aggregate = try Aggregate(function, field, of: recordQuery, in: transaction)
        return try aggregate.value(V.self, in: transaction, &fingerprint)
      })
  }
}

/// Values computed for each group of records: `Todo.all.group(by: \.list).sum(\.effort)`.
///
/// One statement for all groups. No record is made.
///
/// ```swift
/// for group in try await store.fetch(Todo.all.group(by: \.list).sum(\.effort)) {
///   print(group.key?.id ?? "no list", group.value)
/// }
/// ```
public struct GroupQuery<Element: Entity, Key: FieldConvertible>: Sendable {
  let query: AnyQuery
  let key: String

  /// Counts the records of each group.
  public func count() -> AggregateQuery<[Grouped<Key, Int>]> { groups("count", nil) }

  /// Adds up a field in each group.
  public func sum<V: FieldConvertible & Numeric>(
    _ field: KeyPath<Element.Fields, Field<V>>
  ) -> AggregateQuery<[Grouped<Key, V>]> { groups("sum", Element.fields[keyPath: field].fieldName) }

  /// The mean of a field in each group.
  public func average<V: FieldConvertible & Numeric>(
    _ field: KeyPath<Element.Fields, Field<V>>
  ) -> AggregateQuery<[Grouped<Key, Double>]> { groups("avg", Element.fields[keyPath: field].fieldName) }

  /// The smallest value of a field in each group; `nil` where no record has one.
  public func minimum<V: FieldConvertible>(
    _ field: KeyPath<Element.Fields, Field<V>>
  ) -> AggregateQuery<[Grouped<Key, V?>]> { groups("min", Element.fields[keyPath: field].fieldName) }

  /// The largest value of a field in each group; `nil` where no record has one.
  public func maximum<V: FieldConvertible>(
    _ field: KeyPath<Element.Fields, Field<V>>
  ) -> AggregateQuery<[Grouped<Key, V?>]> { groups("max", Element.fields[keyPath: field].fieldName) }

  private func groups<V: FieldConvertible>(
    _ function: String, _ field: String?
  ) -> AggregateQuery<[Grouped<Key, V>]> {
    AggregateQuery(
      plan: ReadTransaction.Plan(
        .types(Element.typeName), ReadIdentity(query, words: [function, field ?? "", key])
      ) {
        [query, key] transaction, fingerprint in
        try Aggregate(function, field, of: query, by: key, in: transaction)
          .groups(Key.self, V.self, in: transaction, &fingerprint)
      })
  }
}

/// A group and its value. Groups come in the order of their keys, records without a key first.
///
/// ```swift
/// for group in try await store.fetch(Todo.all.group(by: \.done).count()) {
///   show("\(group.key ? "done" : "open"): \(group.value)")
/// }
/// ```
public struct Grouped<Key: FieldConvertible, Value: Sendable>: Sendable {
  /// The value that the records of the group share.
  public var key: Key
  /// The value computed from the records of the group.
  public var value: Value
}

extension Grouped: Equatable where Key: Equatable, Value: Equatable {}
extension Grouped: Hashable where Key: Hashable, Value: Hashable {}
