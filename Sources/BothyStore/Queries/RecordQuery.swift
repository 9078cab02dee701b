/// Which records of one type, in which order, and how many: the query with no Swift type, as tools, the wire
/// and the server use it.
///
/// `Query<E>` is the same for an entity type.
public struct RecordQuery: Sendable, Hashable {
  public var type: String
  public var filter: Predicate
  /// Empty means by id.
  public var order: [Ordering]
  /// Whether the records may come in any order, where `order` is empty: the cheapest for reading all of a type.
  /// A hint to the local store; it is not sent.
  public var isUnordered = false
  public var limit: Int?
  public var offset: Int
  /// Only records of this container, or nil for every container.
  public var container: String?
  /// Whether the containers below `container` count too.
  public var includesChildren: Bool
  /// Reference fields whose targets a network read is to bring as well; `resolve` then finds them here. Means
  /// nothing to a read that does not ask the server.
  public var include: [String]

  public init(
    _ type: String, where filter: Predicate = .all, order: [Ordering] = [], limit: Int? = nil,
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
