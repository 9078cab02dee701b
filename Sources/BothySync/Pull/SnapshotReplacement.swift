import BothyStore

/// Replaces the local records of a scope by a complete snapshot. Rows that the server reported before and that the
/// snapshot lacks no longer exist. Its versions count even if they are lower than the local ones.
///
/// Rows are marked before the snapshot is applied and swept after it, so memory doesn't grow with their number. Rows
/// with pending work stay, and so do rows whose new version can't be read.
struct SnapshotReplacement {
  let scope: SyncScope
  let transaction: WriteTransaction
  /// True if the snapshot's versions can't be compared with those of the rows.
  let isOtherHistory: Bool

  /// The beginning of a marked version. As a number, such a text is 0, which is less than any version.
  private static let mark = "stale:"

  /// - Parameter position: the snapshot's position in the history that the file follows. Rows that are newer stay.
  ///   `nil` for a snapshot of another history, whose versions can't be compared.
  func begin(at position: Int64?) throws {
    try UnrecognizedRecords.clear(scope, in: transaction)
    try UnreadableTable.remove(where: scope.contains, in: transaction)
    for table in transaction.catalog.tables where table.schema.isSynced {
      try run(
        """
        UPDATE \(table.name) SET _version = ?1 || _version
        WHERE _version IS NOT NULL AND CAST(_version AS INTEGER) <= \(position ?? .max) AND \(filter(table))
        """, table)
    }
  }

  /// True if the row that a snapshot replaces has a newer version, because the server's history has gone back.
  static func isNewer(_ change: ServerRecord, _ table: TypeTable, in transaction: ReadTransaction) throws
    -> Bool
  {
    guard let version = try replaced(change.id, table, in: transaction)?.version, let here = Int64(version),
      let there = Int64(change.version)
    else { return false }
    return here > there
  }

  /// Returns the version of a row that a snapshot replaces, if the server reported it with this content and the
  /// snapshot has an older one. Otherwise returns `nil`.
  static func lost(_ change: ServerRecord, _ table: TypeTable, in transaction: ReadTransaction) throws
    -> String?
  {
    guard let (row, version) = try replaced(change.id, table, in: transaction),
      !change.version.isNewer(than: version)
    else { return nil }
    if change.isDeleted { return version }
    // Compared as a local row, because values that don't fit the schema differ from the server's. A change that can't
    // be read isn't what the row shows.
    let theirs = (try? table.row(change)).map { table.document($0) }
    return theirs == table.document(row) ? nil : version
  }

  /// Returns the row that a snapshot may replace, and its version before the snapshot, or `nil`.
  static func replaced(
    _ id: RecordID, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> (row: StoredRow, version: String)? {
    guard let row = try transaction.row(table, id: id.id), let marked = row.version, marked.hasPrefix(mark)
    else { return nil }
    return (row, String(marked.dropFirst(mark.count)))
  }

  /// Removes the rows that the snapshot lacks and that `keeps` doesn't keep, and returns their ids.
  func finish(_ keeps: (RecordID, TypeTable) throws -> Bool) throws -> [RecordID] {
    var removed: [RecordID] = []
    for table in transaction.catalog.tables where table.schema.isSynced {
      let marked = "_version LIKE ?1 || '%' AND \(filter(table))"
      let (isPending, isUnreadable) = (isIn("bothy_outbox", table), isIn("bothy_unreadable", table))
      let stays = "\(isPending) OR \(isUnreadable)"
      if isOtherHistory {
        // Whatever the other history has, once it can be read, is newer than such a row.
        let aged = "UPDATE \(table.name) SET _version = '\(OutboxQueue.agedVersion)'"
        try run("\(aged) WHERE \(marked) AND \(isUnreadable) AND NOT \(isPending)", table)
      }
      try run(
        """
        UPDATE \(table.name) SET _version = substr(_version, length(?1) + 1) WHERE \(marked) AND (\(stays))
        """, table)
      let select = try prepared("SELECT _id FROM \(table.name) WHERE \(marked)", table)
      var gone: [String] = []
      while try select.step() { if let id = select.text(at: 0) { gone.append(id) } }
      select.reset()
      for id in gone.map({ RecordID(type: table.schema.name, id: $0) }) where try !keeps(id, table) {
        try transaction.evict(table, id: id.id, deletion: "")
        removed.append(id)
      }
    }
    return removed
  }

  private func isIn(_ name: String, _ table: TypeTable) -> String {
    "EXISTS (SELECT 1 FROM \(name) WHERE type = ?3 AND id = \(table.name)._id)"
  }

  private func run(_ sql: String, _ table: TypeTable) throws { try prepared(sql, table).run() }

  private func prepared(_ sql: String, _ table: TypeTable) throws -> PreparedStatement {
    let statement = try PreparedStatement(sql, in: transaction.database)
    statement.bind(Self.mark, at: 1)
    statement.bind(scope.container, at: 2)
    statement.bind(table.schema.name, at: 3)
    return statement
  }

  /// Returns SQL that selects the scope. Parameter 2 is its path, 3 the type's name, and `0` is the character after
  /// `/`.
  private func filter(_ table: TypeTable) -> String {
    if scope == .everything { return "?2 IS NOT NULL AND ?3 IS NOT NULL" }
    let container = "coalesce(_container, ?3)"
    if !scope.includesChildren { return "\(container) = ?2" }
    return "(\(container) = ?2 OR (\(container) >= ?2 || '/' AND \(container) < ?2 || '0'))"
  }
}
