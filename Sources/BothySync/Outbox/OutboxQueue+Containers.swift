import BothyStore

/// Pending work by container.
extension OutboxQueue {
  /// Returns the local container of an entry's record. For a record deleted here, returns the server's container.
  static func container(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> String {
    let type = entry.record.type
    if let awaited = entry.awaited, entry.kind != .delete { return awaited.container ?? type }
    guard entry.kind != .delete, let table = transaction.catalog.tableIfKnown(type),
      let row = try transaction.row(table, id: entry.record.id)
    else { return entry.container ?? type }
    return row.container ?? type
  }

  /// Returns the server's container of an entry's record as last reported, or the local one if the server reported
  /// none. Requests for the record use this container.
  static func serverContainer(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> String {
    if let told = entry.told, !told.isDeleted { return told.container }
    return try container(of: entry, in: transaction)
  }

  /// Returns the names of the containers with entries to send. Drafts and quarantined entries don't count. Exact, with
  /// one look at each entry.
  static func containersToSend(in transaction: ReadTransaction) throws -> [String] {
    try countsByContainer(where: "entry.state = 0", in: transaction).keys.sorted()
  }

  /// Returns the number of entries in each container. A moved record counts in its local container, and a record
  /// deleted here in the server's. `condition` is SQL of this module's own.
  static func countsByContainer(
    where condition: String = "1", in transaction: ReadTransaction
  ) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for table in transaction.catalog.tables where table.schema.isSynced {
      try transaction.forEach(
        """
        SELECT CASE WHEN kind = 2 THEN coalesce(entry.container, ?1) WHEN awaited IS NOT NULL
          THEN coalesce(entry.awaited_in, ?1) ELSE coalesce(row._container, ?1) END, count(*)
        FROM bothy_outbox AS entry LEFT JOIN \(table.name) AS row ON row._id = entry.id
        WHERE entry.type = ?1 AND \(condition) GROUP BY 1
        """, [table.schema.name]
      ) { row in
        if let name = row.text(at: 0) { counts[name, default: 0] += Int(row.int(at: 1)) }
      }
    }
    return counts
  }

  /// Returns the entries of a scope in the order of sending. New records come after what they refer to, then updates,
  /// then deletions before what they refer to.
  static func entries(
    in scope: SyncScope, includingQuarantined: Bool, in transaction: ReadTransaction
  ) throws -> [Outbox.Entry] {
    let order = transaction.catalog.tablesByReference.map(\.schema.name)
    let rank = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
    func key(_ entry: Outbox.Entry) -> (Int64, Int, String) {
      let place = rank[entry.record.type] ?? order.count
      return (entry.kind.number, entry.kind == .delete ? -place : place, entry.record.id)
    }
    return try entries(in: transaction).filter { entry in
      guard includingQuarantined || entry.state != .quarantined else { return false }
      return try scope == .everything || scope.contains(container(of: entry, in: transaction))
    }
    .sorted { key($0) < key($1) }
  }
}
