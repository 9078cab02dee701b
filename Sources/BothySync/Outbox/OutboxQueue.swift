import BothyStore
import GRDB

/// The durable queue of pending changes. Records every local write in the transaction that makes it.
struct OutboxQueue: ChangeRecorder {
  /// The clock that stamps changes: the device's, corrected by the times that servers reported.
  let clock: SyncClock
  /// The account that opens the file, or nil for whichever has it.
  var owner: AccountID?

  var tables: [String] { OutboxTables.all }
  var formerColumns: [String: String] { OutboxTables.formerColumns }
  var time: Int64 { clock.reading().time }

  /// SQL for the first revision of an entry. It is random and below 2^52, so that a decision about an entry never
  /// counts for a later entry of the same record.
  static let newRevision = "(random() & 4503599627370495)"

  /// SQL that makes a change ready to be sent again at once, whatever its last result was.
  static let triedAgain =
    "attempts = 0, retry_at = 0, reason = NULL, state = CASE state WHEN 2 THEN 0 ELSE state END"

  /// Refuses the file of a signed-out account and that of another account, before it is migrated.
  func admit(_ database: Database) throws {
    guard try database.tableExists("bothy_sync") else { return }
    let transaction = ReadTransaction(database, Catalog(StoreSchema(types: [])))
    if try ServerBinding.isSignedOut(in: transaction) { throw Self.signedOut }
    _ = try FileOwner.check(owner, in: transaction)
  }

  func record(_ changes: [Change], in transaction: WriteTransaction) throws {
    // The rows have the same time for their last edit.
    let now = SyncClock.Reading(time: transaction.time, isReliable: clock.reading().isReliable)
    let insert = try PreparedStatement(
      """
      INSERT OR IGNORE INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at, edited_unsure,
        together)
      VALUES (?1, ?3, 0, \(Self.newRevision), ?2, 0, 0, 0, ?4, ?5)
      """, in: transaction.database)
    insert.bind(now.time, at: 2)
    insert.bind(now.isReliable ? 0 : 1, at: 4)
    insert.bind(transaction.group, at: 5)
    // A rehearsed save is laid on the last one by its caller.
    let isLeftBehind = try Self.checkSignedIn(in: transaction) && !transaction.isRehearsal
    var boundTable: Int?
    for change in changes {
      let table = transaction.catalog.tables[change.table]
      // In a transaction of the server's a delete rule made the change, which nothing can refuse.
      if table.schema.writeMode == .remoteOnly && !transaction.isRehearsal && transaction.origin == .app {
        throw Self.remoteOnly(table)
      }
      if change.kind == .insert && !isLeftBehind {
        if boundTable != change.table { insert.bind(table.schema.name, at: 1) }
        boundTable = change.table
        insert.bind(change.id, at: 3)
        try insert.run()
        if transaction.database.changedRows == 1 { continue }
      }
      try Self.collapse(change, table, isLeftBehind: isLeftBehind, at: now, in: transaction)
    }
    if transaction.changed != nil { try Self.note(changes, in: transaction) }
  }

  /// Returns true if online saves have left results that no row shows, or doubts. Costs one look-up. Throws `BothyError`
  /// `.signedOut` if the account was signed out, because the file is deleted then.
  @discardableResult
  static func checkSignedIn(in transaction: ReadTransaction) throws -> Bool {
    let found = try transaction.first(
      """
      SELECT EXISTS (SELECT 1 FROM bothy_sync WHERE key = '\(ServerBinding.signedOut)'),
        EXISTS (SELECT 1 FROM bothy_stale) OR EXISTS (SELECT 1 FROM bothy_doubt)
      """
    ) { (isSignedOut: $0.int(at: 0) != 0, isLeftBehind: $0.int(at: 1) != 0) }
    guard let found, !found.isSignedOut else { throw Self.signedOut }
    return found.isLeftBehind
  }

  private static var signedOut: BothyError {
    BothyError(
      .signedOut,
      "The account of this file was signed out, so its changes can't be kept. Open the account again.")
  }

  func later(
    _ value: FieldValue, than earlier: FieldValue, readAs read: FieldValue, _ field: FieldSchema
  ) throws -> FieldValue {
    try FieldMerge.later(value, than: earlier, readAs: read, field)
  }

  /// Notes what a transaction has changed, and makes drafts of it if it is one of drafts.
  private static func note(_ changes: [Change], in transaction: WriteTransaction) throws {
    var known = Set(transaction.changed ?? [])
    for change in changes {
      let id = RecordID(type: transaction.catalog.tables[change.table].schema.name, id: change.id)
      guard known.insert(id).inserted else { continue }
      if transaction.makesDrafts { try Self.hold(id, in: transaction) }
      transaction.changed?.append(id)
    }
  }

  private static func remoteOnly(_ table: TypeTable) -> BothyError {
    BothyError(
      .requiresNetwork,
      "Records of \(table.schema.name) are written on the server only. Use `save` and `delete` of the synced store."
    )
  }

  /// Handles any change but the insert of a record with nothing pending.
  ///
  /// - Parameter isLeftBehind: true if online saves have left results that no row shows, or doubts.
  static func collapse(
    _ change: Change, _ table: TypeTable, isLeftBehind: Bool = false, at now: SyncClock.Reading,
    in transaction: WriteTransaction
  ) throws {
    var former = FormerValues(of: change, table, in: transaction)
    var change = change
    let id = RecordID(type: table.schema.name, id: change.id)
    var kind: ChangeKind =
      switch change.kind {
      case .insert: .insert
      case .update: .update
      case .delete: .delete
      }
    if isLeftBehind { _ = try resume(id, in: transaction) }
    let mark = try Self.mark(id, in: transaction)
    var before = change.before
    if mark?.isHidden == true {
      before = try Self.entry(id, in: transaction).flatMap { try Self.local($0, table, in: transaction) }
      guard let laid = try Self.lay(change, on: id, table, in: transaction) else { return }
      (kind, change.stale) = laid
      let shown = try transaction.row(table, id: change.id)
      former = FormerValues(of: change, shown: shown, table, in: transaction)
    } else if isLeftBehind, mark == nil,
      let left = try StaleRows.answer(id, over: before, in: transaction).map({ try table.row($0) })
    {
      if kind != .delete {
        let theirs = before?.values
        // A value that is new here, with all fields, replaces what the save left.
        change.before = change.given == nil ? before ?? left : before
        change.stale = try Self.lay(change, of: id, on: left, theirs: theirs, table, in: transaction)
        kind = .update
      }
      before = left
    }
    let last = kind == .delete ? before.map { table.document($0) } : nil
    if before == nil && kind != .delete { kind = .insert }
    let pending = try mark?.awaiting == .beneath ? Self.topMark(id, in: transaction) : mark
    let coalescing = try ChangeCoalescing(
      pending?.last, then: kind, in: transaction.group, isStale: change.stale != nil,
      isHere: transaction.exists(id), joins: { try Self.joins($0, in: transaction) })
    switch coalescing {
    case .begin(let kind):
      try Self.begin(kind, id, before, last, table, now, former: former.added(to: nil), transaction)
    case .stack(let kind):
      try Self.stack(
        kind, on: id, table, before: before, last: last, former: former.added(to: nil), at: now,
        in: transaction)
    case .become(let kind):
      guard let pending else { return }
      try Self.join(
        change, as: kind, to: id, pending, last: last, former: former.added(to: pending.former), at: now,
        in: transaction)
    case .annihilate:
      if let top = try Self.top(of: id, in: transaction) { try Self.takeBack(top, in: transaction) }
      return
    }
    if let stale = change.stale, let top = try Self.top(of: id, in: transaction) {
      try Self.rebase(top, to: stale, table, at: now.time, in: transaction)
    }
  }

  private static func begin(
    _ kind: ChangeKind, _ id: RecordID, _ before: StoredRow?, _ last: FieldsDocument?, _ table: TypeTable,
    _ now: SyncClock.Reading, former: [UInt8]? = nil, _ transaction: WriteTransaction
  ) throws {
    var kind = kind
    if before?.version == nil {
      // The server never acknowledged the row and nothing is pending: it is new to the server.
      if kind == .delete { return }
      kind = .insert
    }
    try begin(
      id, kind, at: now, base: before?.base(table), container: before?.container, metadata: before?.metadata,
      last: last, former: former, group: transaction.group, in: transaction)
  }

  /// Makes a pending update of a record with nothing pending, so that its secrets are sent. No field counts as changed.
  func touch(_ id: RecordID, in transaction: WriteTransaction) throws {
    guard let table = transaction.catalog.tableIfKnown(id.type),
      try Self.resume(id, in: transaction) == nil, try Self.mark(id, in: transaction) == nil,
      let row = try transaction.row(table, id: id.id)
    else { return }
    try Self.begin(.update, id, row, nil, table, clock.reading(), transaction)
  }

  func migrate(_ step: Migration.Step, in database: Database) throws {
    try OutboxMigration(database: database).run(step)
  }

  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue
  ) throws {
    try OutboxMigration(database: database).convert(field, of: type, value)
  }

  func pending(of type: String, in database: Database) throws -> Set<String> {
    try OutboxMigration(database: database).pending(of: type)
  }

  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws {
    try OutboxMigration(database: database).rename(type, from: old, to: new)
  }

  func rename(container: String, to name: String, in database: Database) throws {
    try OutboxMigration(database: database).rename(container: container, to: name)
  }
}

extension OutboxQueue {
  /// Begins the entry of a record that has none, or a change on top of others.
  ///
  /// - Parameters:
  ///   - revision: the first revision, or `nil` for a random one.
  ///   - now: the time of the change.
  ///   - container: the server's container, or `nil` for the type's own.
  ///   - metadata: the metadata of the base.
  ///   - last: the record as it was when it was deleted.
  ///   - former: the JSON of the values that the change replaced.
  static func begin(
    _ id: RecordID, _ kind: ChangeKind, isLater: Bool = false, revision: Int64? = nil,
    at now: SyncClock.Reading,
    base: Outbox.Entry.Base? = nil, container: String? = nil, metadata: RecordMetadata? = nil,
    last: FieldsDocument? = nil, former: [UInt8]? = nil, group: String? = nil, sharing: SharingChange? = nil,
    awaited: Outbox.Entry.Awaited? = nil, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      """
      INSERT INTO \(isLater ? "bothy_later" : "bothy_outbox") (type, id, kind, revision, edited, edited_unsure,
        state, attempts, retry_at, base_version, base, container, last, together, share, awaiting, awaited,
        awaited_in, former, base_created, base_modified, base_owner)
      VALUES (?, ?, ?, coalesce(?, \(newRevision)), ?, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, id, kind.number, revision, now.time, !now.isReliable, base?.version, base?.fields, container, last,
      group, sharing?.json, awaited?.keeping.rawValue ?? 0, awaited?.fields, awaited?.container,
      former, metadata)
  }

  /// True if single changes join a transaction: a rejected one, because they may cure the rejection. Drafts don't, because
  /// all of the transaction would wait for their release.
  static func joins(_ group: String, in transaction: WriteTransaction) throws -> Bool {
    if transaction.makesDrafts { return false }
    return try transaction.joined.contains(group) || refused(in: group, in: transaction) != nil
  }

  /// Adds a change on top of the record's last one.
  ///
  /// - Parameter before: the record as that one left it, or `nil` if it deleted the record.
  static func stack(
    _ kind: ChangeKind, on id: RecordID, _ table: TypeTable, before: StoredRow?,
    last: FieldsDocument?, former: [UInt8]? = nil, at now: SyncClock.Reading, in transaction: WriteTransaction
  ) throws {
    guard let top = try top(of: id, in: transaction) else { return }
    try setContent(of: top, before, table, keeping: .beneath, in: transaction)
    try begin(
      id, kind, isLater: true, revision: top.revision + 1, at: now,
      base: before.map { Outbox.Entry.Base(version: unsentVersion, fields: table.document($0)) },
      container: before?.container, last: last, former: former, group: transaction.group, in: transaction)
  }

  /// Joins a change to the record's last one, which is then of `kind`.
  private static func join(
    _ change: Change, as kind: ChangeKind, to id: RecordID, _ pending: Mark, last: FieldsDocument?,
    former: [UInt8]?, at now: SyncClock.Reading, in transaction: WriteTransaction
  ) throws {
    try transaction.run(
      """
      UPDATE \(pending.last.isLater ? "bothy_later" : "bothy_outbox")
      SET kind = ?3, revision = revision + 1, edited = ?4, last = ?5, edited_unsure = ?7, former = ?9, \(triedAgain),
        container = CASE WHEN base_version IS NULL THEN ?6 ELSE container END
      WHERE type = ?1 AND id = ?2 AND revision = ?8
      """, id, kind.number, now.time, last, kind == .delete ? change.before?.container : nil, !now.isReliable,
      pending.revision, former)
    // Created again: the row has what the server's record has and this schema can't read.
    if change.kind == .insert, let top = try top(of: id, in: transaction) {
      try carry(into: top, in: transaction)
    }
    if let group = pending.last.group { try forgive(group, in: transaction) }
  }

  // MARK: drafts

  /// Makes a draft of a record's last change.
  static func hold(_ id: RecordID, in transaction: WriteTransaction) throws {
    if let top = try top(of: id, in: transaction) { try setState(.held, of: top, in: transaction) }
  }

  /// True if any of a record's changes up to `revision` is a draft. No change is sent before an earlier draft.
  static func isHeld(
    _ id: RecordID, upTo revision: Int64 = .max, in transaction: ReadTransaction
  ) throws -> Bool {
    guard let first = try entry(id, in: transaction) else { return false }
    if first.stage == .held || !first.isBeneath { return first.stage == .held }
    return try !laterEntries(
      where: "type = ? AND id = ? AND revision <= ? AND state = 1",
      [id, revision], limit: 1, in: transaction
    ).isEmpty
  }

  /// Makes all drafts of a record ready to be sent. Returns false if it has none.
  static func release(_ id: RecordID, in transaction: WriteTransaction) throws -> Bool {
    let drafts = try changes(of: id, in: transaction).filter { $0.stage == .held }
    for draft in drafts { try setState(.pending, of: draft, in: transaction) }
    // A single change may cure the rejection of the transaction that it is based on.
    if !drafts.isEmpty, let group = try entry(id, in: transaction)?.group,
      try refused(in: group, in: transaction) != nil
    {
      try absorb(id, at: transaction.time, in: transaction)
    }
    return !drafts.isEmpty
  }

  private static func setState(
    _ state: Outbox.Entry.Stage, of entry: Outbox.Entry, in transaction: WriteTransaction
  ) throws {
    try update(entry, "SET state = ?4", state.rawValue, in: transaction)
  }

  /// Notes a pending change of a record's audience. Throws `BothyError` `.notFound` if the record doesn't exist, and
  /// `notSynced` for a type that stays on this device. Throws `.signedOut` like `checkSignedIn(in:)`.
  static func share(
    _ id: RecordID, _ change: SharingChange, edited: Int64, in transaction: WriteTransaction
  ) throws {
    try transaction.flush()
    try checkSignedIn(in: transaction)
    let table = try transaction.catalog.table(id.type)
    guard table.schema.isSynced else {
      throw BothyError(
        .notSynced, "Records of \(id.type) stay on this device and can't be shared.", record: id)
    }
    // Sharing joins the changes that the row shows.
    _ = try resume(id, in: transaction)
    if let entry = try entry(id, in: transaction) { try reveal(entry, in: transaction) }
    guard let row = try transaction.row(table, id: id.id) else {
      throw BothyError(.notFound, "The record \(id) doesn't exist. Save it before you share it.")
    }
    if change.isEmpty { return }
    transaction.touch(table, id.id)
    let now = SyncClock.Reading(time: edited, isReliable: true)
    let coalescing = try ChangeCoalescing(
      topMark(id, in: transaction)?.last, then: .update, in: transaction.group,
      joins: { try joins($0, in: transaction) })
    switch coalescing {
    case .begin(let kind): try begin(kind, id, row, nil, table, now, transaction)
    case .stack(let kind): try stack(kind, on: id, table, before: row, last: nil, at: now, in: transaction)
    case .become, .annihilate: break
    }
    guard let entry = try top(of: id, in: transaction) else { return }
    try update(
      entry, "SET share = ?4, revision = revision + 1, \(triedAgain)",
      (entry.sharing?.then(change) ?? change).json, in: transaction)
    if let group = entry.group { try forgive(group, in: transaction) }
  }
}
