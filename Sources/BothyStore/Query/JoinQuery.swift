/// A read of rows from one moment: records with records related to them, or some fields of records.
///
/// ```swift
/// for todo in try await store.fetch(Todo.all.with(\.list)) { print(todo.title, todo.related?.name ?? "no list") }
/// let open = Todo.where { !$0.done }.order(by: \.title)
/// for list in try await store.fetch(TodoList.all.with(open, by: \.list)) { print(list.name, list.related.count) }
/// for (title, due) in try await store.fetch(open.select(\.title, \.due)) { show("\(title): \(due ?? .now)") }
/// ```
///
/// A join of children reads them with one query for each 10,000 records, and for each 64 if they refer by lists.
public struct JoinQuery<Row: Sendable>: ReadRequest {
  /// The steps by which a store reads the rows, in one transaction. An observation reads again after each commit that
  /// touches a type of the rows.
  public let plan: ReadTransaction.Plan<[Row]>
}

/// A record and what was fetched with it. Its members are those of the record.
///
/// ```swift
/// for list in try await store.fetch(TodoList.all.withCount(of: Todo.where { !$0.done }, by: \.list)) {
///   show("\(list.name): \(list.related) to do")
/// }
/// ```
@dynamicMemberLookup
public struct Joined<Record: Entity, Related: Sendable>: Sendable, Identifiable {
  /// The record itself, with the fields that its query describes. Changing it changes the copy; a save of it stores it.
  public var record: Record
  /// The records that it refers to, those that refer to it, a number of these, or a part of a text. `nil`, empty or 0
  /// without one.
  public var related: Related
  /// The id of `record`, so that lists of views can show the rows.
  public var id: String { record.id }

  /// A member of the record: `joined.title` is `joined.record.title`. Read-only; change `record` itself.
  public subscript<Member>(dynamicMember path: KeyPath<Record, Member>) -> Member { record[keyPath: path] }
}

extension Joined: Equatable where Record: Equatable, Related: Equatable {}

extension RecordQuery {
  /// Fetches each record with the record that its reference points at. Records whose target is not on this device are
  /// left out. One query, and one row by primary key for each target.
  ///
  /// A target of several records is read once. A limit counts the records before those without a target are left out. A
  /// target that this app can't read counts as absent.
  public func with<T: Entity>(_ reference: KeyPath<E.Fields, Field<Reference<T>>>) -> JoinQuery<Joined<E, T>>
  {
    targets(E.fields[keyPath: reference].fieldName, T.self, isRequired: true) { record, targets in
      targets.first.map { Joined(record: record, related: $0) }
    }
  }

  /// Fetches each record with the record that its reference points at, or `nil`. One query, and one row by primary key
  /// for each target.
  ///
  /// A target of several records is read once. A target that this app can't read is `nil` too.
  ///
  /// ```swift
  /// for todo in try await store.fetch(Todo.all.with(\.list)) { show(todo.related?.name ?? "no list") }
  /// ```
  public func with<T: Entity>(
    _ reference: KeyPath<E.Fields, Field<Reference<T>?>>
  ) -> JoinQuery<Joined<E, T?>> {
    targets(E.fields[keyPath: reference].fieldName, T.self, isRequired: false) {
      Joined(record: $0, related: $1.first)
    }
  }

  /// Fetches each record with the records that its list of references points at, in the order of the list. One query, and
  /// one row by primary key for each target.
  ///
  /// A target of several records is read once. Targets that are not on this device, or that this app can't read, are left
  /// out. A record whose list is empty or absent has none.
  ///
  /// ```swift
  /// for trip in try await store.fetch(Trip.all.with(\.huts)) {
  ///   show(trip.related.map(\.name).joined(separator: ", "))
  /// }
  /// ```
  public func with<T: Entity, List>(
    _ references: KeyPath<E.Fields, Field<List>>
  ) -> JoinQuery<Joined<E, [T]>> where List.Unwrapped == [Reference<T>] {
    targets(E.fields[keyPath: references].fieldName, T.self, isRequired: false) {
      Joined(record: $0, related: $1)
    }
  }

  /// Fetches each record with the records that refer to it, in their query's order. Two queries. A limit of `children`
  /// holds for each record, after all of its children were read.
  ///
  /// Records without children have an empty list. Memory holds all children at once.
  ///
  /// - Parameters:
  ///   - children: A query of the records that refer to this one, with its own condition and order.
  ///   - reference: The field of the children that refers to this one.
  public func with<C: Entity, Parent>(
    _ children: RecordQuery<C>, by reference: KeyPath<C.Fields, Field<Parent>>
  ) -> JoinQuery<Joined<E, [C]>> where Parent.Unwrapped == Reference<E> {
    lists(children, C.fields[keyPath: reference].fieldName)
  }

  /// Fetches each record with the records whose list of references has it, in their query's order. A query, and one more
  /// for each 64 records.
  ///
  /// A record that a list has several times comes once. A limit of `children` holds for each record. Records without
  /// children have an empty list. The index of lists finds the children. Memory holds all children at once.
  ///
  /// ```swift
  /// for hut in try await store.fetch(Hut.all.with(Trip.order(by: \.name), by: \.huts)) {
  ///   show("\(hut.name): \(hut.related.count) trips")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - children: A query of the records with the lists.
  ///   - references: The field of the children that lists this one.
  public func with<C: Entity, List>(
    _ children: RecordQuery<C>, by references: KeyPath<C.Fields, Field<List>>
  ) -> JoinQuery<Joined<E, [C]>> where List.Unwrapped == [Reference<E>] {
    lists(children, C.fields[keyPath: references].fieldName)
  }

  /// Fetches each record with the number of records that refer to it. Two queries. A limit of `children` holds for each
  /// record.
  ///
  /// A record without children has 0. No child is made, and children that this app can't read are counted.
  ///
  /// ```swift
  /// let lists = try await store.fetch(TodoList.all.withCount(of: Todo.where { !$0.done }, by: \.list))
  /// ```
  public func withCount<C: Entity, Parent>(
    of children: RecordQuery<C>, by reference: KeyPath<C.Fields, Field<Parent>>
  ) -> JoinQuery<Joined<E, Int>> where Parent.Unwrapped == Reference<E> {
    numbers("count", nil, of: children, by: C.fields[keyPath: reference].fieldName, none: 0)
  }

  /// Fetches each record with the sum of a field of the records that refer to it. Two queries.
  ///
  /// A limit of `children` holds for each record: the three newest are added up, say. Without children the sum is 0, and
  /// children without a value are left out. Decimals are added up exactly. Whole numbers beyond 64 bits throw
  /// `BothyError` `database`. No child is made.
  ///
  /// ```swift
  /// let open = Todo.where { !$0.done }
  /// for list in try await store.fetch(TodoList.all.withSum(of: \.effort, in: open, by: \.list)) {
  ///   show("\(list.name): \(list.related)")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - field: The field of the children that is added up.
  ///   - children: A query of the records that refer to this one.
  ///   - reference: The field of the children that refers to this one.
  public func withSum<C: Entity, V, Parent>(
    of field: KeyPath<C.Fields, Field<V>>, in children: RecordQuery<C>,
    by reference: KeyPath<C.Fields, Field<Parent>>
  ) -> JoinQuery<Joined<E, V.Unwrapped>>
  where V.Unwrapped: FieldConvertible & Numeric, Parent.Unwrapped == Reference<E> {
    numbers(
      DecimalFunctions.name(V.Unwrapped.self), of: field, in: children, by: reference, none: V.Unwrapped.zero)
  }

  /// Fetches each record with the mean of a field of the records that refer to it, or `nil` for no values. Two queries.
  ///
  /// A `Double` also for whole numbers and decimals. A limit of `children` holds for each record.
  package func withAverage<C: Entity, V, Parent>(
    of field: KeyPath<C.Fields, Field<V>>, in children: RecordQuery<C>,
    by reference: KeyPath<C.Fields, Field<Parent>>
  ) -> JoinQuery<Joined<E, Double?>> where V.Unwrapped: Numeric, Parent.Unwrapped == Reference<E> {
    numbers(
      DecimalFunctions.name(averaging: true, V.Unwrapped.self), of: field, in: children, by: reference,
      none: Optional<Double>.none)
  }

  /// Fetches each record with the smallest value of a field of the records that refer to it, or `nil` for no values. Two
  /// queries.
  ///
  /// Text is compared by its UTF-8 bytes. A limit of `children` holds for each record. A field of data, coordinates, JSON
  /// or lists throws `BothyError` `invalidQuery` at the fetch.
  package func withMinimum<C: Entity, V, Parent>(
    of field: KeyPath<C.Fields, Field<V>>, in children: RecordQuery<C>,
    by reference: KeyPath<C.Fields, Field<Parent>>
  ) -> JoinQuery<Joined<E, V.Unwrapped?>>
  where V.Unwrapped: FieldConvertible, Parent.Unwrapped == Reference<E> {
    numbers("min", of: field, in: children, by: reference, none: Optional<V.Unwrapped>.none)
  }

  /// Fetches each record with the largest value of a field of the records that refer to it, or `nil` for no values. Two
  /// queries. Compares, cuts and throws as `withMinimum(of:in:by:)`.
  package func withMaximum<C: Entity, V, Parent>(
    of field: KeyPath<C.Fields, Field<V>>, in children: RecordQuery<C>,
    by reference: KeyPath<C.Fields, Field<Parent>>
  ) -> JoinQuery<Joined<E, V.Unwrapped?>>
  where V.Unwrapped: FieldConvertible, Parent.Unwrapped == Reference<E> {
    numbers("max", of: field, in: children, by: reference, none: Optional<V.Unwrapped>.none)
  }

  /// Fetches each record with the part of a text that shows why the query's search found it.
  ///
  /// The part has the words of the text among which most words of the first `matching` are, in their order and
  /// spelling, and an ellipsis in the place of the rest. By default the words that were found are bold in Markdown.
  /// Without words that were found it is the beginning of the text, and empty without a text. One query, and a look at
  /// each word of the field's text. In scripts without spaces a character counts as a word.
  ///
  /// ```swift
  /// for todo in try await store.fetch(Todo.all.matching("rope", bestFirst: true).withSnippet(of: \.title)) {
  ///   show(todo.related)  // Buy a new **rope** for the…
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - field: The field with the text. It may have no `@FullText`.
  ///   - words: The most words of the text that are shown.
  ///   - before: The text before a word that was found.
  ///   - after: The text behind it.
  public func withSnippet<V>(
    of field: KeyPath<E.Fields, Field<V>>, words: Int = 16, before: String = "**", after: String = "**"
  ) -> JoinQuery<Joined<E, String>> where V.Unwrapped == String {
    let name = E.fields[keyPath: field].fieldName
    let marks = TextSearch.SnippetMarks(before: before, after: after)
    return JoinQuery(
      plan: ReadTransaction.Plan(
        .types(E.typeName),
        ReadIdentity(recordQuery, words: ["snippet", name, String(words), before, after])
      ) { [plan, filter = recordQuery.filter] transaction, fingerprint in
        let records = try plan.run(transaction, &fingerprint)
        let table = try transaction.catalog.table(E.typeName)
        let position = try table.position(of: name)
        let search = filter.search(in: table.schema)?.search ?? TextSearch("")
        return records.map { record in
          let text = record.value(at: position).text ?? ""
          return Joined(record: record, related: search.snippet(of: text, words: words, marks: marks))
        }
      })
  }

  private func targets<T: Entity, Row>(
    _ field: String, _ type: T.Type, isRequired: Bool, _ row: @escaping @Sendable (E, [T]) -> Row?
  ) -> JoinQuery<Row> {
    JoinQuery(
      plan: ReadTransaction.Plan(
        .types(E.typeName, T.typeName), ReadIdentity(recordQuery, words: ["with", field, T.typeName])
      ) { [plan] transaction, fingerprint in
        // Records without a required target are no part of the answer, nor of its fingerprint.
        var all = isRequired ? nil : fingerprint
        let records = try plan.run(transaction, &all)
        if !isRequired { fingerprint = all }
        let position = try transaction.catalog.table(E.typeName).position(of: field)
        var found: [RecordID: T?] = [:]
        var rows: [Row] = []
        for record in records {
          let targets = try record.value(at: position).ids.compactMap { id -> T? in
            let key = RecordID(type: T.typeName, id: id)
            if let known = found[key] { return known }
            let target = try transaction.fetch(T.self, id: id, leavesOut: true)
            found[key] = .some(target)
            if let target { fingerprint?.combine(target) }
            return target
          }
          guard let made = row(record, targets) else { continue }
          if isRequired { fingerprint?.combine(marked: record) }
          rows.append(made)
        }
        return rows
      })
  }

  private func lists<C: Entity>(_ children: RecordQuery<C>, _ field: String) -> JoinQuery<Joined<E, [C]>> {
    JoinQuery(
      plan: ReadTransaction.Plan(
        .types(E.typeName, C.typeName),
        ReadIdentity(recordQuery, children.recordQuery, words: ["with", field])
      ) { [plan] transaction, fingerprint in
        let records = try plan.run(transaction, &fingerprint)
        let table = try transaction.catalog.table(C.typeName)
        let position = try table.position(of: field)
        // The queries below have no limit that would be checked.
        _ = try children.recordQuery.checked(for: table.schema)
        let (limit, offset) = (children.recordQuery.limit ?? .max, children.recordQuery.offset)
        var lists: [RecordID: [C]] = [:]
        for some in children.of(records.map(\.id), by: field) {
          let asked = Set(some.parents.map { RecordID(type: E.typeName, id: $0) })
          // Of the children the ones that are returned count, below.
          var uncounted: RowFingerprint?
          for child in try some.query.plan.run(transaction, &uncounted) {
            let named = child.value(at: position).ids.map { RecordID(type: E.typeName, id: $0) }
            // A list also names parents of other queries.
            for parent in Set(named) where asked.contains(parent) {
              lists[parent, default: []].append(child)
            }
          }
        }
        return records.map { record in
          let found = Array(lists[RecordID(record), default: []].dropFirst(offset).prefix(limit))
          fingerprint?.combine(found.count)
          for child in found { fingerprint?.combine(marked: child) }
          return Joined(record: record, related: found)
        }
      })
  }

  /// Computes a value of a field of the children of each record; `none` for records without values.
  private func numbers<C: Entity, V, Parent, Answer: FieldConvertible>(
    _ function: String, of field: KeyPath<C.Fields, Field<V>>, in children: RecordQuery<C>,
    by reference: KeyPath<C.Fields, Field<Parent>>, none: Answer
  ) -> JoinQuery<Joined<E, Answer>> {
    let fields = C.fields
    return numbers(
      function, fields[keyPath: field].fieldName, of: children, by: fields[keyPath: reference].fieldName,
      none: none)
  }

  /// Computes a value of the children of each record; `none` for records without children.
  private func numbers<C: Entity, V: FieldConvertible>(
    _ function: String, _ value: String?, of children: RecordQuery<C>, by field: String, none: V
  ) -> JoinQuery<Joined<E, V>> {
    JoinQuery(
      plan: ReadTransaction.Plan(
        .types(E.typeName, C.typeName),
        ReadIdentity(recordQuery, children.recordQuery, words: [function, value ?? "", field])
      ) { [plan] transaction, fingerprint in
        let records = try plan.run(transaction, &fingerprint)
        // The queries below have no limit that would be checked.
        let asked = try children.recordQuery.checked(for: transaction.catalog.table(C.typeName).schema)
        var found: [RecordID: V] = [:]
        for (_, some) in children.of(records.map(\.id), by: field) {
          // A group that appears may change no value, such as a sum of 0, so the values count, below.
          var uncounted: RowFingerprint?
          let groups = try Aggregate(
            function, value, of: some.recordQuery, by: field, each: (asked.limit, asked.offset),
            in: transaction
          ).groups(String.self, V.self, in: transaction, &uncounted)
          for group in groups { found[RecordID(type: E.typeName, id: group.key)] = group.value }
        }
        return records.map { record in
          let related = found[RecordID(record)] ?? none
          fingerprint?.combine(bytesOf: related.fieldValue)
          return Joined(record: record, related: related)
        }
      })
  }
}

extension RecordQuery {
  /// Returns the queries of those of the records that refer to one of these, without a limit. A query takes only so many
  /// ids.
  fileprivate func of(_ parents: [String], by field: String) -> [(parents: [String], query: Self)] {
    let isList = E.schema[field]?.kind.isList ?? false
    let count = isList ? 64 : ConditionTree.maximumTerms
    return stride(from: 0, to: Swift.max(parents.count, 1), by: count).map { start in
      let ids = Array(parents[start...].prefix(count))
      let values = ids.map { FieldValue.text($0) }
      let refers: ConditionTree =
        isList ? .or(values.map { .includes(field: field, $0) }) : .oneOf(field: field, values)
      var some = self.where(refers)
      (some.recordQuery.limit, some.recordQuery.offset) = (nil, 0)
      return (ids, some)
    }
  }
}

extension TypeTable {
  /// The position of a field among the fields. Throws `unknownField`.
  fileprivate func position(of field: String) throws(BothyError) -> Int {
    guard let position = positions[field] else { throw unknownField(field) }
    return position
  }
}

extension FieldValue {
  /// The id of a reference, or those of a list of references.
  fileprivate var ids: [String] { text.map { [$0] } ?? elements }
}

extension Entity {
  /// The value of the field at a position of the schema.
  fileprivate func value(at position: Int) -> FieldValue {
    var encoder = FieldEncoder(gathering: position + 1)
    encode(to: &encoder)
    return position < encoder.values.count ? encoder.values[position] : .null
  }
}
