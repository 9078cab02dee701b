import BothyStore

extension Outbox {
  /// A decision about a rejected entry, or about any pending entry. It applies to each record of the entry's transaction.
  public enum Decision: String, Sendable, Hashable, CaseIterable {
    /// Sends the change again at the next sync, without the wait after its rejections. Their count begins again
    /// at 0.
    case retry
    /// Undoes the local change. The record becomes what the server last reported, or is deleted if it was created here.
    /// Changes by a later transaction stay pending on top of that.
    ///
    /// A change that was sent and got no answer may be on the server. It is undone here at once, the record stays
    /// pending, and the next sync undoes it on the server too.
    case revert
    /// Keeps the local content and stops sending it. The record counts as synced, until the next pull replaces
    /// it by the server's.
    ///
    /// The journal has the content too, to restore it.
    case keepLocal
    /// Evicts the record from this device. The server keeps its version, and the next pull brings it.
    ///
    /// The journal has the local content, to restore it.
    case removeLocal

    /// True if the decision is about the whole record, with all changes stacked on its first.
    fileprivate var isWhole: Bool { self == .keepLocal || self == .removeLocal }
  }
}

enum OutboxDecision {
  /// Applies a resolution to an entry and all that belongs to it, if the entry is still at `revision`. With `nil`, any
  /// revision matches. Returns false, and changes nothing, if the entry was edited since.
  static func apply(
    _ resolution: Outbox.Decision, to id: RecordID, revision: Int64? = nil, at time: Int64,
    by clock: SyncClock,
    in transaction: WriteTransaction
  ) throws -> Bool {
    let unit =
      try resolution.isWhole
      ? OutboxQueue.closure(of: id, in: transaction) : OutboxQueue.unit(of: id, in: transaction)
    guard let entry = unit.first else {
      throw BothyError(
        .notPending, "\(id) has no pending change. Read the outbox again, as a sync may have sent it.")
    }
    if let revision, revision != entry.revision { return false }
    let reason = unit.lazy.compactMap(\.reason).first
    // `.keepLocal` keeps what was written, hidden or not.
    for entry in unit where resolution == .keepLocal { try OutboxQueue.reveal(entry, in: transaction) }
    let undoing = Undoing(unit, at: clock.reading())
    // The latest first: undoing a change moves those stacked on it to what remains.
    for entry in unit.filter(\.isLater).sorted(by: { $0.revision > $1.revision })
      + unit.filter({ !$0.isLater })
    {
      if resolution.isWhole {
        let container = try OutboxQueue.serverContainer(of: entry, in: transaction)
        try Refetch.mark(entry.id, in: container, in: transaction)
      }
      try apply(resolution, to: entry, reason, at: time, undoing, in: transaction)
    }
    transaction.touchBookkeeping()
    return true
  }

  private static func apply(
    _ resolution: Outbox.Decision, to entry: Outbox.Entry, _ reason: Rejection?, at time: Int64,
    _ undoing: Undoing, in transaction: WriteTransaction
  ) throws {
    let id = entry.id
    let table = try transaction.catalog.table(id.type)
    // The journal keeps the rejection, with what the decision takes. The next pull replaces the kept content.
    func note(_ cause: JournalEntry.Cause) throws -> Journal.Noted {
      try Journal.note(
        entry, reason == nil ? .withdrawn : .rejected, cause, reason: entry.reason ?? reason,
        loss: Journal.Loss(entry, now: entry.reported, in: transaction), at: time, in: transaction)
    }
    if resolution.isWhole {
      try OutboxQueue.endLater(of: id, in: transaction) { later in
        try Journal.note(
          later, .withdrawn, resolution == .removeLocal ? .evicted : .keptLocal,
          loss: Journal.Loss(later, now: entry.reported, in: transaction), at: time, in: transaction)
      }
    }
    switch resolution {
    case .retry:
      if entry.isLater { return }
      try transaction.run(
        """
        UPDATE bothy_outbox SET state = CASE state WHEN 2 THEN 0 ELSE state END, attempts = 0, retry_at = 0
        WHERE type = ?1 AND id = ?2
        """, id)
    case .revert:
      let noted = try note(.reverted)
      if try !undoing.makeChange(undoing: entry, in: transaction) { try undo(entry, noted, in: transaction) }
    case .keepLocal:
      // The server still has a record whose deletion is accepted as synced. The next pull requests it and inserts it
      // again.
      try OutboxQueue.remove(entry, note(.keptLocal), in: transaction)
      // The row isn't the server's version. Any version of the server is newer, and an edit is compared with it. A
      // deleted record may have been created again since.
      if entry.base != nil {
        try transaction.setVersion(OutboxQueue.agedVersion, table, id: id.id)
      }
    case .removeLocal:
      try OutboxQueue.remove(entry, note(.evicted), in: transaction)
      try transaction.evict(table, id: id.id)
    }
  }

  /// Undoes a change. Changes stacked on it continue from the state that it was made on.
  static func undo(_ entry: Outbox.Entry, _ noted: Journal.Noted, in transaction: WriteTransaction) throws {
    if entry.isLater {
      try OutboxQueue.undo(later: entry, noted, in: transaction)
      return
    }
    try OutboxQueue.takeOut(entry, in: transaction)
    try revert(entry, noted, in: transaction)
  }

  /// Undoes the pending change of a record, which becomes what the server last reported. After the rejection
  /// `forbidden` the record may be invisible too, so the next pull requests it.
  static func revert(
    _ entry: Outbox.Entry, reported answer: ServerRecord? = nil, _ noted: Journal.Noted,
    in transaction: WriteTransaction
  ) throws {
    if entry.reason?.code == "forbidden" {
      let container = try OutboxQueue.serverContainer(of: entry, in: transaction)
      try Refetch.mark(entry.id, in: container, in: transaction)
    }
    try OutboxQueue.end(entry, reported: answer, noted, in: transaction)
  }
}

/// Undoes changes that the server may have made, because they were sent and got no answer. Each is undone by a change on
/// top of it, which is sent when the answer is known.
private struct Undoing {
  let time: SyncClock.Reading
  /// The transaction of these changes, or `nil` for one record.
  private let group: String?

  init(_ unit: [Outbox.Entry], at time: SyncClock.Reading) {
    self.time = time
    group = Set(unit.filter { $0.operationID != nil }.map(\.id)).count > 1 ? UUIDv7.make() : nil
  }

  /// Returns false for a change that isn't in doubt, and for one of a record that this device doesn't keep.
  func makeChange(undoing entry: Outbox.Entry, in transaction: WriteTransaction) throws -> Bool {
    guard entry.operationID != nil, entry.awaited?.keeping != .uncached else { return false }
    if entry.change == .delete && entry.base == nil {
      // An insert that was deleted here since is undone by that deletion.
      return try OutboxQueue.sentOperation(of: entry, in: transaction)?.kind == .insert
    }
    let (id, table) = (entry.id, try transaction.catalog.table(entry.id.type))
    let made = try OutboxQueue.local(entry, table, in: transaction)
    try OutboxQueue.update(entry, "SET \(OutboxQueue.triedAgain)", in: transaction)
    let shown = try transaction.row(table, id: id.id)
    let (before, after): (StoredRow?, StoredRow?)
    switch entry.change {
    case .insert where entry.isHidden: (before, after) = (made, nil)
    case .update where entry.isHidden: (before, after) = (shown, shown)
    case .delete where entry.isHidden: (before, after) = (nil, shown)
    case .delete where !entry.isBeneath:
      (before, after) = (nil, try self.before(entry, table, in: transaction))
    case .insert:
      // Changes of fields on top create the record again.
      let isMadeAnew = try OutboxQueue.later(of: id, above: entry.revision, in: transaction)
        .contains { try OutboxQueue.edits($0, in: transaction) }
      if shown == nil || isMadeAnew { return true }
      (before, after) = (shown, nil)
    case .update, .delete:
      guard let shown, entry.change == .update else { return true }
      (before, after) = (shown, try without(entry, made, in: shown, table))
    }
    if entry.isHidden {
      try OutboxQueue.expose(id, in: transaction)
    } else if let after {
      try transaction.replace(table, id: id.id, after)
    } else {
      try transaction.evict(table, id: id.id)
    }
    // The change that is undone takes this one, and so does another of this decision. Others don't.
    let last = try OutboxQueue.topMark(id, in: transaction)
    let isJoined = last?.revision == entry.revision || group != nil && last?.last.group == group
    transaction.group = isJoined ? last?.last.group ?? last?.last.sentGroup : entry.sentGroup
    defer { transaction.group = nil }
    let kind: Change.Kind = after == nil ? .delete : before == nil ? .insert : .update
    try OutboxQueue.collapse(
      Change(kind: kind, table: table.index, id: id.id, before: before), table, at: time, in: transaction)
    guard let top = try OutboxQueue.top(of: id, in: transaction) else { return true }
    // A draft in doubt is undone too.
    try OutboxQueue.update(top, "SET together = ?4, state = 0", group, in: transaction)
    guard let sharing = entry.sharing, kind == .update else { return true }
    let known = try AudienceTable.sharing(of: id, in: transaction)
    let back = SharingChange(from: sharing.applied(to: known), to: known)
    try OutboxQueue.update(top, "SET share = ?4", back.isEmpty ? nil : back.json, in: transaction)
    return true
  }

  /// Returns the record as a change found it.
  private func before(
    _ entry: Outbox.Entry, _ table: TypeTable, in transaction: ReadTransaction
  ) throws -> StoredRow? {
    guard let base = entry.base else { return nil }
    let version = try OutboxQueue.entry(entry.id, in: transaction)?.base?.version
    var row = try table.row(
      base.fields, in: entry.container, version: version == OutboxQueue.unsentVersion ? nil : version)
    row.metadata = base.metadata
    return row
  }

  /// Returns a row without the effect of a change, which left the record as `made`. Later changes of the same fields
  /// stay.
  private func without(
    _ entry: Outbox.Entry, _ made: StoredRow?, in shown: StoredRow, _ table: TypeTable
  ) throws -> StoredRow {
    guard let made, let base = entry.base else { return shown }
    let members = try table.document(shown).members().laid(
      on: base.fields.members(), since: table.document(made).members(), table.schema)
    return try table.row(
      FieldsDocument(members), in: shown.container == made.container ? entry.container : shown.container,
      version: shown.version)
  }
}
