/// A number, or a smallest or largest value, computed by SQLite from the records of a query.
///
/// ```swift
/// let effort = try await store.fetch(Todo.where { !$0.done }.sum(\.effort))
/// let last = try await store.fetch(Todo.all.maximum(\.due))
/// ```
///
/// Costs the rows that the query visits; no record is made. A query's limit holds: the ten newest are summed, say. A
/// field of a kind that can't be added up or compared throws `BothyError` `invalidQuery` at the fetch.
public struct AggregateQuery<Value: Sendable>: ReadRequest {
  /// The steps by which a store computes the value. An observation computes it again after each commit that touches the
  /// type, and delivers it only if it differs.
  public let plan: ReadTransaction.Plan<Value>
}

extension RecordQuery {
  /// Counts the records, or the different values of a field. Reads no fields but this one and those of the condition.
  ///
  /// Counts also the records that a fetch leaves out because this app can't read them. A limit of the query counts records:
  /// at most that number is returned.
  ///
  /// ```swift
  /// for try await open in store.values(of: Todo.where { !$0.done }.count()) { show("\(open) to do") }
  /// let lists = try await store.fetch(Todo.where { !$0.done }.count(distinct: \.list))
  /// ```
  ///
  /// - Parameter field: The field whose different values are counted, records without a value left out. It is the number
  ///   of values that `distinct(_:)` returns. One of data, coordinates, JSON or lists throws `BothyError` `invalidQuery` at
  ///   the fetch. An index of the field saves the sorting.
  public func count(distinct field: PartialKeyPath<E.Fields>? = nil) -> AggregateQuery<Int> {
    if let field { return number("count", E.name(of: field)) }
    return AggregateQuery(
      plan: ReadTransaction.Plan(.types(E.typeName), ReadIdentity(recordQuery, words: ["count"])) {
        [recordQuery] transaction, fingerprint in
        let count = try transaction.count(recordQuery)
        fingerprint?.combine(count)
        return count
      })
  }

  /// Adds up a field, records without a value left out. Returns 0 for no values. Whole numbers beyond 64 bits throw.
  ///
  /// The error has the code `database`. Decimals are added up exactly, and a sum with more digits than a `Decimal` throws
  /// `.invalidValue`. The field is read from every record of the query, unless an index holds it.
  ///
  /// ```swift
  /// let effort = try await store.fetch(Todo.where { !$0.done }.sum(\.effort))
  /// ```
  public func sum<V>(
    _ field: KeyPath<E.Fields, Field<V>>
  ) -> AggregateQuery<V.Unwrapped> where V.Unwrapped: FieldConvertible & Numeric {
    number(DecimalFunctions.name(V.Unwrapped.self), E.fields[keyPath: field].fieldName)
  }

  /// Returns the mean of a field, records without a value left out, or `nil` for no values.
  ///
  /// A `Double` also for whole numbers and decimals. Costs a read of the field from every record of the query.
  public func average<V>(
    _ field: KeyPath<E.Fields, Field<V>>
  ) -> AggregateQuery<Double?> where V.Unwrapped: Numeric {
    number(DecimalFunctions.name(averaging: true, V.Unwrapped.self), E.fields[keyPath: field].fieldName)
  }

  /// The smallest value of a field, records without a value left out; `nil` for no values.
  ///
  /// Without a condition an indexed field costs one look-up, else SQLite visits the records of the query. Text is
  /// compared by its UTF-8 bytes. A field of data, coordinates, JSON or lists throws `BothyError` `invalidQuery`.
  public func minimum<V: FieldConvertible>(_ field: KeyPath<E.Fields, Field<V>>) -> AggregateQuery<V?> {
    number("min", E.fields[keyPath: field].fieldName)
  }

  /// The largest value of a field, records without a value left out; `nil` for no values.
  ///
  /// Costs and throws as `minimum(_:)`. For the record that has the value, sort by the field and take `first()`.
  public func maximum<V: FieldConvertible>(_ field: KeyPath<E.Fields, Field<V>>) -> AggregateQuery<V?> {
    number("max", E.fields[keyPath: field].fieldName)
  }

  /// Groups the records by a field: `Todo.all.group(by: \.list).count()`.
  ///
  /// Records without a value in an optional field are a group with the key `nil`. A limit of the query counts records,
  /// not groups. A field of data, coordinates, JSON or lists throws `BothyError` `invalidQuery` at the fetch.
  public func group<Key: FieldConvertible>(by field: KeyPath<E.Fields, Field<Key>>) -> GroupQuery<E, Key> {
    GroupQuery(query: recordQuery, key: E.fields[keyPath: field].fieldName)
  }

  private func number<V: FieldConvertible>(_ function: String, _ field: String) -> AggregateQuery<V> {
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
/// One statement for all groups. No record is made, and memory holds one value a group.
///
/// ```swift
/// for group in try await store.fetch(Todo.all.group(by: \.list).sum(\.effort)) {
///   print(group.key?.id ?? "no list", group.value)
/// }
/// ```
///
/// A condition on the value of a group is `having`, as in `count(having: { $0 > 2 })`. SQLite leaves out the other groups.
/// A key that its Swift type doesn't take, such as a case of a newer app, throws `BothyError` `.invalidValue`.
public struct GroupQuery<Element: Entity, Key: FieldConvertible>: Sendable {
  let query: AnyQuery
  let key: String

  /// Counts the records of each group. Groups without records are absent, so no number is 0. An index of the key saves
  /// the sorting.
  ///
  /// ```swift
  /// let long = try await store.fetch(Todo.all.group(by: \.list).count(having: { $0 > 20 }))
  /// ```
  public func count(having condition: ((Field<Int>) -> Condition)? = nil) -> AggregateQuery<
    [Grouped<Key, Int>]
  > { groups("count", nil, condition) }

  /// Adds up a field in each group, records without a value left out; 0 in a group without values. Whole numbers beyond
  /// 64 bits throw `BothyError` `database`. Decimals are added up exactly.
  ///
  /// Costs a read of the field from every record of the query, as the other values of groups do.
  public func sum<V>(
    _ field: KeyPath<Element.Fields, Field<V>>, having condition: ((Field<V.Unwrapped>) -> Condition)? = nil
  ) -> AggregateQuery<[Grouped<Key, V.Unwrapped>]> where V.Unwrapped: FieldConvertible & Numeric {
    groups(DecimalFunctions.name(V.Unwrapped.self), Element.fields[keyPath: field].fieldName, condition)
  }

  /// The mean of a field in each group, records without a value left out; `nil` in a group without values. A `Double`
  /// also for whole numbers and decimals.
  ///
  /// ```swift
  /// let heavy = try await store.fetch(Todo.all.group(by: \.list).average(\.effort, having: { $0 > 2 }))
  /// ```
  public func average<V>(
    _ field: KeyPath<Element.Fields, Field<V>>, having condition: ((Field<Double?>) -> Condition)? = nil
  ) -> AggregateQuery<[Grouped<Key, Double?>]> where V.Unwrapped: Numeric {
    groups(
      DecimalFunctions.name(averaging: true, V.Unwrapped.self), Element.fields[keyPath: field].fieldName,
      condition)
  }

  /// The smallest value of a field in each group, records without a value left out; `nil` in a group without values.
  ///
  /// Text is compared by its UTF-8 bytes. A field of data, coordinates, JSON or lists throws `BothyError`
  /// `invalidQuery` at the fetch.
  ///
  /// ```swift
  /// for group in try await store.fetch(Todo.where { !$0.done }.group(by: \.list).minimum(\.due)) {
  ///   if let next = group.value { show("next: \(next)") }
  /// }
  /// ```
  public func minimum<V>(
    _ field: KeyPath<Element.Fields, Field<V>>,
    having condition: ((Field<V.Unwrapped?>) -> Condition)? = nil
  ) -> AggregateQuery<[Grouped<Key, V.Unwrapped?>]> where V.Unwrapped: FieldConvertible {
    groups("min", Element.fields[keyPath: field].fieldName, condition)
  }

  /// The largest value of a field in each group; `nil` in a group without values. Compares and throws as
  /// `minimum(_:having:)`.
  public func maximum<V>(
    _ field: KeyPath<Element.Fields, Field<V>>,
    having condition: ((Field<V.Unwrapped?>) -> Condition)? = nil
  ) -> AggregateQuery<[Grouped<Key, V.Unwrapped?>]> where V.Unwrapped: FieldConvertible {
    groups("max", Element.fields[keyPath: field].fieldName, condition)
  }

  private func groups<V: FieldConvertible>(
    _ function: String, _ field: String?, _ having: ((Field<V>) -> Condition)?
  ) -> AggregateQuery<[Grouped<Key, V>]> {
    let condition = having?(Field(Aggregate.result)).tree ?? .all
    let identity = ReadIdentity(
      query, AnyQuery(Element.typeName, where: condition), words: [function, field ?? "", key])
    return AggregateQuery(
      plan: ReadTransaction.Plan(.types(Element.typeName), identity) {
        [query, key] transaction, fingerprint in
        let having = (tree: condition, kind: V.fieldKind.value)
        return try Aggregate(function, field, of: query, by: key, having: having, in: transaction)
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
  /// The value that the records of the group share. In an optional field `nil` is the group of records without a value,
  /// the first one.
  public var key: Key
  /// The value computed from the records of the group.
  public var value: Value
}

extension Grouped: Equatable where Key: Equatable, Value: Equatable {}
extension Grouped: Hashable where Key: Hashable, Value: Hashable {}
