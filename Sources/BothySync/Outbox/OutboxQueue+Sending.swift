import BothyStore

// The sending of entries: what is left to send and when, and what was sent.

/// Reading the work that is left to send. Each look costs the same whatever the size of the outbox, unless it says
/// otherwise. Changes that wait for blobs are left out while a sync uploads these.
extension OutboxQueue {
  /// A position among the changes of a type and a kind, in the order of sending.
  struct ReadyPlace {
    var retryAt: Int64
    var id: String

    /// The position before all changes.
    static let start = ReadyPlace(retryAt: 0, id: "")
  }

  /// Returns the next changes of a type and a kind that can be sent at `time`, with their positions. Those that were
  /// never rejected come first, by id. Reads as many rows as it returns.
  static func ready(
    _ kind: ChangeKind, of type: String, after place: ReadyPlace, at time: Int64, limit: Int,
    in transaction: ReadTransaction
  ) throws -> [(entry: Outbox.Entry, place: ReadyPlace)] {
    try transaction.rows(
      """
      SELECT \(columns) FROM bothy_outbox INDEXED BY bothy_outbox_ready
      WHERE type = ? AND kind = ? AND state = 0 AND operation IS NULL AND (retry_at, id) > (?, ?) AND retry_at <= ?
      ORDER BY retry_at, id LIMIT ?
      """, type, kind.number, place.retryAt, place.id, time, limit
    ) { row in
      (entry: try entry(from: row), place: ReadyPlace(retryAt: row.int(at: 7), id: row.text(at: 1) ?? ""))
    }
  }

  /// Returns the first group after `group`, by name, with changes that aren't sent yet, or `nil`.
  static func group(after group: String, in transaction: ReadTransaction) throws -> String? {
    try transaction.first(
      """
      SELECT together FROM bothy_outbox INDEXED BY bothy_outbox_group
      WHERE together > ? AND retry_at < \(waitingForBlobs) ORDER BY together LIMIT 1
      """, group
    ) { $0.text(at: 0) }
  }

  /// Allows entries that wait after a rejection or for blobs to be sent at once. Those in doubt are sent after the others
  /// in doubt.
  ///
  /// - Parameter records: the records whose entries are meant, or `nil` for all.
  static func clearRetryTimes(of records: [RecordID]?, in transaction: WriteTransaction) throws {
    let sql = "UPDATE bothy_outbox SET retry_at = 1 WHERE retry_at > 1 AND state = 0"
    guard let records else { return try transaction.run(sql) }
    for record in records { try transaction.run(sql + " AND type = ? AND id = ?", record) }
  }

  private static let isLate = "retry_at > ? AND retry_at < \(waitingForBlobs) AND state = 0"

  /// True if any entry waits longer than until a time. Reads all entries.
  static func hasRetryTimes(after time: Int64, in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_outbox WHERE \(isLate) LIMIT 1", time)
  }

  /// Like `clearRetryTimes(of:in:)`, but for the entries that wait longer than until a time.
  static func clearRetryTimes(after time: Int64, in transaction: WriteTransaction) throws {
    try transaction.run("UPDATE bothy_outbox SET retry_at = 1 WHERE \(isLate)", time)
  }

  /// The retry time of changes that wait for blobs. Only the sync that uploads these reads them again, or the next one.
  /// Readers of an entry don't see it, and each edit clears it.
  static let waitingForBlobs: Int64 = 1 << 53

  /// Has a change wait for its blobs, with all of its transaction.
  static func waitForBlobs(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    let sql = "UPDATE bothy_outbox SET retry_at = \(waitingForBlobs) WHERE retry_at < \(waitingForBlobs)"
    if let group = entry.group {
      try transaction.run(sql + " AND together = ?", group)
    } else {
      try transaction.run(sql + " AND type = ? AND id = ?", entry.id)
    }
  }

  /// Has the next exchange read waiting changes again, with those of their transactions.
  ///
  /// - Parameter records: the records that wait no longer, or `nil` for all.
  static func endWaits(of records: Set<RecordID>?, in transaction: WriteTransaction) throws {
    guard let records else {
      return try transaction.run(
        """
        UPDATE bothy_outbox INDEXED BY bothy_outbox_waiting SET retry_at = 0
        WHERE retry_at = \(waitingForBlobs)
        """)
    }
    let sql = "UPDATE bothy_outbox SET retry_at = 0 WHERE retry_at = \(waitingForBlobs)"
    for record in records {
      if let group = try mark(record, in: transaction)?.last.group {
        try transaction.run(sql + " AND together = ?", group)
      } else {
        try transaction.run(sql + " AND type = ? AND id = ?", record)
      }
    }
  }

  /// Returns the time before which a change isn't sent, of its retry time as the file has it. A 1 there says that a change
  /// in doubt is sent after the others, and `waitingForBlobs` that it waits for blobs.
  static func retryTime(_ stored: Int64) -> Int64 { stored == 1 || stored == waitingForBlobs ? 0 : stored }

  /// True if any entry can be sent, now or later. Drafts and quarantined entries don't count, and are read until one is
  /// found.
  static func hasWork(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_outbox WHERE state = 0 LIMIT 1")
  }

  /// True if any entry waits for nothing but a sync. Others are read until one is found.
  static func isReady(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_outbox WHERE state = 0 AND retry_at <= 1 LIMIT 1")
  }

  /// A measure of the work to send that differs after changes: the number of entries, and the sum of the times of their
  /// last changes. The sum is cut so that it can't overflow.
  struct Extent: Equatable {
    var entries: Int64
    var edited: Int64
  }

  /// Returns the measure by a scan.
  static func extent(in transaction: ReadTransaction) throws -> Extent {
    try transaction.first(
      """
      SELECT count(*), coalesce(sum(edited & 0x7fffffff), 0)
      FROM (SELECT edited FROM bothy_outbox WHERE state = 0 UNION ALL SELECT edited FROM bothy_later WHERE state = 0)
      """
    ) { Extent(entries: $0.int(at: 0), edited: $0.int(at: 1)) } ?? Extent(entries: 0, edited: 0)
  }

  /// True if nothing is pending.
  static func isEmpty(in transaction: ReadTransaction) throws -> Bool {
    try !transaction.has("SELECT 1 FROM bothy_outbox LIMIT 1")
  }

  /// Returns the smallest id of the operations whose outcome is unknown, or `nil`.
  static func oldestOperation(in transaction: ReadTransaction) throws -> String? {
    try transaction.first(
      """
      SELECT min(operation) FROM (SELECT min(operation) AS operation FROM bothy_outbox WHERE operation IS NOT NULL
        UNION ALL SELECT min(operation) FROM bothy_later WHERE operation IS NOT NULL
        UNION ALL SELECT min(operation) FROM bothy_doubt)
      """
    ) { $0.text(at: 0) }
  }
}

/// The sending of an entry, from its operation to a retry.
extension OutboxQueue {
  /// True if any entry is tied to another.
  static func hasGroups(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has(
      """
      SELECT 1 WHERE EXISTS (SELECT 1 FROM bothy_outbox WHERE together IS NOT NULL)
        OR EXISTS (SELECT 1 FROM bothy_later)
        OR EXISTS (SELECT 1 FROM bothy_outbox WHERE sent_together IS NOT NULL)
      """)
  }

  /// Notes that the entry was sent as it was at `revision`, and that its outcome is unknown.
  static func setSent(
    _ operation: SyncOperation, of entry: Outbox.Entry, revision: Int64, in transaction: WriteTransaction
  ) throws {
    var writer = JSONWriter(reserving: 256)
    operation.write(to: &writer)
    try update(
      entry,
      """
      SET operation = ?4, sent_revision = ?5, sent = ?6, sent_together = ?7, together = NULL,
        retry_at = CASE retry_at WHEN \(waitingForBlobs) THEN 0 ELSE retry_at END
      """, operation.id, revision, writer.bytes, operation.group?.id, in: transaction)
  }

  /// Keeps the entry as a rejected one, and retries it after `time` unless its state says otherwise.
  ///
  /// - Parameter staysInDoubt: true if the sent operation may have been applied after all. It is then sent again
  ///   unchanged.
  static func postpone(
    _ id: RecordID, _ rejection: Rejection, _: Journal.Noted, until time: Int64, state: Outbox.Entry.Stage,
    staysInDoubt: Bool = false, in transaction: WriteTransaction
  ) throws {
    if !staysInDoubt { try recall(id, in: transaction) }
    try transaction.run(
      """
      UPDATE bothy_outbox SET attempts = attempts + 1, retry_at = ?3, reason = ?4, state = ?5
      WHERE type = ?1 AND id = ?2
      """, id, time, rejection.json, state.rawValue)
  }

  /// Moves a change in doubt behind the others in doubt. Readers of the entry don't see this.
  static func putLast(_ id: RecordID, in transaction: WriteTransaction) throws {
    try transaction.run(
      "UPDATE bothy_outbox SET retry_at = max(retry_at, 1) WHERE type = ?1 AND id = ?2", id)
  }

  /// True if the operation of a hidden change was sent again before its outcome was known. Then a refusal of one request
  /// doesn't say that no other has made it: a sync or another process may send it too.
  static func isSentAgain(_ id: RecordID, in transaction: ReadTransaction) throws -> Bool {
    try transaction.has(
      "SELECT 1 FROM bothy_outbox WHERE type = ? AND id = ? AND operation IS NOT NULL AND retry_at > 0", id)
  }

  /// Returns the operation that was sent for a change and whose outcome is unknown. Also returns `nil` if it is nested
  /// too deeply to be read, because no server has read it either.
  static func sentOperation(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> SyncOperation?
  {
    let select = try statement("SELECT sent FROM", entry, in: transaction)
    defer { select.reset() }
    guard try select.step(), !select.isNull(at: 0) else { return nil }
    // Operations that this module wrote are readable, unless the file is damaged.
    return try? JSONReader.read(select.bytes(at: 0)) { try SyncOperation(from: &$0) }
  }

  /// Ends the doubt about an entry whose sent operation wasn't applied, so that a new operation sends it again. What
  /// the server has reported about the record stays known.
  ///
  /// - Parameter operation: the operation to recall, of the entry or of a change on top of it, or `nil` for the
  ///   entry's.
  static func recall(_ id: RecordID, _ operation: String? = nil, in transaction: WriteTransaction) throws {
    for table in operation == nil ? ["bothy_outbox"] : ["bothy_outbox", "bothy_later"] {
      try transaction.run(
        """
        UPDATE \(table) SET operation = NULL, sent = NULL, sent_revision = NULL,
          together = coalesce(together, sent_together), sent_together = NULL
        WHERE type = ?1 AND id = ?2\(operation == nil ? "" : " AND operation = ?3")
        """, id, operation)
    }
  }

  /// Ends the doubt about an entry and about the changes that were sent together with it. New operations send all of them
  /// as they are now.
  static func recall(sent entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    let sent = try entry.sentGroup.map { try membersInDoubt(of: $0, in: transaction) } ?? [entry]
    for change in sent { try recall(change.id, change.operationID, in: transaction) }
  }
}
