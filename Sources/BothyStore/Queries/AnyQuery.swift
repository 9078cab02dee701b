/// Which records of one type, in which order, and how many: the query with no Swift type, as tools, the wire
/// and the server use it.
///
/// `RecordQuery<E>` is the same for an entity type.
public struct AnyQuery: Sendable, Hashable {
  /// The name of the type in the schema.
  public var type: String
  /// Which records; `.all` without a condition.
  public var filter: Condition
  /// Empty means by id.
  public var order: [SortKey]
  /// Whether the records may come in any order, where `order` is empty: the cheapest for reading all of a type.
  /// A hint to the local store; it is not sent.
  public var isUnordered = false
  /// How many records at most; nil means all. A negative one throws `StoreError` `.invalidQuery`.
  public var limit: Int?
  /// How many records to leave out from the front, 0 or more. They are read all the same: for long lists take pages.
  public var offset: Int
  /// Only records of this container, or nil for every container.
  public var container: String?
  /// Whether the containers below `container` count too.
  public var includesChildren: Bool
  /// Reference fields whose targets a network read is to bring as well; `resolve` then finds them here. Means
  /// nothing to a read that does not ask the server.
  public var include: [String]

  /// All records of a type by id, unless told otherwise. Nothing is checked before the query runs.
  public init(
    _ type: String, where filter: Condition = .all, order: [SortKey] = [], limit: Int? = nil,
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
