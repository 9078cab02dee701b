import BothyStore

/// Diagnosis of a synced store: of the file, like `LocalStore`, and of the bookkeeping of syncing.
extension SyncedStore {
  /// Checks the file, tables, rows and indexes, the outbox and the records' versions, and the checksums of blobs.
  /// Changes nothing.
  ///
  /// Reads the whole file and all blobs on the calling thread, and holds the writer while it reads the file. Throws
  /// only if the store is closed.
  package func diagnose() throws -> StoreDiagnosis {
    var diagnosis = try store.diagnose(with: [BookkeepingCheck()])
    do { diagnosis.findings += try store.read { try BlobCheck(folder: blobFolder).findings(in: $0) } } catch {
      diagnosis.findings.append(
        StoreDiagnosis.Finding(
          .error, check: "blobs", "The state of blobs can't be read: \(error)",
          remedy: "Mend the database first, see the other findings."))
    }
    return diagnosis
  }
}

/// Checks that the outbox and the records agree. Each pending insert or update has a record, and a deletion has none.
/// Each update has its base, and each record without an acknowledgment has a pending change.
struct BookkeepingCheck: StoreCheck {
  func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
    var findings: [StoreDiagnosis.Finding] = []
    for entry in try OutboxQueue.entries(in: transaction) {
      findings += try problems(of: entry, in: transaction)
    }
    for table in transaction.catalog.tables where table.schema.isSynced {
      findings += try strays(table, in: transaction)
      findings += try duplicates(table, in: transaction)
    }
    findings += try brokenBases(in: transaction)
    findings += try strayPages(in: transaction)
    findings += try unreadable(in: transaction)
    return findings
  }

  private func problems(
    of entry: Outbox.Entry, in transaction: ReadTransaction
  ) throws -> [StoreDiagnosis.Finding] {
    let record = entry.id
    guard transaction.catalog.tableIfKnown(record.type) != nil else {
      return [Self.error("The outbox holds a change of \(record), whose type is not declared.")]
    }
    var problems: [StoreDiagnosis.Finding] = []
    let exists = try transaction.exists(record)
    if entry.change == .delete && exists && entry.awaited == nil {
      problems.append(Self.error("\(record) is marked as deleted and is still here."))
    }
    if entry.change != .delete && !exists && entry.awaited == nil {
      problems.append(Self.error("\(record) has a pending \(entry.change.rawValue) and is not here."))
    }
    if entry.change == .update && entry.base == nil {
      problems.append(Self.error("\(record) has a pending update with nothing it was made against."))
    }
    return problems
  }

  /// Finds entries that have the fields of a base without its version, or the version without fields.
  private func brokenBases(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
    try transaction.rows(
      "SELECT type, id FROM bothy_outbox WHERE (base IS NULL) <> (base_version IS NULL)"
    ) { Self.error("\($0.record(at: 0)) has half of what its pending change was made against.") }
  }

  /// Finds pages of a pull without a cursor, which are never applied.
  private func strayPages(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
    try transaction.rows(
      """
      SELECT container, count(*) FROM bothy_stage AS page WHERE NOT EXISTS (
        SELECT 1 FROM bothy_cursor AS mark WHERE mark.container = page.container
          AND mark.children = page.children AND mark.staged IS NOT NULL)
      GROUP BY container, children
      """
    ) { row in
      StoreDiagnosis.Finding(
        .warning, check: "sync",
        "\(row.int(at: 1)) pages of a pull of '\(row.text(at: 0) ?? "")' wait for a pull that is not going on.",
        remedy: "The next complete pull of that container clears them.")
    }
  }

  private func unreadable(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
    try UnreadableTable.all(in: transaction).map { found in
      StoreDiagnosis.Finding(
        .warning, check: "sync",
        "The server's \(found.record) at version \(found.version) can't be read here and is quarantined. \(found.reason)",
        remedy: "Update the app, or mend the record on the server. All other records are synced.")
    }
  }

  /// Finds records that the server never acknowledged and that aren't pending. `accept-local` leaves such records
  /// deliberately.
  private func strays(
    _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> [StoreDiagnosis.Finding] {
    try transaction.rows(
      """
      SELECT count(*) FROM \(table.name) WHERE _version IS NULL
        AND _id NOT IN (SELECT id FROM bothy_outbox WHERE type = ?)
      """, table.schema.name
    ) { row in
      let count = row.int(at: 0)
      guard count > 0 else { return nil }
      return StoreDiagnosis.Finding(
        .note, check: "sync", "\(count) records of \(table.schema.name) are on this device only.",
        remedy: "They were accepted so, or written before the type was synced; save them again to send them.")
    }
  }

  /// Finds unique values that several records have, by their index. They come with a pull from a server that was started
  /// without the schema, or from a rejected record until it is changed.
  private func duplicates(
    _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> [StoreDiagnosis.Finding] {
    try table.schema.uniqueKeys.flatMap { key in
      let columns = key.map(\.name.quotedIdentifier)
      let names = key.map { "'\($0.name)'" }.joined(separator: " and ")
      return try transaction.rows(
        """
        SELECT count(*), min(_id), max(_id) FROM \(table.name)
        WHERE \(columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND "))
        GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 ORDER BY 2 LIMIT 20
        """
      ) { row in
        let (first, last) = (row.text(at: 1) ?? "", row.text(at: 2) ?? "")
        return StoreDiagnosis.Finding(
          .warning, check: "unique",
          "\(row.int(at: 0)) records of \(table.schema.name) have the same \(names), "
            + "which \(key.count == 1 ? "is unique" : "are unique together"); '\(first)' and '\(last)' are among them.",
          remedy: "Give all but one another value: `bothy db put`, or in the app.")
      }
    }
  }

  private static func error(_ message: String) -> StoreDiagnosis.Finding {
    StoreDiagnosis.Finding(
      .error, check: "sync", message,
      remedy: "Decide with `bothy resolve`: --revert, or --evict to pull it again.")
  }
}

/// Checks that the files of blobs have the content of their names, and that blobs to upload exist.
struct BlobCheck {
  let folder: BlobFolder

  func findings(in transaction: ReadTransaction) throws -> [StoreDiagnosis.Finding] {
    var findings: [StoreDiagnosis.Finding] = []
    for name in try BlobTable.namedByPending(in: transaction).keys.sorted() where folder.size(of: name) == nil
    {
      guard try BlobTable.row(name, in: transaction)?.state == .pending else { continue }
      findings.append(
        StoreDiagnosis.Finding(
          .error, check: "blobs", "The bytes of the blob \(name), which waits to be uploaded, are not here.",
          remedy: "Put them again, or clear the field that names them."))
    }
    for file in folder.files() where try !folder.isIntact(file.sha256) {
      let isOnServer = try BlobTable.row(file.sha256, in: transaction)?.state == .onServer
      findings.append(
        StoreDiagnosis.Finding(
          isOnServer ? .warning : .error, check: "blobs", "The file of the blob \(file.sha256) is damaged.",
          remedy: isOnServer
            ? "The next read brings it back from the server." : "Put the bytes again, or clear the field."))
    }
    return findings
  }
}
