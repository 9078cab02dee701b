import BothyStore
import GRDB

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

  /// The names of the columns.
  static let columns: Set<String> = [
    "type", "id", "revision", "base_version", "version", "fields", "container", "position",
  ]

  /// Returns the row of a record, or `nil`. One look-up.
  static func row(of id: RecordID, in database: Database) throws -> Row? {
    try Row.fetchOne(
      database, sql: "SELECT * FROM bothy_given WHERE type = ? AND id = ?", arguments: [id.type, id.id])
  }

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
    try OutboxQueue.begin(
      id, current == nil ? .insert : .update, at: SyncClock.Reading(time: 0, isReliable: false),
      base: current.map { Outbox.Entry.Base($0) }, container: current?.container, in: transaction)
    try transaction.run("UPDATE \(table.name) SET _version = ? WHERE _id = ?", current?.version, id.id)
    let sharing = try AudienceTable.sharing(of: id, in: transaction)
    if current == nil && !sharing.isEmpty {
      try OutboxQueue.setSharing(SharingChange(add: sharing), of: id, in: transaction)
    }
    try note(id, state, in: transaction)
    transaction.touchBookkeeping()
  }

  /// Notes the state that pending work was based on before the server lost the record.
  static func note(_ id: RecordID, _ state: State, in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      INSERT OR REPLACE INTO bothy_given
      SELECT type, id, revision, base_version, ?3, ?4, ?5, ?6 FROM bothy_outbox WHERE type = ?1 AND id = ?2
      """, id, state.base.version, state.base.fields, state.base.container, state.position)
  }

  /// True if any record is being returned to the server.
  static func isUsed(in transaction: ReadTransaction) throws -> Bool {
    try transaction.has("SELECT 1 FROM bothy_given LIMIT 1")
  }

  /// Returns the state that an entry returns to the server, or `nil` for ordinary work. One look-up.
  static func state(of entry: Outbox.Entry, in transaction: ReadTransaction) throws -> State? {
    try transaction.first(
      """
      SELECT version, fields, container, position FROM bothy_given
      WHERE type = ?1 AND id = ?2 AND revision BETWEEN ?3 - \(span) AND ?3 AND base_version IS ?4
      """, entry.id, entry.revision, entry.base?.version
    ) { row in
      State(
        base: Outbox.Entry.Base(
          version: row.text(at: 0) ?? "", fields: FieldsDocument(canonical: row.bytes(at: 1)),
          container: row.text(at: 2)), position: row.text(at: 3))
    }
  }

  /// Returns the entry for a merge with the server's version. Content that is being returned wasn't changed here, so it
  /// becomes the base. A state without fields was compared with nothing, and has a base for its counters only.
  static func merging(
    _ entry: Outbox.Entry, with current: ServerRecord?, in transaction: ReadTransaction
  ) throws -> Outbox.Entry {
    guard let state = try state(of: entry, in: transaction) else { return entry }
    var seen = entry
    seen.base = state.base
    seen.container = state.base.container ?? entry.container
    if entry.change == .insert { seen.change = .update }
    if state.base.fields == .empty, let live = current?.live {
      let table = try transaction.catalog.table(entry.id.type)
      if let row = try OutboxQueue.local(entry, table, in: transaction) {
        seen.base?.fields = FieldsDocument(try counts(table.members(row), live.fields.members(), table))
      }
    }
    return seen
  }

  /// Returns the smaller of the numbers that two records have in each counter. Neither side counts twice with them as
  /// the base of a merge.
  static func counts(
    _ mine: [String: JSONValue], _ theirs: [String: JSONValue], _ table: TypeTable
  ) -> [String: JSONValue] {
    var counts: [String: JSONValue] = [:]
    for field in table.schema.fields where field.merge == .counter {
      guard let here = mine[field.name], let there = theirs[field.name] else { continue }
      counts[field.name] = FieldMerge.merge(
        base: .null, client: here, server: there, clientIsLater: false, rule: .min)
    }
    return counts
  }

  /// Forgets the states of records that no longer have pending work.
  static func sweep(in transaction: WriteTransaction) throws {
    try transaction.run(
      """
      DELETE FROM bothy_given WHERE NOT EXISTS (
        SELECT 1 FROM bothy_outbox WHERE type = bothy_given.type AND id = bothy_given.id)
      """)
  }
}
