import BothyStore

/// Records that a server had acknowledged and has no more, on their way back to it: pending work like any other, with
/// what was acknowledged as the state that it is merged against (rule R24).
///
/// So a record that another device has given back, edited or deleted meanwhile is that device's: nothing was changed here,
/// and no conflict is told of. Edits made here since the server's word are merged on top.
enum GivenBack {
  /// A row counts while the entry of its record is the one that it was made with: its revision is not far above, and
  /// its base is the same.
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_given (
      type TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, base_version TEXT, version TEXT NOT NULL,
      fields TEXT NOT NULL, container TEXT, position TEXT, PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID
    """

  /// How far above a row's revision that of its entry may be.
  private static let span: Int64 = 1 << 20

  /// What a record was when the server had it, and where the server is that has it no more.
  struct State {
    var base: OutboxEntry.Base
    /// The position at which the server was looked at: a deletion after it counts. Nil where it tells of none.
    var position: String?
  }

  /// Makes pending work of a record that has none. `current` is what the server has of it; nil where it has nothing, or
  /// where its own is not to be taken without asking the merge policy.
  static func offer(
    _ id: RecordID, _ table: TypeTable, _ state: State, over current: ServerRecord?,
    in transaction: WriteTransaction
  ) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at, base_version, base,
        container, edited_unsure) VALUES (?, ?, ?, \(Outbox.newRevision), 0, 0, 0, 0, ?, ?, ?, 1)
      """, in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    insert.bind((current == nil ? SyncOperation.Kind.insert : .update).number, at: 3)
    insert.bind(current?.version, at: 4)
    insert.bind(current?.fields, at: 5)
    insert.bind(current?.container, at: 6)
    try insert.run()
    let update = try PreparedStatement(
      "UPDATE \(table.name) SET _version = ? WHERE _id = ?", in: transaction.database)
    update.bind(current?.version, at: 1)
    update.bind(id.id, at: 2)
    try update.run()
    let sharing = try KnownSharing.sharing(of: id, in: transaction)
    if current == nil && !sharing.isEmpty { try share(id, SharingChange(add: sharing), in: transaction) }
    try note(id, state, in: transaction)
    transaction.touchBookkeeping()
  }

  /// Notes of pending work what it was made against before the server lost it.
  static func note(_ id: RecordID, _ state: State, in transaction: WriteTransaction) throws {
    let insert = try PreparedStatement(
      """
      INSERT OR REPLACE INTO bothy_given
      SELECT type, id, revision, base_version, ?3, ?4, ?5, ?6 FROM bothy_outbox WHERE type = ?1 AND id = ?2
      """, in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    insert.bind(state.base.version, at: 3)
    insert.bind(state.base.fields, at: 4)
    insert.bind(state.base.container, at: 5)
    insert.bind(state.position, at: 6)
    try insert.run()
  }

  private static func share(
    _ id: RecordID, _ change: SharingChange, in transaction: WriteTransaction
  ) throws {
    let update = try PreparedStatement(
      "UPDATE bothy_outbox SET share = ?3 WHERE type = ?1 AND id = ?2", in: transaction.database)
    update.bind(id.type, at: 1)
    update.bind(id.id, at: 2)
    update.bind(change.json, at: 3)
    try update.run()
  }

  /// Whether anything is on its way back.
  static func isUsed(in transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement("SELECT 1 FROM bothy_given LIMIT 1", in: transaction.database)
    defer { select.reset() }
    return try select.step()
  }

  /// What an entry gives back; nil for ordinary work. One look-up.
  static func state(of entry: OutboxEntry, in transaction: ReadTransaction) throws -> State? {
    let select = try PreparedStatement(
      """
      SELECT version, fields, container, position FROM bothy_given
      WHERE type = ?1 AND id = ?2 AND revision BETWEEN ?3 - \(span) AND ?3 AND base_version IS ?4
      """, in: transaction.database)
    select.bind(entry.record.type, at: 1)
    select.bind(entry.record.id, at: 2)
    select.bind(entry.revision, at: 3)
    select.bind(entry.base?.version, at: 4)
    defer { select.reset() }
    guard try select.step() else { return nil }
    return State(
      base: OutboxEntry.Base(
        version: select.text(at: 0) ?? "", fields: FieldsDocument(canonical: select.bytes(at: 1)),
        container: select.text(at: 2)), position: select.text(at: 3))
  }

  /// The entry as a merge is to see it: what is given back was not changed here.
  static func merging(_ entry: OutboxEntry, in transaction: ReadTransaction) throws -> OutboxEntry {
    guard let state = try state(of: entry, in: transaction) else { return entry }
    var seen = entry
    seen.base = state.base
    seen.container = state.base.container ?? entry.container
    if entry.kind == .insert { seen.kind = .update }
    return seen
  }

  /// Forgets what was given back: of records that have no pending work any more.
  static func sweep(in transaction: WriteTransaction) throws {
    try PreparedStatement(
      """
      DELETE FROM bothy_given WHERE NOT EXISTS (
        SELECT 1 FROM bothy_outbox WHERE type = bothy_given.type AND id = bothy_given.id)
      """, in: transaction.database
    ).run()
  }
}
