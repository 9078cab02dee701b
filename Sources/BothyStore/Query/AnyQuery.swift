/// A description of records of one type without a Swift type: the condition, the order and the limit. Tools, the wire
/// and the server use it.
///
/// ```swift
/// import BothyPacks
///
/// for row in try await pack.fetch(AnyQuery("City", limit: 10)) { print(row.id, row["name"]) }
/// ```
///
/// `RecordQuery<E>` is the equivalent for an entity type.
public struct AnyQuery: Sendable, Hashable {
  /// The name of the type in the schema.
  package var type: String
  /// The condition on the records; `.all` without one.
  package var filter: ConditionTree
  /// The sort keys. Empty sorts by id.
  package var order: [SortKey]
  /// True if the records may come in any order when `order` is empty, the cheapest way to read a whole type. A hint to
  /// the local store; it isn't sent.
  package var isUnordered = false
  /// The greatest number of records, or nil for all. A negative limit throws `BothyError` `invalidQuery`.
  package var limit: Int?
  /// The number of records to skip at the front, 0 or more. They are read all the same, so use pages for long lists.
  package var offset: Int
  /// The container of the records, or nil for every container.
  package var container: String?
  /// True if the containers below `container` count too.
  package var includesChildren: Bool
  /// Reference fields whose targets a network read also downloads, so that `resolve` finds them here. A read that
  /// doesn't send a request to the server ignores it.
  package var include: [String]

  /// Creates a query. By default it describes all records of a type, by id. The query is checked only when it runs.
  ///
  /// - Parameters:
  ///   - filter: The condition; by default every record meets it.
  ///   - order: The sort keys, the most important one first. Ties are broken by id.
  ///   - limit: The greatest number of records. A negative one throws `BothyError` `invalidQuery` at the fetch.
  ///   - offset: The number of records to skip. They are read all the same.
  ///   - container: The container, or `nil` for all.
  ///   - includesChildren: True to include the containers below `container`.
  public init(
    _ type: String, where filter: Condition = Condition(true), order: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0, container: String? = nil, includesChildren: Bool = false
  ) {
    self.init(
      type, where: filter.tree, order: order, limit: limit, offset: offset, container: container,
      includesChildren: includesChildren)
  }

  package init(
    _ type: String, where filter: ConditionTree, order: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0, container: String? = nil, includesChildren: Bool = false,
    include: [String] = []
  ) {
    self.type = type
    self.filter = filter
    self.order = order
    self.limit = limit
    self.offset = offset
    self.container = container
    self.includesChildren = includesChildren
    self.include = include
  }
}
