/// A description of one read: records, a first record, a number, groups, related records, some fields, or SQL. Making one
/// reads nothing.
///
/// ```swift
/// let open = Todo.where { !$0.done }
/// let todos = try await store.fetch(open.order(by: \.title))  // [Todo]
/// let count = try await store.fetch(open.count())  // Int
/// for try await todos in store.values(of: open) { show("\(todos.count) to do") }
/// ```
public protocol ReadRequest<Value>: Sendable {
  /// The type of the result. An array for queries of records, an optional for one record, a number for counts.
  associatedtype Value: Sendable
  /// The plan by which a store reads the result.
  var plan: ReadTransaction.Plan<Value> { get }
}

extension ReadTransaction {
  /// The steps by which a store reads a request. Requests make it; stores run it.
  ///
  /// An app doesn't call it. A request of an app's own returns the plan of another request.
  public struct Plan<Value: Sendable>: Sendable {
    /// The records that the result depends on.
    package let region: ObservationRegion
    /// The request that the plan reads. Plans for equal requests have equal results.
    package let identity: ReadIdentity
    /// Reads the result, and adds what was read to a fingerprint where one is given.
    package let run: @Sendable (ReadTransaction, inout RowFingerprint?) throws -> Value

    package init(
      _ region: ObservationRegion, _ identity: ReadIdentity,
      run: @escaping @Sendable (ReadTransaction, inout RowFingerprint?) throws -> Value
    ) {
      self.region = region
      self.identity = identity
      self.run = run
    }
  }
}

/// The parts of a request that decide its result.
package struct ReadIdentity: Sendable, Hashable {
  private let queries: [AnyQuery]
  private let words: [String]
  private let values: [FieldValue]

  package init(_ queries: AnyQuery..., words: [String] = [], values: [FieldValue] = []) {
    (self.queries, self.words, self.values) = (queries, words, values)
  }

  /// Compares texts byte by byte, as SQLite does. By Swift's own `==` two spellings of a letter are equal, and a question
  /// would get the answer of another one.
  package static func == (left: ReadIdentity, right: ReadIdentity) -> Bool {
    left.queries == right.queries && left.values == right.values
      && left.words.elementsEqual(right.words) { $0.utf8.elementsEqual($1.utf8) }
      && zip(left.queries, right.queries).allSatisfy {
        $0.json.canonicalText.utf8.elementsEqual($1.json.canonicalText.utf8)
      }
  }
}

extension ReadTransaction {
  /// Fetches what a request describes. Throws `BothyError` `unknownField` or `invalidQuery` for one that does not fit
  /// the schema.
  ///
  /// Every request of one transaction reads the same moment. Inside a write it sees the changes made so far. Runs on
  /// the thread of the closure.
  public final func fetch<R: ReadRequest>(_ request: R) throws -> R.Value {
    var fingerprint: RowFingerprint?
    return try request.plan.run(self, &fingerprint)
  }

  /// Fetches every record of a type, ordered by id. One query.
  ///
  /// All records are in memory at once. Leaves out records with content that this app doesn't know and has no default
  /// for.
  public final func fetch<E: Entity>(_ type: E.Type) throws -> [E] { try fetch(RecordQuery<E>()) }

  /// Fetches the record that a reference points at, or `nil`. One row by primary key.
  ///
  /// A target that isn't on this device counts as absent. Throws as `fetch(_:id:)`.
  public final func fetch<E: Entity>(_ reference: Reference<E>) throws -> E? {
    try fetch(E.self, id: reference.id)
  }

  /// True if there is a record with the id. One look-up in the primary key.
  ///
  /// Counts what this transaction has written. A record that this version of the app can't read is there too. Throws
  /// `BothyError` `unknownType` for a type that the store's schema lacks.
  public final func exists<E: Entity>(_ type: E.Type, id: String) throws -> Bool {
    try exists(table(of: type), id: id)
  }
}

extension RecordQuery: ReadRequest {
  /// The steps by which a store reads the records: one query. The result is empty if no record matches.
  public var plan: ReadTransaction.Plan<[E]> {
    ReadTransaction.Plan(.types(E.typeName), ReadIdentity(recordQuery)) {
      [recordQuery] transaction, fingerprint in
      var rows = try RowCursor(recordQuery, in: transaction, isKept: true)
      defer { rows.close() }
      var entities: [E] = []
      while try rows.next() {
        guard let entity = try rows.entity(E.self) else { continue }
        rows.combine(into: &fingerprint)
        entities.append(entity)
      }
      return entities
    }
  }
}

/// The first record of a query, or `nil`: `Todo.where { $0.done }.first()`.
///
/// ```swift
/// let next = try await store.fetch(Todo.where { !$0.done }.order(by: \.due).first())
/// show(next?.title ?? "Nothing to do")
/// ```
public struct FirstQuery<Element: Entity>: ReadRequest, Hashable {
  private let query: RecordQuery<Element>

  init(_ query: RecordQuery<Element>) { self.query = query }

  /// The steps by which a store reads the record: one query of one row. Runs a second query only if this app can't read
  /// that row.
  public var plan: ReadTransaction.Plan<Element?> {
    let all = query.plan
    return ReadTransaction.Plan(all.region, all.identity) { [query] transaction, fingerprint in
      if let first = try all.run(transaction, &fingerprint).first { return first }
      let isStrict = try !transaction.catalog.table(query.recordQuery.type).strictPositions.isEmpty
      guard isStrict, query.recordQuery.limit != 0 else { return nil }
      // The first row may be one that this app can't read.
      var further = query.recordQuery
      further.limit = nil
      var rows = try RowCursor(further, in: transaction, isKept: true)
      defer { rows.close() }
      while try rows.next() {
        guard let entity = try rows.entity(Element.self) else { continue }
        rows.combine(into: &fingerprint)
        return entity
      }
      return nil
    }
  }
}

extension RecordQuery {
  /// Requests the first record, or `nil` if no record matches. Reads one row, or more where this app can't read the
  /// first.
  ///
  /// The offset of the query holds. Without a sort key it is the record with the lowest id.
  ///
  /// ```swift
  /// let first = try await store.fetch(Todo.where { !$0.done }.order(by: \.due).first())
  /// ```
  public func first() -> FirstQuery<E> {
    FirstQuery(limit(Swift.min(1, recordQuery.limit ?? 1), offset: recordQuery.offset))
  }
}
