import BothyStore
import Synchronization

/// Changes whose callers wait for the server's verdict. They are entries like any other and durable before anything is
/// sent, but their content is stored in the entry. Readers see the unchanged row until the server has answered.
///
/// A hidden change ends in one of three ways. It is settled like any other, another change of the record is made on top
/// of it, or no answer arrives. The last two make it pending like any other, except for saves that are never queued.
/// Those are undone.
extension OutboxQueue {
  /// Makes a hidden entry one like any other.
  static func expose(_ id: RecordID, in transaction: WriteTransaction) throws {
    transaction.endHidden(id)
    try transaction.run(
      "UPDATE bothy_outbox SET awaiting = 0, awaited = NULL, awaited_in = NULL WHERE type = ? AND id = ?", id)
  }

  /// Begins a hidden entry for a record without one, and returns its revision. Its save is one of this device from the
  /// commit on.
  static func begin(awaited change: OnlineChange, in transaction: WriteTransaction) throws -> Int64 {
    let entry = change.entry
    try begin(
      entry.id, entry.change, revision: entry.revision,
      at: SyncClock.Reading(time: entry.editedTime, isReliable: entry.isEditTimeReliable), base: entry.base,
      container: entry.container, metadata: entry.base?.metadata, last: change.last, sharing: entry.sharing,
      awaited: entry.awaited, in: transaction)
    if let own = change.own { transaction.hide(own, of: entry.id) }
    if let reported = entry.remoteVersion { try hear(reported, in: transaction) }
    transaction.secrets.merge(change.secrets) { $1 }
    transaction.touchBookkeeping()
    return entry.revision
  }

  // MARK: the ways to the row

  /// Combines a change that was just made here with a hidden one. Both are pending, and the row shows both. Returns the
  /// kind that the change has for the entry, or `nil` if both are deletions and one is enough.
  static func lay(
    _ change: Change, on id: RecordID, _ table: TypeTable, in transaction: WriteTransaction
  ) throws -> (ChangeKind, Change.Stale?)? {
    guard let entry = try entry(id, in: transaction) else { return nil }
    let hidden = try local(entry, table, in: transaction)
    try expose(id, in: transaction)
    guard try transaction.exists(id) else { return entry.change == .delete ? nil : (.delete, nil) }
    // The hidden deletion may have been applied, and the record was changed here since. The local content stays.
    guard let hidden else { return (.insert, nil) }
    let base = try entry.base.map { try table.row($0.fields).values }
    return (.update, try lay(change, of: id, on: hidden, theirs: base, table, in: transaction))
  }

  /// Lays a change that was just made here on an earlier one that the row doesn't show. Of one person's two edits of a
  /// field the later wins, while counters, sets and the like keep both. The merge policy decides about a field that
  /// others changed since it was read, and that the earlier change left as theirs. Returns these fields as read.
  ///
  /// A new record of which the caller gave some fields was written without knowing the earlier change. The other fields
  /// stay as that left them, and a rule that combines two values keeps both.
  ///
  /// - Parameters:
  ///   - earlier: the record after the earlier change.
  ///   - theirs: the values that the earlier change was made on, or `nil` for a new record.
  static func lay(
    _ change: Change, of id: RecordID, on earlier: StoredRow, theirs: [FieldValue]?, _ table: TypeTable,
    in transaction: WriteTransaction
  ) throws -> Change.Stale? {
    guard let row = try transaction.row(table, id: id.id) else { return nil }
    let before = change.before
    let isMoved =
      before?.container != row.container && (change.kind != .insert || row.container != nil)
    // An edit beside changes of others was made on the values read.
    let mine = try table.document(row).members()
    let base =
      try change.given.map { given in mine.filter { given[$0.key] == nil } }
      ?? before.map { try table.document($0).members() } ?? [:]
    var members = mine.laid(
      on: try table.document(earlier).members(), since: change.stale.map { $0.laid(on: base, table) } ?? base,
      table.schema, isRead: change.given == nil)
    for (name, value) in change.given ?? [:] where value.isNull { members[name] = nil }
    let laid = try table.row(
      FieldsDocument(members), in: isMoved ? row.container : earlier.container, version: earlier.version)
    try transaction.replace(table, id: id.id, laid, own: laid.all)
    guard let theirs else { return nil }
    var read = before?.values ?? row.values.map { _ in .null }
    for (position, value) in change.stale?.values ?? [:] { read[position] = value }
    let values = conflicts(of: row.values, readAs: read, with: theirs, table.schema)
      .filter { earlier.values[$0.key] == theirs[$0.key] }
    return values.isEmpty ? nil : Change.Stale(version: agedVersion, values: values)
  }

  /// Makes the row show a hidden change, which becomes pending like any other. Does nothing if the row shows it
  /// already.
  static func reveal(_ entry: Outbox.Entry, in transaction: WriteTransaction) throws {
    guard entry.isHidden else { return }
    let table = try transaction.catalog.table(entry.id.type)
    let local = try local(entry, table, in: transaction)
    if local == nil, try transaction.exists(entry.id) {
      // Applies the delete rules to other records too, whose changes are pending as after any deletion.
      try transaction.recording { try transaction.delete(entry.id) }
    }
    try expose(entry.id, in: transaction)
    guard let local else { return }
    let before = try transaction.row(table, id: entry.id.id)
    try transaction.replace(table, id: entry.id.id, local, own: local.all)
    try addFormer(to: entry, over: before, shown: local, table, in: transaction)
  }

  /// Reveals the hidden change or the doubt of a record without a row, so that a further change finds it. Returns false
  /// if it has none.
  static func revealMissing(_ id: RecordID, in transaction: WriteTransaction) throws -> Bool {
    // One look-up tells most records from these.
    let isLeft = try transaction.has(
      """
      SELECT 1 FROM bothy_outbox WHERE type = ?1 AND id = ?2 AND awaiting <> 0
      UNION ALL SELECT 1 FROM bothy_doubt WHERE type = ?1 AND id = ?2
      """, id)
    guard isLeft, try !transaction.exists(id),
      try resume(id, in: transaction) != nil || mark(id, in: transaction)?.isHidden == true,
      let entry = try entry(id, in: transaction)
    else { return false }
    try reveal(entry, in: transaction)
    return true
  }

  /// Undoes a hidden change for a reason that its caller receives.
  static func refuse(
    awaited entry: Outbox.Entry, _ rejection: Rejection, at time: Int64, in transaction: WriteTransaction
  ) throws {
    let noted = try Journal.note(
      entry, .rejected, .online, reason: rejection,
      loss: Journal.Loss(entry, now: entry.reported, in: transaction), at: time, in: transaction)
    try undo(entry, noted, in: transaction)
  }

  /// Undoes a hidden change. The row becomes what the server last reported. The change's secrets are removed.
  ///
  /// - Parameter isInDoubt: true if the server may have made it, so that it is kept as a doubt.
  static func undo(
    _ entry: Outbox.Entry, _ noted: Journal.Noted, isInDoubt: Bool = false, in transaction: WriteTransaction
  ) throws {
    if isInDoubt { try keepDoubt(entry, in: transaction) }
    transaction.endHidden(entry.id, isMade: false)
    try end(entry, noted, in: transaction)
    try SecretAttachment.sweep(only: [entry.id], in: transaction)
    guard isInDoubt, entry.change == .delete, let reported = entry.remoteVersion, reported.isDeleted,
      !reported.isAbsence
    else { return }
    // Its own tombstone may have arrived before this, as it may after it.
    let table = try transaction.catalog.table(entry.id.type)
    guard try settleDoubt(by: reported, nil, table, in: transaction) != nil else { return }
    try transaction.followDeletion(of: entry.id, isOwn: true)
  }

  /// Returns the server's version of a record without pending changes, as its row has it.
  static func shown(_ id: RecordID, in transaction: ReadTransaction) throws -> ServerRecord? {
    let table = try transaction.catalog.table(id.type)
    guard let row = try transaction.row(table, id: id.id), let version = row.version else { return nil }
    return ServerRecord(
      id: id, container: row.container, version: version, metadata: row.metadata,
      fields: table.document(row), sharing: try AudienceTable.sharing(of: id, in: transaction))
  }

  /// Shows in the row the part of a hidden change's result that is kept here. Returns false for a change that ends like
  /// any other.
  ///
  /// - Parameter isPulling: true if the answer came with pages.
  static func showHidden(
    _ entry: Outbox.Entry, reported answer: ServerRecord?, isPulling: Bool, _ table: TypeTable,
    in transaction: WriteTransaction
  ) throws -> Bool {
    guard entry.isHidden, let awaited = entry.awaited, awaited.keeping != .here else { return false }
    if awaited.keeping == .uncached {
      try transaction.evict(table, id: entry.id.id)
      return true
    }
    let id = entry.id
    let known = try transaction.row(table, id: id.id)
    // If the server reported other versions meanwhile, the row shows those as it does without the change.
    guard entry.remoteVersion == nil, !entry.isLeaving, known?.version == entry.base?.version else {
      return false
    }
    guard let answer else { return true }
    if answer.isDeleted { return false }
    try StaleRows.mark(id, over: known?.version, answer, in: transaction)
    // The pages of a request don't contain what the request itself changed.
    if isPulling { try Refetch.mark(id, in: answer.container, in: transaction) }
    return true
  }
}

/// Changes of values that were read before newer versions arrived from the server.
extension OutboxQueue {
  /// Returns the values read of the fields that a change and others have both changed since, each in another way.
  static func conflicts(
    of mine: [FieldValue], readAs read: [FieldValue], with theirs: [FieldValue], _ schema: TypeSchema
  ) -> [Int: FieldValue] {
    let positions = schema.fields.indices.filter { position in
      schema.fields[position].merge.ofOnePerson == .local && read[position] != theirs[position]
        && mine[position] != read[position] && mine[position] != theirs[position]
    }
    return Dictionary(uniqueKeysWithValues: positions.map { ($0, read[$0]) })
  }

  /// Bases a change on what the caller had read. Its base gets the values read in the fields that both sides changed
  /// since, and the server's newer version is noted beside it. So the merge policy decides, as if the change had been
  /// made before the pull that brought that version.
  ///
  /// The conflict of a change on top of others is decided when it becomes the entry. A change in doubt keeps its base,
  /// because the new change belongs to what was sent.
  static func rebase(
    _ entry: Outbox.Entry, to stale: Change.Stale, _ table: TypeTable, at time: Int64,
    in transaction: WriteTransaction
  ) throws {
    guard let base = entry.base, entry.operationID == nil, !entry.isLater || stale.deletion == nil else {
      return
    }
    let id = entry.id
    let fields = FieldsDocument(try stale.laid(on: base.fields.members(), table))
    let version = entry.isLater ? base.version : stale.version
    try update(entry, "SET base_version = ?4, base = ?5", version, fields, in: transaction)
    if entry.isLater { return }
    guard entry.remoteVersion == nil else { return }
    let sharing = try AudienceTable.sharing(of: id, in: transaction)
    // The server's version was here before the edit was saved, whatever the clocks say.
    let time = time - 1
    var metadata = base.metadata
    metadata.modifiedTime = min(metadata.modifiedTime ?? time, time)
    let reported =
      stale.deletion.map {
        ServerRecord(id: id, container: entry.container, version: $0, modified: time, isDeleted: true)
      }
      ?? ServerRecord(
        id: id, container: entry.container, version: base.version, metadata: metadata, fields: base.fields,
        sharing: sharing)
    try hear(reported, in: transaction)
  }
}

extension Change.Stale {
  /// Returns a base with the values that the caller had read, in the fields that both sides changed since.
  func laid(on base: [String: JSONValue], _ table: TypeTable) -> [String: JSONValue] {
    var members = base
    for (position, value) in values {
      members[table.schema.fields[position].name] = value.isNull ? nil : value.json
    }
    return members
  }
}

/// The values that online-first saves have sent and that the app may still hold, while the process runs. The next save
/// of such a value is a change of the sent one, and not of the row that the value was read from.
///
/// If no answer came, the file has the operation, see `OutboxQueue+Doubt`.
final class SentValues: Sendable {
  struct Sent: Sendable {
    var change: OnlineChange
    /// The server's version after the operation.
    var answer: ServerRecord?
    var decided: Decided?
    /// True if the app knows the answer. Each field of a value without a mark is then taken literally.
    var isReported = false

    /// True if the row shows the answer.
    var isShownHere: Bool { change.entry.awaited?.keeping == .here }
  }

  /// A save that was sent while the file could not be written, and whose outcome is unknown.
  struct Open: Sendable {
    var operation: SyncOperation
    var change: LocalChange
    /// The save as a change of the row, or `nil` if the file can't keep it.
    var made: OnlineChange?
  }

  private struct State {
    var values: [RecordID: (sent: Sent, number: Int)] = [:]
    var nextNumber = 0
    var open: [RecordID: Open] = [:]
  }

  private let state = Mutex(State())
  /// The largest number of remembered values. Each may be as large as a record.
  private static let limit = 16

  func note(_ record: RecordID, _ sent: Sent) {
    state.withLock { state in
      state.nextNumber += 1
      state.values[record] = (sent, state.nextNumber)
      guard state.values.count > Self.limit else { return }
      // Values with an answer are dropped first, the oldest before the others.
      let first = state.values.min {
        ($0.value.sent.answer == nil ? 1 : 0, $0.value.number)
          < ($1.value.sent.answer == nil ? 1 : 0, $1.value.number)
      }
      if let first { state.values[first.key] = nil }
    }
  }

  /// The outcome of a save, by the revision of its entry.
  struct Decided: Sendable {
    var revision: Int64
    var outcome: SaveOutcome
  }

  /// Stores the outcome of the noted save of a record.
  func decide(_ record: RecordID, _ decided: Decided, _ answer: ServerRecord?) {
    state.withLock { state in
      state.values[record]?.sent.decided = decided
      state.values[record]?.sent.answer = answer
    }
  }

  /// Returns the outcome of a save that was decided in this process.
  func outcome(of record: RecordID, _ revision: Int64) -> SaveOutcome? {
    state.withLock { state in
      state.values[record]?.sent.decided.flatMap { $0.revision == revision ? $0.outcome : nil }
    }
  }

  /// Notes that the app knows the outcome of a save. A save without a version of the server is forgotten.
  func tell(_ record: RecordID) {
    state.withLock { state in
      if state.values[record]?.sent.answer == nil {
        state.values[record] = nil
      } else {
        state.values[record]?.sent.isReported = true
      }
    }
  }

  func forget(_ record: RecordID) { state.withLock { $0.values[record] = nil } }

  /// Keeps such a save, for a repetition.
  func keep(_ open: Open) {
    state.withLock { state in
      if state.open.count >= Self.limit { state.open = [:] }
      state.open[open.change.id] = open
    }
  }

  /// Removes and returns a kept save that the file can keep, or returns `nil`.
  func takeOpen() -> Open? {
    state.withLock { state in
      guard let found = state.open.first(where: { $0.value.made != nil }) else { return nil }
      state.open[found.key] = nil
      return found.value
    }
  }

  /// Forgets such a save after an answer about its record. Under its id the server would only repeat that one.
  func endOpen(_ record: RecordID) { state.withLock { $0.open[record] = nil } }

  /// Returns the id of the operation of such a save, or `nil` if it was another operation.
  func id(of operation: SyncOperation) -> String? {
    state.withLock { state in
      guard var open = state.open[operation.record]?.operation else { return nil }
      let id = open.id
      open.id = operation.id
      return open == operation ? id : nil
    }
  }

  /// Returns the result of a save that was made while the file could not be written, with the version of the row. The
  /// next transaction marks the row with it, as `StaleRows` has the results of other saves.
  func left(_ record: RecordID) -> (version: String?, answer: ServerRecord)? {
    guard let last = last(of: record), last.decided == nil, let answer = last.answer, !answer.isDeleted
    else { return nil }
    return (last.change.before?.version, answer)
  }

  func last(of record: RecordID) -> Sent? { state.withLock { $0.values[record]?.sent } }
}

extension OutboxQueue {
  /// Forgets a save of this process that another process has ended, so that no value is compared with it.
  static func forgetEnded(_ id: RecordID, in transaction: WriteTransaction) throws {
    guard transaction.hidesSave(of: id), try mark(id, in: transaction)?.isHidden != true,
      try doubt(about: id, in: transaction) == nil
    else { return }
    transaction.endHidden(id, isMade: false)
  }
}
