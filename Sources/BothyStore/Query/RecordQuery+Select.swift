/// Reads of some fields of the records of a query, or of the different values of one field.
///
/// No record is made, and memory holds what was selected. The order, the limit and the container of the query hold. An
/// observation delivers the rows only if one of the selected values or their order differs.
extension RecordQuery {
  /// Selects fields of each record, in the order of the query: one as its value, more as tuples.
  ///
  /// SQLite reads the columns of the fields, of the condition and of the order, from an index if one has them all. Content
  /// that this app doesn't know is shown as in a fetch, by the field's default or `nil`. A record without either is left
  /// out. A sensitive field is `nil`.
  ///
  /// ```swift
  /// let names = try await store.fetch(Hut.all.select(\.name))
  /// for (name, place) in try await store.fetch(Hut.all.select(\.name, \.position)) {
  ///   show("\(name): \(place?.latitude ?? 0)")
  /// }
  /// ```
  ///
  /// An unknown field throws `BothyError` `unknownField` at the fetch.
  public func select<each V: FieldConvertible>(
    _ field: repeat KeyPath<E.Fields, Field<each V>>
  ) -> JoinQuery<(repeat each V)> {
    var names: [String] = []
    for path in repeat each field { names.append(E.fields[keyPath: path].fieldName) }
    return rows(names) { (fields: inout FieldDecoder) throws -> (repeat each V) in
      (repeat try (each V)(fromField: &fields))
    }
  }

  /// Selects fields of each record and decodes them into a struct, whose properties have the names of fields.
  ///
  /// Reads as `select(_:)`, and decodes as `SQLQuery`: a reference is the id as text, and a coordinate is two
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
  ) -> JoinQuery<Row> {
    let names = fields.map { E.name(of: $0) }
    return JoinQuery(
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
  ) -> JoinQuery<V.Unwrapped> where V.Unwrapped: FieldConvertible {
    let name = E.fields[keyPath: field].fieldName
    return JoinQuery(
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
  ) -> JoinQuery<Row> {
    JoinQuery(
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

extension Entity {
  /// Returns the name of a field whose type the compiler doesn't know.
  static func name(of field: PartialKeyPath<Fields>) -> String {
    (fields[keyPath: field] as? any NamedField)?.fieldName ?? ""
  }
}
