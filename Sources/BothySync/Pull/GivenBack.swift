import BothyStore

/// Records that a server had acknowledged and no longer has, and that this device returns to it. They are pending work
/// like any other. They are merged against the state that was acknowledged.
///
/// If another device has returned, edited or deleted such a record meanwhile, its version counts, because nothing was
/// changed here. No conflict is reported. Edits made here since the acknowledgement are merged on top.
enum GivenBack {
  /// The SQL of the table. A row counts while its record has the entry that it was made with. Such an entry has the
  /// same base, and a revision that isn't far above the row's.
  static let sql = """
    CREATE TABLE IF NOT EXISTS bothy_given (
      type TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, base_version TEXT, version TEXT NOT NULL,
      fields TEXT NOT NULL, container TEXT, position TEXT, PRIMARY KEY (type, id)) STRICT, WITHOUT ROWID
    """

  /// The most by which the revision of an entry exceeds that of its row.
  private static let span: Int64 = 1 << 20

  /// The last state of a record on the server, and the position of the server that no longer has it.
  struct State {
    var base: Outbox.Entry.Base
    /// The server's position when it was read, or `nil` if it reports none. A deletion after this position counts.
    var position: String?
  }

  /// Makes pending work of a record that has none. `current` is the server's version. It is `nil` if the server has
  /// none, or if the merge policy has to decide about the server's version.
  static func offer(
    _ id: RecordID, _ table: TypeTable, _ state: State, over current: ServerRecord?,
    in transaction: WriteTransaction
  ) throws {
    let insert = try PreparedStatement(
      """
      INSERT INTO bothy_outbox (type, id, kind, revision, edited, state, attempts, retry_at, base_version, base,
        container, edited_unsure) VALUES (?, ?, ?, \(OutboxQueue.newRevision), 0, 0, 0, 0, ?, ?, ?, 1)
      """, in: transaction.database)
    insert.bind(id.type, at: 1)
    insert.bind(id.id, at: 2)
    insert.bind((current == nil ? ChangeKind.insert : .update).number, at: 3)
    insert.bind(current?.version, at: 4)
    insert.bind(current?.fields, at: 5)
    insert.bind(current?.container, at: 6)
    try insert.run()
    let update = try PreparedStatement(
      "UPDATE \(table.name) SET _version = ? WHERE _id = ?", in: transaction.database)
    update.bind(current?.version, at: 1)
    update.bind(id.id, at: 2)
    try update.run()
    let sharing = try AudienceTable.sharing(of: id, in: transaction)
    if current == nil && !sharing.isEmpty { try share(id, SharingChange(add: sharing), in: transaction) }
    try note(id, state, in: transaction)
    transaction.touchBookkeeping()
  }

  /// Notes the state that pending work was based on before the server lost the record.
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

  /// True if any record is being returned to the server.
  static func isUsed(in transaction: ReadTransaction) throws -> Bool {
    let select = try PreparedStatement("SELECT 1 FROM bothy_given LIMIT 1", in: transaction.database)
    defer { select.reset() }
    return try select.step()
  }

  /// Returns the state that an entry returns to the server, or `nil` for ordinary work. One look-up.
  static func state(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> State? {
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
      base: Outbox.Entry.Base(
        version: select.text(at: 0) ?? "", fields: FieldsDocument(canonical: select.bytes(at: 1)),
        container: select.text(at: 2)), position: select.text(at: 3))
  }

  /// Returns the entry for a merge. Content that is being returned wasn't changed here, so it becomes the base.
  static func merging(_ entry: Outbox.Entry, in transaction: ReadTransaction) throws -> Outbox.Entry {
    guard let state = try state(of: entry, in: transaction) else { return entry }
    var seen = entry
    seen.base = state.base
    seen.container = state.base.container ?? entry.container
    if entry.kind == .insert { seen.kind = .update }
    return seen
  }

  /// Forgets the states of records that no longer have pending work.
  static func sweep(in transaction: WriteTransaction) throws {
    try PreparedStatement(
      """
      DELETE FROM bothy_given WHERE NOT EXISTS (
        SELECT 1 FROM bothy_outbox WHERE type = bothy_given.type AND id = bothy_given.id)
      """, in: transaction.database
    ).run()
  }
}
