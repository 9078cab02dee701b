/// A description of records of the entity type `E`, with their order and number, as a value:
///
/// ```swift
/// let overdue = Todo.where { !$0.done && $0.due < Date() }.order(by: \.due, .descending).limit(10)
/// let todos = try await store.fetch(overdue)
/// let count = try await store.fetch(overdue.count())
/// ```
///
/// One value can be fetched, counted, observed and sent to the server. Creating one reads nothing. Equal queries are
/// equal values. A mistake, such as an unknown field, is thrown by the fetch.
public struct RecordQuery<E: Entity>: Sendable, Hashable {
  /// The query without the Swift type.
  @usableFromInline package var recordQuery: AnyQuery

  /// Creates a query of every record of the type, by id. `Todo.all` is shorter.
  public init() { recordQuery = AnyQuery(E.typeName) }

  /// Creates a query from `query`, with the type of `E`.
  package init(_ query: AnyQuery) {
    recordQuery = query
    recordQuery.type = E.typeName
  }

  /// Adds a condition that the records must meet too.
  ///
  /// Returns a new query and leaves this one unchanged. The closure runs once, at once, on fields and not on records.
  ///
  /// ```swift
  /// let open = Todo.where { !$0.done }
  /// let overdue = open.where { $0.due < Date() }
  /// ```
  public func `where`(_ condition: (E.Fields) -> Condition) -> RecordQuery { self.where(condition(E.fields)) }

  /// Adds a condition that the records must meet too.
  package func `where`(_ condition: Condition) -> RecordQuery { self.where(condition.tree) }

  package func `where`(_ condition: ConditionTree) -> RecordQuery {
    changed { $0.filter = $0.filter && condition }
  }

  /// Adds a sort key, which applies if all earlier keys are equal.
  ///
  /// Ties are broken by id. An index of the first key avoids sorting if the condition doesn't use another index.
  public func order(_ key: (E.Fields) -> SortKey) -> RecordQuery { order(key(E.fields)) }

  /// Adds sort keys, which apply if all earlier keys are equal.
  package func order(_ keys: SortKey...) -> RecordQuery { changed { $0.order += keys } }

  /// Keeps the records with a coordinate and sorts the nearest first: `nearest(to: here) { $0.start }.limit(20)`.
  ///
  /// With further conditions and an index, the query reads as many of the nearest records as it needs to find those
  /// requested. Without a limit or an index it measures all records.
  ///
  /// Distances are metres on the great circle. Each further sort key applies to equal distances only. A place off the
  /// earth throws `BothyError` `invalidQuery` at the fetch.
  ///
  /// ```swift
  /// let here = Coordinate(latitude: 60.602, longitude: 7.504)
  /// let huts = try await store.fetch(Hut.all.nearest(to: here) { $0.position }.limit(20))
  /// ```
  public func nearest<Place>(
    to place: Coordinate, by field: (E.Fields) -> Field<Place>
  ) -> RecordQuery where Place.Unwrapped == Coordinate {
    let field = field(E.fields)
    return self.where(field.isNotNull).order(field.nearest(to: place))
  }

  /// Allows any order if no key is given, so that a full scan reads the table in its stored order.
  ///
  /// The cheapest way to read a whole type. A query with a sort key ignores it. On a server, and in the pages of
  /// `records(_:pageSize:)`, the records are ordered by id all the same.
  public func inAnyOrder() -> RecordQuery { changed { $0.isUnordered = true } }

  /// Limits the query to `count` records, after skipping the first `offset`.
  ///
  /// Replaces an earlier limit and offset. 0 gives no records, a negative number throws `BothyError` `invalidQuery` at
  /// the fetch. Skipped records are read all the same, so read long lists by `records(_:pageSize:)`.
  ///
  /// ```swift
  /// let second = Todo.order(by: \.due).limit(20, offset: 20)
  /// ```
  public func limit(_ count: Int, offset: Int = 0) -> RecordQuery {
    changed {
      $0.limit = count
      $0.offset = offset
    }
  }

  /// Limits the query to the records of one container.
  ///
  /// Replaces an earlier container. An index finds the records, except in a type's own container, which is named like
  /// the type. A type that isn't synced has only that one.
  ///
  /// - Parameter includingChildren: True to include the containers below: those whose name begins with `container` and
  ///   `/`. With an empty `container` these are all.
  public func `in`(container: String, includingChildren: Bool = false) -> RecordQuery {
    changed {
      $0.container = container
      $0.includesChildren = includingChildren
    }
  }

  private func changed(_ change: (inout AnyQuery) -> Void) -> RecordQuery {
    var copy = self
    change(&copy.recordQuery)
    return copy
  }
}
