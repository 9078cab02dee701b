import BothyStore

/// Reading the changes that a user may see, by the indexes of visibility.
///
/// Each source has an index range in the order of positions. The ranges are merged: each is read up to the last position
/// that the others leave room for.
extension SQLiteServerTransaction {
  func changes(
    after position: Int64, in scope: SyncScope, limit: Int, bytes: Int, seenBy filter: VisibilityFilter
  ) throws -> [StoredRecord] {
    // Among few changes few are hidden.
    guard head - position > Int64(filter.fewChanges) else {
      return try changes(after: position, in: scope, limit: limit, bytes: bytes)
    }
    let sources = try sources(after: position, seenBy: filter)
    guard try hidesMany(sources.restricted, after: position, filter) else {
      return try changes(after: position, in: scope, limit: limit, bytes: bytes)
    }
    var merge = PositionMerge(limit: limit)
    try addWhole(sources.whole, to: &merge, after: position, in: scope)
    for type in sources.owned {
      try add(to: &merge, Self.owned(in: scope), type, filter.owner, after: position, in: scope)
    }
    for place in sources.shared {
      try add(to: &merge, Self.shared(in: scope), place.type, place.key, after: position, in: scope)
    }
    for type in sources.chosen {
      guard let sight = filter.sights[type] else { continue }
      try addChosen(type, sight, to: &merge, after: position, in: scope)
    }
    return try records(at: merge.positions, bytes: bytes)
  }

  /// Returns true if restricted types have more changes than are read and left out.
  private func hidesMany(_ types: [String], after position: Int64, _ filter: VisibilityFilter) throws -> Bool
  {
    guard !types.isEmpty else { return false }
    let count = try PreparedStatement(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM record INDEXED BY record_type WHERE space = ?1 AND type = ?2 AND position > ?3 LIMIT ?4)
      """, in: database)
    var left = filter.fewChanges
    for type in types where left > 0 {
      count.bind(space, at: 1)
      count.bind(type, at: 2)
      count.bind(position, at: 3)
      count.bind(Int64(left), at: 4)
      if try count.step() { left -= Int(count.int(at: 0)) }
      count.reset()
    }
    return left <= 0
  }

  /// Adds the changes of types of which the user sees every record.
  private func addWhole(
    _ types: [String], to merge: inout PositionMerge, after position: Int64, in scope: SyncScope
  ) throws {
    if scope.includesChildren && scope.container.isEmpty {
      for type in types { try add(to: &merge, Self.whole, type, nil, after: position, in: scope) }
      return
    }
    for type in types { try add(to: &merge, Self.wholeContainer, type, nil, after: position, in: scope) }
    guard scope.includesChildren, !types.isEmpty else { return }
    if try isSmall(scope, after: position, limit: merge.limit) {
      let names = JSONValue.array(types.map { .string($0) }).canonicalText
      try add(to: &merge, Self.smallTree, names, nil, after: position, in: scope)
    } else {
      for type in types { try add(to: &merge, Self.wholeTree, type, nil, after: position, in: scope) }
    }
  }

  /// Adds the positions that a statement finds.
  private func add(
    to merge: inout PositionMerge, _ sql: String, _ type: String, _ key: String?, after position: Int64,
    in scope: SyncScope
  ) throws {
    let select = try PreparedStatement(sql, in: database)
    if let key { select.bind(key, at: 7) }
    try add(to: &merge, select, type, after: position, in: scope)
  }

  /// Adds the positions that a statement finds, whose further parameters are bound.
  func add(
    to merge: inout PositionMerge, _ select: PreparedStatement, _ type: String, after position: Int64,
    in scope: SyncScope
  ) throws {
    select.bind(space, at: 1)
    select.bind(type, at: 2)
    select.bind(scope.container, at: 3)
    select.bind(position, at: 4)
    select.bind(merge.end, at: 5)
    select.bind(Int64(merge.limit), at: 6)
    defer { select.reset() }
    var found: [Int64] = []
    while try select.step() { found.append(select.int(at: 0)) }
    merge.add(found)
  }

  private func records(at positions: [Int64], bytes: Int) throws -> [StoredRecord] {
    let select = try PreparedStatement(
      "SELECT \(Self.columns) FROM record WHERE space = ? AND position = ?", in: database)
    select.bind(space, at: 1)
    var found: [StoredRecord] = []
    found.reserveCapacity(positions.count)
    var left = bytes
    for position in positions where left > 0 {
      select.bind(position, at: 2)
      if try select.step() {
        let entry = try record(select)
        left -= entry.record.weight
        found.append(entry)
      }
      select.reset()
    }
    return found
  }

  // MARK: statements

  // Parameters: 1 the space, 2 the type, 3 the container, 4 and 5 the positions, 6 the limit, 7 the key.
  private static let range = "position > ?4 AND position <= ?5"

  private static let whole = """
    SELECT position FROM record INDEXED BY record_type
    WHERE space = ?1 AND type = ?2 AND ?3 IS NOT NULL AND \(range) ORDER BY position LIMIT ?6
    """
  private static let wholeContainer = """
    SELECT position FROM record INDEXED BY record_place
    WHERE space = ?1 AND container = ?3 AND type = ?2 AND \(range) ORDER BY position LIMIT ?6
    """
  private static let wholeTree = """
    SELECT position FROM record INDEXED BY record_type
    WHERE space = ?1 AND type = ?2 AND container >= ?3 || '/' AND container < ?3 || '0' AND \(range)
    ORDER BY position LIMIT ?6
    """
  private static let smallTree = """
    SELECT position FROM record INDEXED BY record_place
    WHERE space = ?1 AND container >= ?3 || '/' AND container < ?3 || '0'
      AND type IN (SELECT value FROM json_each(?2)) AND \(range)
    ORDER BY position LIMIT ?6
    """

  private static func owned(in scope: SyncScope) -> String {
    """
    SELECT position FROM record INDEXED BY record_owner
    WHERE space = ?1 AND owner = ?7 AND type = ?2 AND \(range) AND \(filter(scope)) ORDER BY position LIMIT ?6
    """
  }

  private static func shared(in scope: SyncScope) -> String {
    """
    SELECT audience.position FROM audience
    CROSS JOIN record ON record.space = audience.space AND record.position = audience.position
      AND record.type = audience.type AND record.id = audience.id
    WHERE audience.space = ?1 AND audience.name = ?7 AND audience.type = ?2
      AND audience.position > ?4 AND audience.position <= ?5 AND \(filter(scope))
    ORDER BY audience.position LIMIT ?6
    """
  }
}
