/// A read of some fields of the records of a query, or of the different values of one field.
///
/// ```swift
/// let lists = try await store.fetch(Todo.where { !$0.done }.distinct(\.list))
/// for list in lists { show(list.id) }
/// ```
///
/// No record is made, and memory holds what was selected.
public struct SelectQuery<Row: Sendable>: ReadRequest {
  /// The steps by which a store reads the rows: one query. An observation reads again after each commit that touches the
  /// type, and delivers the rows only if one of the selected values or their order differs.
  public let plan: ReadTransaction.Plan<[Row]>
}

extension RecordQuery {
  /// Selects the different values of a field, in ascending order, records without a value left out.
  ///
  /// A limit of the query counts records, not values: `Todo.order(by: \.due).limit(9).distinct(\.list)` are the lists
  /// of nine records. Text is compared by its UTF-8 bytes. An index of the field saves the sorting.
  ///
  /// A field of data, coordinates, JSON or lists throws `BothyError` `invalidQuery` at the fetch. A value that its Swift
  /// type doesn't take, such as a case of a newer app, throws `.invalidValue`. With their numbers, or with a group of the
  /// records without a value, the values are those of `group(by:)`.
  public func distinct<V>(
    _ field: KeyPath<E.Fields, Field<V>>
  ) -> SelectQuery<V.Unwrapped> where V.Unwrapped: FieldConvertible {
    let name = E.fields[keyPath: field].fieldName
    return SelectQuery(
      plan: ReadTransaction.Plan(
        .types(E.typeName), ReadIdentity(recordQuery, words: [Aggregate.distinct, name])
      ) { [recordQuery] transaction, fingerprint in
        try Aggregate(Aggregate.distinct, name, of: recordQuery, in: transaction)
          .values(V.Unwrapped.self, in: transaction, &fingerprint)
      })
  }
}
