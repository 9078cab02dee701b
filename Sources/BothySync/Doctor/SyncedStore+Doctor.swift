public import BothyStore

/// Examining a synced store: the file as `Store` does, and the bookkeeping of syncing.
extension SyncedStore {
  /// Examines the file, tables, rows and indexes, the outbox and the records' versions. Changes nothing.
  ///
  /// Reads the whole file on the calling thread and holds the writer while it does. Throws only when the
  /// store is closed.
  public func diagnose() throws -> StoreDiagnosis { try store.diagnose(with: [BookkeepingCheck()]) }
}

/// Whether the outbox and the records agree: each pending insert or update has its record, no deletion has
/// one, each update has what it was made against, and no record waits for nobody.
struct BookkeepingCheck: StoreCheck {
  func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
    var findings: [StoreDiagnosis.Finding] = []
    for entry in try Outbox.entries(in: transaction) {
      findings += try problems(of: entry, in: transaction)
    }
    for table in transaction.catalog.tables where table.schema.isSynced {
      findings += try strays(table, in: transaction)
    }
    return findings
  }

  private func problems(
    of entry: OutboxEntry, in transaction: ReadTransaction
  ) throws -> [StoreDiagnosis.Finding] {
    let record = entry.record
    guard transaction.catalog.tableIfKnown(record.type) != nil else {
      return [Self.error("The outbox holds a change of \(record), whose type is not declared.")]
    }
    var problems: [StoreDiagnosis.Finding] = []
    let exists = try transaction.exists(record)
    if entry.kind == .delete && exists {
      problems.append(Self.error("\(record) is marked as deleted and is still here."))
    }
    if entry.kind != .delete && !exists {
      problems.append(Self.error("\(record) has a pending \(entry.kind.rawValue) and is not here."))
    }
    if entry.kind == .update && entry.base == nil {
      problems.append(Self.error("\(record) has a pending update with nothing it was made against."))
    }
    return problems
  }

  /// Records that the server never acknowledged and that nothing will send: `accept-local` leaves such, on
  /// purpose.
  private func strays(
    _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> [StoreDiagnosis.Finding] {
    let select = try PreparedStatement(
      """
      SELECT count(*) FROM \(table.name) WHERE _version IS NULL
        AND _id NOT IN (SELECT id FROM bothy_outbox WHERE type = ?)
      """, in: transaction.database)
    select.bind(table.schema.name, at: 1)
    defer { select.reset() }
    let count = try select.step() ? select.int(at: 0) : 0
    guard count > 0 else { return [] }
    return [
      StoreDiagnosis.Finding(
        .note, check: "sync", "\(count) records of \(table.schema.name) are on this device only.",
        remedy: "They were accepted so, or written before the type was synced; save them again to send them.")
    ]
  }

  private static func error(_ message: String) -> StoreDiagnosis.Finding {
    StoreDiagnosis.Finding(
      .error, check: "sync", message,
      remedy: "Decide with `bothy resolve`: --revert, or --evict to pull it anew.")
  }
}
