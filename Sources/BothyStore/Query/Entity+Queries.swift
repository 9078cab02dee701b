/// Queries that begin at the type: `Todo.all`, `Todo.where { !$0.done }`, `Todo.order(by: \.title)`.
extension Entity {
  /// Every record of the type, ordered by id.
  public static var all: RecordQuery<Self> { RecordQuery() }

  /// The records that meet a condition.
  public static func `where`(_ condition: (Fields) -> Condition) -> RecordQuery<Self> {
    RecordQuery().where(condition)
  }

  /// The records whose Boolean field is true: `Todo.where { $0.done }`.
  public static func `where`(_ field: (Fields) -> Field<Bool>) -> RecordQuery<Self> {
    RecordQuery().where(field)
  }

  /// Every record, sorted: `Todo.order(by: \.title)`.
  public static func order<Value>(
    by field: KeyPath<Fields, Field<Value>>, _ direction: SortDirection = .ascending
  ) -> RecordQuery<Self> { RecordQuery().order(by: field, direction) }
}

/// The direction of a sort.
///
/// ```swift
/// let newest = Todo.order(by: \.due, .descending).order(by: \.title)
/// ```
public enum SortDirection: Sendable, Hashable {
  /// Smallest first; records without a value before all others.
  case ascending
  /// Largest first; records without a value after all others.
  case descending
}

extension RecordQuery {
  /// Keeps the records whose Boolean field is true: `.where { $0.done }`.
  public func `where`(_ field: (E.Fields) -> Field<Bool>) -> RecordQuery {
    self.where(field(E.fields).isTrue)
  }

  /// Adds a sort key: `.order(by: \.due, .descending)`. Keys given first sort first.
  public func order<Value>(
    by field: KeyPath<E.Fields, Field<Value>>, _ direction: SortDirection = .ascending
  ) -> RecordQuery { order(SortKey(E.fields[keyPath: field].fieldName, ascending: direction == .ascending)) }

  /// Adds an ascending sort key: `.order { $0.title }`.
  public func order<Value>(_ field: (E.Fields) -> Field<Value>) -> RecordQuery {
    order(SortKey(field(E.fields).fieldName))
  }

  /// Keeps the records whose `@FullText` fields contain the words, the last one as a prefix.
  public func matching(_ words: String) -> RecordQuery { self.where(ConditionTree.matches(words)) }
}
