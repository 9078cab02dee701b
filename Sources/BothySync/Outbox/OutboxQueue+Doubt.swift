import BothyStore

/// Doubts: saves that were sent to the server first, got no answer and were undone here. The server may have made them,
/// so `bothy_doubt` keeps each with its operation.
///
/// Readers don't see a doubt, and no sync sends it. With the next change of its record it is a hidden entry again. It is
/// then sent first and under its id, so that the server makes it once. Otherwise a pull ends it that brings the record in
/// a newer version. A pull without the record proves nothing, because the save may arrive later.
///
/// The journal has each doubt as unanswered, and then what became of it: the answer to the save, or what a pull showed.
extension OutboxQueue {
  private static let stored = "\(columns), sent, last"

  /// The most doubts, of which the newest are kept. The server remembers the operations since the oldest.
  private static let limit = 1000

  static func hasDoubts(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_doubt LIMIT 1")
  }

  /// Returns the doubt about a record, or `nil`. One look-up.
  static func doubt(about id: RecordID, in transaction: ReadTransaction) throws -> Outbox.Entry? {
    try entries("bothy_doubt WHERE type = ? AND id = ?", [id], limit: 1, in: transaction).first
  }

  /// Returns all doubts, by type and id. One scan of their table, which has at most a thousand.
  static func doubts(in transaction: ReadTransaction) throws -> [Outbox.Entry] {
    try entries("bothy_doubt ORDER BY type, id", in: transaction)
  }

  /// Keeps a hidden entry that was sent and ends here.
  static func keepDoubt(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    guard entry.operationID != nil else { return }
    try transaction.run(
      """
      INSERT OR REPLACE INTO bothy_doubt (\(stored))
      SELECT \(stored) FROM bothy_outbox WHERE type = ? AND id = ?
      """, entry.id)
    try transaction.run(
      """
      DELETE FROM bothy_doubt WHERE operation IN (
        SELECT operation FROM bothy_doubt ORDER BY operation DESC LIMIT -1 OFFSET \(limit))
      """)
    // A value that continues the save is compared with it.
    transaction.keepHidden(entry.id)
  }

  /// Makes the doubt about a record a hidden entry again, and returns its revision. Returns `nil` without a doubt, and in
  /// a rehearsal.
  static func resume(_ id: RecordID, in transaction: WriteTransaction) throws -> Int64? {
    guard !transaction.isRehearsal, let doubt = try doubt(about: id, in: transaction),
      try mark(id, in: transaction) == nil
    else { return nil }
    try transaction.run(
      """
      INSERT INTO bothy_outbox (\(stored)) SELECT \(stored) FROM bothy_doubt WHERE type = ? AND id = ?
      """, id)
    try transaction.run("DELETE FROM bothy_doubt WHERE type = ? AND id = ?", id)
    // The row becomes the version that arrived since the first sending, however this ends.
    if let reported = try reported(since: doubt, in: transaction) { try hear(reported, in: transaction) }
    transaction.touchBookkeeping()
    return doubt.revision
  }

  /// Begins a hidden entry of a save that was sent while the file could not be written, and returns its revision. Returns
  /// `nil` if the record has pending work or a doubt by now.
  static func begin(
    sent change: OnlineChange, by operation: SyncOperation, in transaction: WriteTransaction
  ) throws -> Int64? {
    try checkSignedIn(in: transaction)
    var change = change
    let id = change.entry.id
    guard try mark(id, in: transaction) == nil, try doubt(about: id, in: transaction) == nil else {
      return nil
    }
    change.entry.remoteVersion = try reported(since: change.entry, in: transaction)
    let revision = try begin(awaited: change, in: transaction)
    try setSent(operation, of: change.entry, revision: revision, in: transaction)
    return revision
  }

  /// Returns the version of the record that the row has and the save was not made on. Returns `nil` if that version
  /// isn't newer.
  private static func reported(
    since doubt: Outbox.Entry, in transaction: ReadTransaction
  ) throws -> ServerRecord? {
    guard let shown = try shown(doubt.id, in: transaction) else {
      let isGone =
        try doubt.base != nil && doubt.awaited?.keeping != .uncached && !transaction.exists(doubt.id)
      return isGone ? .unknown(doubt.id) : nil
    }
    return shown.version.isNewer(than: doubt.base?.version ?? "") ? shown : nil
  }

  /// Ends the doubt about a record, if there is one.
  ///
  /// - Parameter isMade: true if the server has made the save.
  static func endDoubt(_ id: RecordID, isMade: Bool = false, in transaction: WriteTransaction) throws {
    guard try doubt(about: id, in: transaction) != nil else { return }
    try transaction.run("DELETE FROM bothy_doubt WHERE type = ? AND id = ?", id)
    transaction.endHidden(id, isMade: isMade)
  }

  /// Ends the doubts about records of a type in a scope. A doubt about a record with pending work stays.
  static func endDoubts(
    about type: String, in scope: SyncScope = .everything, _ transaction: WriteTransaction
  ) throws {
    for doubt in try entries("bothy_doubt WHERE type = ?", [type], in: transaction) {
      let place = (doubt.base == nil ? doubt.awaited?.container : doubt.container) ?? type
      guard try scope.contains(place) && mark(doubt.id, in: transaction) == nil else { continue }
      try endDoubt(doubt.id, in: transaction)
    }
  }

  /// Dates the states that doubts were made on before all versions of another history, which may be lower.
  static func ageDoubts(in transaction: WriteTransaction) throws {
    try transaction.run(
      "UPDATE bothy_doubt SET base_version = ? WHERE base_version IS NOT NULL", agedVersion)
  }

  // MARK: what a pull shows

  /// Ends the doubt about a record that a pull brings in a newer version. A later change is then made on that version.
  /// Returns the fields of this device's own save in it, by position, or `nil` if the save isn't known to be in it.
  ///
  /// - Parameter row: the row of the version, or `nil` for a deletion.
  static func settleDoubt(
    by change: ServerRecord, _ row: StoredRow?, _ table: TypeTable, in transaction: WriteTransaction
  ) throws -> [Int: FieldValue]? {
    guard let doubt = try doubt(about: change.id, in: transaction),
      change.version.isNewer(than: doubt.base?.version ?? "")
    else { return nil }
    func end(isMade: Bool) throws {
      try Journal.note(
        doubt, isMade ? .accepted : .withdrawn, .online, version: row == nil ? "" : change.version,
        in: transaction)
      try endDoubt(doubt.id, isMade: isMade, in: transaction)
    }
    guard let row, doubt.change != .delete else {
      let isMade = row == nil && doubt.change == .delete
      try end(isMade: isMade)
      return isMade ? [:] : nil
    }
    let sent = try sent(doubt, table, in: transaction)
    let own = sent.filter { row.values[$0.key] == $0.value }
    // A number that others count too proves nothing, and neither does a field that a new record leaves empty.
    let decides = { (field: (key: Int, value: FieldValue)) in
      table.schema.fields[field.key].merge.ofOnePerson == .local
        && (doubt.base != nil || !field.value.isNull)
    }
    if sent.contains(where: decides) {
      try end(isMade: own.contains(where: decides))
    }
    return own
  }
}
