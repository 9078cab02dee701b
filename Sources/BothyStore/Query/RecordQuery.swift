/// A description of records of the entity type `E`, with their order and number, as a value:
///
/// ```swift
/// let overdue = Todo.where { !$0.done && $0.due < Date() }.order(by: \.due, .descending).limit(10)
/// let todos = try await store.fetch(overdue)
/// let count = try await store.fetch(overdue.count())
/// ```
///
/// One value can be fetched, counted, observed and sent to the server. Creating one reads nothing.
public struct RecordQuery<E: Entity>: Sendable, Hashable {
  /// The query without the Swift type.
  @usableFromInline package var recordQuery: AnyQuery

  /// Creates a query of every record of the type, by id.
  public init() { recordQuery = AnyQuery(E.typeName) }

  /// Creates a query from `query`, with the type of `E`.
  package init(_ query: AnyQuery) {
    recordQuery = query
    recordQuery.type = E.typeName
  }

  /// Adds a condition that the records must meet too.
  public func `where`(_ condition: (E.Fields) -> Condition) -> RecordQuery { self.where(condition(E.fields)) }

  /// Adds a condition that the records must meet too.
  package func `where`(_ condition: Condition) -> RecordQuery { self.where(condition.tree) }

  package func `where`(_ condition: ConditionTree) -> RecordQuery {
    changed { $0.filter = $0.filter && condition }
  }

  /// Adds a sort key, which applies if all earlier keys are equal.
  public func order(_ key: (E.Fields) -> SortKey) -> RecordQuery { order(key(E.fields)) }

  /// Adds sort keys, which apply if all earlier keys are equal.
  package func order(_ keys: SortKey...) -> RecordQuery { changed { $0.order += keys } }

  /// Keeps the records with a coordinate and sorts the nearest first: `nearest(to: here) { $0.start }.limit(20)`.
  ///
  /// With further conditions and an index, the query reads as many of the nearest records as it needs to find those
  /// requested. Without a limit or an index it measures all records.
  public func nearest<Place>(
    to place: Coordinate, by field: (E.Fields) -> Field<Place>
  ) -> RecordQuery where Place.Unwrapped == Coordinate {
    let field = field(E.fields)
    return self.where(field.isNotNull).order(field.nearest(to: place))
  }

  /// Allows any order if no key is given, so that a full scan reads the table in its stored order.
  public func inAnyOrder() -> RecordQuery { changed { $0.isUnordered = true } }

  /// Limits the query to `count` records, after skipping the first `offset`.
  public func limit(_ count: Int, offset: Int = 0) -> RecordQuery {
    changed {
      $0.limit = count
      $0.offset = offset
    }
  }

  /// Limits the query to the records of one container.
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
