/// Which records of the entity type `E`, in which order, and how many, as a value:
///
/// ```swift
/// RecordQuery<Todo>().where { $0.done == false && $0.due < date }.order { $0.due.descending }.limit(10)
/// ```
///
/// The same value is fetched, counted, observed and sent to the server; making one reads nothing.
public struct RecordQuery<E: Entity>: Sendable, Hashable {
  /// The query without the Swift type.
  public var recordQuery: AnyQuery

  /// Every record of the type, by id.
  public init() { recordQuery = AnyQuery(E.typeName) }

  /// The records that `query` describes; its type becomes `E`'s.
  public init(_ query: AnyQuery) {
    recordQuery = query
    recordQuery.type = E.typeName
  }

  /// Keeps the records for which the condition is true too.
  public func `where`(_ condition: (E.Fields) -> Condition) -> RecordQuery { self.where(condition(E.fields)) }

  /// Keeps the records for which `condition` is true too.
  public func `where`(_ condition: Condition) -> RecordQuery {
    changed { $0.filter = $0.filter && condition }
  }

  /// Sorts by the key; where earlier keys are equal, if there are any.
  public func order(_ key: (E.Fields) -> SortKey) -> RecordQuery { order(key(E.fields)) }

  /// Sorts by the keys; where earlier keys are equal, if there are any.
  public func order(_ keys: SortKey...) -> RecordQuery { changed { $0.order += keys } }

  /// Those with a coordinate, the nearest first: `nearest(to: here) { $0.start }.limit(20)`.
  ///
  /// Where the records meet further conditions and the field is indexed, so many of the nearest are read as it takes
  /// to find those asked for; without a limit or an index all of them are measured.
  public func nearest<Place: CoordinateExpression>(
    to place: Coordinate, by field: (E.Fields) -> Place
  ) -> RecordQuery {
    let field = field(E.fields)
    return self.where(field.isNotNull).order(field.nearest(to: place))
  }

  /// Lets the records come in any order, where no key is given: a full scan then reads the table as it lies.
  public func inAnyOrder() -> RecordQuery { changed { $0.isUnordered = true } }

  /// At most `count` records, after leaving out the first `offset`.
  public func limit(_ count: Int, offset: Int = 0) -> RecordQuery {
    changed {
      $0.limit = count
      $0.offset = offset
    }
  }

  /// Only records of one container.
  public func `in`(container: String, includingChildren: Bool = false) -> RecordQuery {
    changed {
      $0.container = container
      $0.includesChildren = includingChildren
    }
  }

  /// Asks for the records that a reference field names, too.
  public func including(_ field: (E.Fields) -> any FieldExpression) -> RecordQuery {
    let name = field(E.fields).name
    return changed { $0.include.append(name) }
  }

  private func changed(_ change: (inout AnyQuery) -> Void) -> RecordQuery {
    var copy = self
    change(&copy.recordQuery)
    return copy
  }
}
