/// Queries that begin at the type: `Todo.all`, `Todo.where { !$0.done }`, `Todo.order(by: \.title)`.
extension Entity {
  /// Every record of the type, ordered by id.
  ///
  /// The beginning of queries without a condition: `Todo.all.limit(20)`. Making it reads nothing. Fetched as it is, it
  /// reads the whole type into memory.
  public static var all: RecordQuery<Self> { RecordQuery() }

  /// The records that meet a condition.
  ///
  /// The closure runs once, when the query is made. It names fields and doesn't see records. An index of a field serves
  /// equality, ranges and prefixes.
  ///
  /// ```swift
  /// let due = Todo.where { !$0.done && $0.due < Date() }.order(by: \.due)
  /// ```
  public static func `where`(_ condition: (Fields) -> Condition) -> RecordQuery<Self> {
    RecordQuery().where(condition)
  }

  /// The records whose Boolean field is true: `Todo.where { $0.done }`.
  ///
  /// The field isn't optional. An optional one is compared, as in `$0.seen == true`.
  public static func `where`(_ field: (Fields) -> Field<Bool>) -> RecordQuery<Self> {
    RecordQuery().where(field)
  }

  /// Every record, sorted: `Todo.order(by: \.title)`.
  ///
  /// Ties are broken by id. Without an index of the field SQLite visits all records before it returns the first. A
  /// field of data, coordinates, JSON or lists throws `BothyError` `invalidQuery` at the fetch. With `natural` texts
  /// are in the order that people expect, as `RecordQuery` has it.
  public static func order<Value>(
    by field: KeyPath<Fields, Field<Value>>, _ direction: SortDirection = .ascending, natural: Bool = false
  ) -> RecordQuery<Self> { RecordQuery().order(by: field, direction, natural: natural) }
}

/// The direction of a sort.
///
/// ```swift
/// let newest = Todo.order(by: \.due, .descending).order(by: \.title)
/// ```
public enum SortDirection: Sendable, Hashable {
  /// Smallest first; records without a value before all others. False is before true, and text is compared by its UTF-8
  /// bytes.
  case ascending
  /// Largest first; records without a value after all others. An index serves both directions.
  case descending
}

extension RecordQuery {
  /// Keeps the records whose Boolean field is true: `.where { $0.done }`.
  ///
  /// Earlier conditions hold too. For the records whose field is false write `!$0.done`.
  public func `where`(_ field: (E.Fields) -> Field<Bool>) -> RecordQuery {
    self.where(field(E.fields).isTrue)
  }

  /// Adds a sort key: `.order(by: \.due, .descending)`. Keys given first sort first.
  ///
  /// Ties are broken by id. An index of the first key avoids sorting if the condition doesn't use another index.
  ///
  /// ```swift
  /// let next = Todo.where { !$0.done }.order(by: \.due).order(by: \.effort, .descending)
  /// let titles = Todo.order(by: \.title, natural: true)  // item 9, Item 10, Über, Zoe
  /// ```
  ///
  /// In the natural order case and accents don't count, and numbers in texts sort by their value. It is made from
  /// stable properties of Unicode's characters and not from the rules of a language. So it is equal on all systems and
  /// servers, and letters such as ø come after z. Texts that differ by case and accents alone are equal, so the next
  /// key decides. Of long texts the first 400 bytes count.
  ///
  /// With stored sort keys (`@Indexed(natural: true)`) it costs what a plain order with an index does. Without them it
  /// costs a computation for each record. A field that isn't text throws `BothyError` `invalidQuery` at the fetch.
  ///
  /// - Parameters:
  ///   - field: The field, of any type with an order.
  ///   - direction: The direction.
  ///   - natural: True for the order of texts that people expect.
  public func order<Value>(
    by field: KeyPath<E.Fields, Field<Value>>, _ direction: SortDirection = .ascending, natural: Bool = false
  ) -> RecordQuery {
    let name = E.fields[keyPath: field].fieldName
    return order(SortKey(name, ascending: direction == .ascending, natural: natural))
  }

  /// Adds an ascending sort key: `.order { $0.title }`.
  ///
  /// Applies if all earlier keys are equal. Records without a value come first. For another direction write
  /// `$0.title.descending`.
  public func order<Value>(_ field: (E.Fields) -> Field<Value>) -> RecordQuery {
    order(SortKey(field(E.fields).fieldName))
  }

  /// Keeps the records whose `@FullText` fields contain the words, the last one as a prefix.
  ///
  /// Case and diacritics are ignored, and the order of the words too. They may be in different fields. A word with a
  /// `*` after it is a prefix too: `matching("moun* hut")`. Of words in scripts without spaces any part is found. Text
  /// without letters or digits matches every record. Costs look-ups in the index. A type without `@FullText`, and a
  /// field without it, throw `BothyError` `invalidQuery` at the fetch.
  ///
  /// ```swift
  /// let titled = try await store.fetch(Todo.all.matching("rope", in: \.title).order(by: \.due))
  /// let best = try await store.fetch(Todo.all.matching("rope", bestFirst: true).limit(20))
  /// ```
  ///
  /// The most relevant records have the words more often, as whole words, and in shorter texts. The relevance depends
  /// on the record alone, so devices and servers have one order, and pages go on in it. It costs a look at the searched
  /// texts of every record that is found.
  ///
  /// - Parameters:
  ///   - words: The words, in any form.
  ///   - fields: The fields that are searched. Without them these are all with `@FullText`.
  ///   - bestFirst: True to sort the most relevant records first, before further sort keys. Of several searches with it
  ///     the last one counts.
  public func matching(
    _ words: String, in fields: PartialKeyPath<E.Fields>..., bestFirst: Bool = false
  ) -> RecordQuery {
    let search = ConditionTree.matches(words, in: fields.map { E.name(of: $0) })
    guard bestFirst else { return self.where(search) }
    var ranked = self
    // The first search is the one that sorts.
    ranked.recordQuery.filter = search && recordQuery.filter
    if !recordQuery.order.contains(where: \.isRank) {
      ranked.recordQuery.order.append(SortKey(SortKey.rank, ascending: false))
    }
    return ranked
  }
}
