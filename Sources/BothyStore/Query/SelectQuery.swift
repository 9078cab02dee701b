/// A read of some fields of the records of a query, or of the different values of one field.
///
/// ```swift
/// struct Line: Decodable {
///   var id: String
///   var title: String
///   var due: Date?
/// }
///
/// let next = Todo.where { !$0.done }.order(by: \.due).limit(50)
/// let lines = try await store.fetch(next.select(\.id, \.title, \.due, as: Line.self))
/// for (title, due) in try await store.fetch(next.select(\.title, \.due)) { show("\(title): \(due ?? .now)") }
/// let lists = try await store.fetch(next.distinct(\.list))
/// ```
///
/// No record is made, and memory holds what was selected. The order, the limit and the container of the query hold.
public struct SelectQuery<Row: Sendable>: ReadRequest {
  /// The steps by which a store reads the rows: one query. An observation reads again after each commit that touches the
  /// type, and delivers the rows only if one of the selected values or their order differs.
  public let plan: ReadTransaction.Plan<[Row]>
}

extension RecordQuery {
  /// Selects one field of each record, in the order of the query: `Todo.all.select(\.title)`.
  ///
  /// SQLite reads the columns of the field, of the condition and of the order, from an index if one has them all. Content
  /// that this app doesn't know is shown as in a fetch, by the field's default or `nil`. A record without either is left
  /// out. A sensitive field is `nil`.
  ///
  /// An unknown field throws `BothyError` `unknownField` at the fetch.
  public func select<V: FieldConvertible>(_ field: KeyPath<E.Fields, Field<V>>) -> SelectQuery<V> {
    rows([E.fields[keyPath: field].fieldName]) { try V(fromField: &$0) }
  }

  /// Selects two fields of each record, in the order of the query. Reads and throws as `select(_:)` of one.
  ///
  /// ```swift
  /// for (name, place) in try await store.fetch(Hut.all.select(\.name, \.position)) {
  ///   show("\(name): \(place?.latitude ?? 0)")
  /// }
  /// ```
  public func select<V: FieldConvertible, W: FieldConvertible>(
    _ first: KeyPath<E.Fields, Field<V>>, _ second: KeyPath<E.Fields, Field<W>>
  ) -> SelectQuery<(V, W)> {
    rows([E.fields[keyPath: first].fieldName, E.fields[keyPath: second].fieldName]) {
      (try V(fromField: &$0), try W(fromField: &$0))
    }
  }

  /// Selects three fields of each record, in the order of the query. Reads and throws as `select(_:)` of one. For more
  /// fields decode a struct.
  public func select<V: FieldConvertible, W: FieldConvertible, X: FieldConvertible>(
    _ first: KeyPath<E.Fields, Field<V>>, _ second: KeyPath<E.Fields, Field<W>>,
    _ third: KeyPath<E.Fields, Field<X>>
  ) -> SelectQuery<(V, W, X)> {
    let names = [
      E.fields[keyPath: first].fieldName, E.fields[keyPath: second].fieldName,
      E.fields[keyPath: third].fieldName,
    ]
    return rows(names) { (try V(fromField: &$0), try W(fromField: &$0), try X(fromField: &$0)) }
  }

  /// Selects fields of each record and decodes them into a struct, whose properties have the names of fields.
  ///
  /// Reads as `select(_:)` of one field, and decodes as `SQLQuery`: a reference is the id as text, and a coordinate is two
  /// numbers with the suffixes `_lat` and `_lon`. An optional property without a field is `nil`. A type of one value takes
  /// the first field.
  ///
  /// ```swift
  /// struct Line: Decodable, Identifiable {
  ///   var id: String
  ///   var title: String
  ///   var list: String?
  /// }
  ///
  /// let lines = try await store.fetch(Todo.all.select(\.id, \.title, \.list, as: Line.self))
  /// ```
  ///
  /// An unknown field throws `BothyError` `unknownField` at the fetch, a property without a field `invalidQuery`, and a
  /// value that its property doesn't take `.invalidValue`.
  ///
  /// - Parameters:
  ///   - fields: The fields to read. Name at least one.
  ///   - row: The type of the rows.
  public func select<Row: Decodable & Sendable>(
    _ fields: PartialKeyPath<E.Fields>..., as row: Row.Type
  ) -> SelectQuery<Row> {
    let names = fields.map { (E.fields[keyPath: $0] as? any NamedField)?.fieldName ?? "" }
    return SelectQuery(
      plan: ReadTransaction.Plan(
        .types(E.typeName),
        ReadIdentity(recordQuery, words: ["select", String(reflecting: Row.self)] + names)
      ) { [recordQuery] transaction, fingerprint in
        try FieldSelection(names, of: recordQuery, in: transaction)
          .decoded(Row.self, in: transaction, &fingerprint)
      })
  }

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

  /// Reads the fields of each record, and makes a row of them.
  private func rows<Row: Sendable>(
    _ names: [String], _ row: @escaping @Sendable (inout FieldDecoder) throws -> Row
  ) -> SelectQuery<Row> {
    SelectQuery(
      plan: ReadTransaction.Plan(.types(E.typeName), ReadIdentity(recordQuery, words: ["select"] + names)) {
        [recordQuery] transaction, fingerprint in
        let selection = try FieldSelection(names, of: recordQuery, in: transaction)
        var rows: [Row] = []
        for values in try selection.values(in: transaction, &fingerprint) {
          var fields = FieldDecoder(values: values, type: E.typeName)
          rows.append(try row(&fields))
        }
        return rows
      })
  }
}

/// A field of any type, by its name.
private protocol NamedField {
  var fieldName: String { get }
}

extension Field: NamedField {}
