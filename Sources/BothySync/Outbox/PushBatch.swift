import BothyStore

/// The operations of one request, with the data that interprets their outcomes.
struct PushBatch: Sendable {
  struct Item: Sendable {
    var operation: SyncOperation
    /// The entry's revision when the operation was made.
    var revision: Int64
    /// True if optional references were left out, because their targets aren't on the server yet. The next operation
    /// sends them.
    var isPartial: Bool
    /// True if it was sent before and its outcome is unknown.
    var isInDoubt = false
  }

  var items: [Item] = []
  /// Entries that weren't sent, because the record they refer to isn't on the server and can't be sent now.
  var blocked: [(record: RecordID, by: RecordID)] = []
  /// Blobs that the server needs before the entries that name them are sent.
  var blobs: [BlobNeed] = []
  /// Blocked records that the next requests leave out, each with one that waits for blobs or is left out behind another.
  var behind: [(record: RecordID, leader: RecordID)] = []
  /// True if transactions were left for a request after the missing pages.
  var holdsGroups = false
  /// True if it has no room for more, so that other changes may be left for the next request.
  var isFull = false
  /// The number of entries that were dropped because their record isn't here.
  var repaired = 0
  /// Entries that no server accepts as they are, and the reasons.
  var refused: [(entry: Outbox.Entry, rejection: Rejection)] = []

  var operations: [SyncOperation] { items.map(\.operation) }

  /// The items in their order, in units: those of one group as one unit, and each other item as its own.
  var units: [ArraySlice<Item>] {
    var units: [ArraySlice<Item>] = []
    units.reserveCapacity(items.count)
    var start = 0
    while start < items.count {
      var end = start + 1
      if let group = items[start].operation.group {
        while end < items.count, items[end].operation.group == group { end += 1 }
      }
      units.append(items[start..<end])
      start = end
    }
    return units
  }
}

/// Builds batches: first operations in doubt, just as they were sent, then inserts, updates and deletes, each after the
/// records it refers to. Runs inside one transaction, in which the operations get their ids.
struct PushBatchBuilder {
  let transaction: WriteTransaction
  let limit: Int
  /// The current time. Entries with a later retry time aren't sent.
  let now: Int64
  /// The types whose changes aren't sent now. Changes that refer to unsent records of these types wait too.
  private(set) var heldTypes: Set<String>
  /// True if transactions aren't sent now. Pages are staged, and conflicts can be decided only when they are shown.
  let holdsGroups: Bool
  let sendsTimes: Bool
  let makeID: () -> String

  var batch = PushBatch()
  var visited: [RecordID: Visit] = [:]
  /// Records that need a record which waits for them. They follow when that is sent.
  var deferred: Set<RecordID> = []
  /// Records at which a chain was cut because of its depth, and those that require them. They may need what refers to
  /// them, so new records are sent without optional references to them.
  private var cut: Set<RecordID> = []
  var depth = 0
  /// True if the next exchanges leave out the changes that wait for blobs.
  private var marksWaiting = false
  /// The records that they leave out from this one on.
  private var leftOut: Set<RecordID> = []
  /// True if any record is being returned to a server that lost it.
  private var givesBack = false
  /// The groups that were already looked at.
  var groups: Set<String> = []
  /// The units that need a record which wasn't sent, and the transactions with such records.
  var needing: [Unit] = []
  /// True if the rest waits for the next request, because a group doesn't fit into this one.
  var isFull = false
  /// The last operations that others may follow, by record. `following` has the records that weren't looked at since.
  var links: [RecordID: Link] = [:]
  var following: [RecordID] = []

  /// The greatest depth to which chains of references are followed, on the stack of the writer's thread. The end of a
  /// longer chain is sent by this request, and the rest by those after it.
  static let depthLimit = 50

  enum Visit { case open, sent, blocked(by: RecordID) }

  init(
    _ transaction: WriteTransaction, limit: Int, now: Int64, heldTypes: Set<String> = [],
    holdsGroups: Bool = false, sendsTimes: Bool = true,
    makeID: @escaping () -> String
  ) {
    self.transaction = transaction
    self.limit = limit
    self.now = now
    self.heldTypes = heldTypes
    self.holdsGroups = holdsGroups
    self.sendsTimes = sendsTimes
    self.makeID = makeID
  }

  /// Builds one batch. Other records' operations in doubt may be under way, so they don't fill a batch of some records.
  ///
  /// - Parameters:
  ///   - records: the records whose ready changes are sent, or `nil` for all that is ready.
  ///   - held: the types that stay out when other changes fill the batch after those of the records, or `nil` to send
  ///     no others.
  mutating func build(
    only records: [RecordID]? = nil, thenBut held: Set<String>? = nil
  ) throws -> PushBatch {
    marksWaiting = records == nil
    try fill(only: records, thenBut: held)
    batch.isFull = isFull || batch.items.count >= limit
    return batch
  }

  private mutating func fill(only records: [RecordID]?, thenBut held: Set<String>?) throws {
    givesBack = try GivenBack.isUsed(in: transaction)
    try addOperationsInDoubt(records.map(Set.init))
    if let records {
      for entry in try needed(by: records) where batch.items.count < limit && isReady(entry) {
        try add(entry)
        try addFollowing()
      }
      guard let held, !batch.items.isEmpty else { return }
      heldTypes = held
    }
    try addFollowing()
    let order = transaction.catalog.tablesByReference
    repeat {
      try addGroups()
      for table in order { try addPhase(.insert, table) }
      for table in order { try addPhase(.update, table) }
      for table in order.reversed() { try addPhase(.delete, table) }
    } while try fuseCycles()
    try noteWaiting()
  }

  private mutating func addOperationsInDoubt(_ records: Set<RecordID>?) throws {
    let found = try transaction.rows(
      """
      SELECT type, id, sent_together FROM bothy_outbox
      INDEXED BY bothy_outbox_open
      WHERE operation IS NOT NULL AND retry_at <= ? AND state <> 2 ORDER BY retry_at > 0, operation LIMIT ?
      """, now, records == nil ? limit : -1
    ) { (record: $0.record(at: 0), group: $0.text(at: 2)) }
    for (record, group) in found where visited[record] == nil && !heldTypes.contains(record.type) {
      if let group {
        try addGroupInDoubt(group, records)
      } else if batch.items.count < limit, records?.contains(record) ?? true,
        let entry = try OutboxQueue.entry(record, in: transaction)
      {
        guard let operation = try OutboxQueue.sentOperation(of: entry, in: transaction) else {
          try OutboxQueue.recall(record, in: transaction)
          continue
        }
        if try needsBlobs(operation, revision: entry.revision) { continue }
        if let target = try missing(for: operation) {
          visited[record] = .blocked(by: target)
          batch.blocked.append((record, target))
          continue
        }
        try addInDoubt(operation, of: entry)
      }
      if isFull { return }
    }
  }

  /// Returns a record that the operation in doubt refers to and that an earlier operation outside this batch and of none
  /// of `records` creates, or `nil`. The server rejects such a reference.
  ///
  /// An operation doesn't wait for one that was made after it. That one may wait for this operation.
  func missing(for operation: SyncOperation, besides records: Set<RecordID> = []) throws -> RecordID? {
    guard let table = transaction.catalog.tableIfKnown(operation.record.type) else { return nil }
    return try table.targets(of: operation.fields).first { target in
      if target == operation.record || records.contains(target) { return false }
      if case .sent? = visited[target] { return false }
      guard let entry = try OutboxQueue.entry(target, in: transaction) else { return false }
      return entry.change == .insert && (entry.operationID ?? operation.id) < operation.id
    }
  }

  mutating func addInDoubt(_ operation: SyncOperation, of entry: Outbox.Entry) throws {
    if entry.isHidden { try OutboxQueue.putLast(entry.id, in: transaction) }
    let revision = entry.sentRevision ?? entry.revision
    batch.items.append(.init(operation: operation, revision: revision, isPartial: false, isInDoubt: true))
    visited[operation.record] = .sent
    if revision == entry.revision { try link(entry, operation.id) }
  }

  private mutating func addPhase(_ kind: ChangeKind, _ table: TypeTable) throws {
    let type = table.schema.name
    guard !heldTypes.contains(type) else { return }
    var last = OutboxQueue.ReadyPlace.start
    while batch.items.count < limit && !isFull {
      let found = try OutboxQueue.ready(
        kind, of: type, after: last, at: now, limit: limit, in: transaction)
      for (entry, _) in found where batch.items.count < limit && visited[entry.id] == nil {
        try add(entry)
        if !following.isEmpty { try addFollowing() }
      }
      guard found.count == limit, let next = found.last else { return }
      last = next.place
    }
  }

  mutating func add(_ entry: Outbox.Entry) throws {
    guard visited[entry.id] == nil else { return }
    if let group = entry.group { return try add(group: group) }
    let table = try transaction.catalog.table(entry.id.type)
    if depth == 0 { deferred = [] }
    visited[entry.id] = .open
    cut.remove(entry.id)
    if entry.change == .delete {
      try send(entry, table, fields: [:], isPartial: false)
      return
    }
    guard let (row, all) = try content(of: entry, table) else { return }
    var fields = all
    if try needsBlobs(entry.id, entry.change, entry.revision, fields, table) { return try leaveOut([entry]) }
    var isPartial = false
    for field in table.schema.fields where field.kind.target != nil {
      guard let value = fields[field.name], let blocker = try firstUnsent(value, field, entry.id) else {
        continue
      }
      // The transaction that it needs has found no room, so both are left for the next request.
      if isFull { return visited[entry.id] = nil }
      let isCut = entry.change == .insert && cut.contains(blocker)
      guard isOpen(blocker) || deferred.contains(blocker) || isCut && field.isOptional else {
        if isCut { cut.insert(entry.id) }
        visited[entry.id] = .blocked(by: blocker)
        batch.blocked.append((entry.id, blocker))
        return try leaveOut([entry], behind: blocker)
      }
      if field.isOptional {
        fields[field.name] = nil
        isPartial = true
      } else if depth > 0 {
        visited[entry.id] = nil
        deferred.insert(entry.id)
        return
      }
    }
    try send(entry, table, fields: fields, isPartial: isPartial, container: row.container)
  }

  /// Has the next exchanges leave out a change, or all of a transaction, until the blobs have arrived.
  ///
  /// - Parameter leader: the record that the changes need, or `nil` if they need the blobs themselves. Does nothing if the
  ///   leader isn't left out.
  mutating func leaveOut(_ entries: [Outbox.Entry], behind leader: RecordID? = nil) throws {
    guard marksWaiting, leader.map(leftOut.contains) ?? true, let first = entries.first else { return }
    try OutboxQueue.waitForBlobs(first, in: transaction)
    leftOut.formUnion(entries.map(\.id))
    if let leader { batch.behind += entries.map { ($0.id, leader) } }
  }

  /// True if the entry waits for blobs that the server isn't known to have. Entries that refer to it wait too.
  mutating func needsBlobs(
    _ record: RecordID, _ kind: ChangeKind, _ revision: Int64, _ fields: [String: JSONValue],
    _ table: TypeTable
  ) throws -> Bool {
    guard !table.blobFields.isEmpty else { return false }
    let missing = try BlobNeed.missing(fields, table, now: now, in: transaction)
    guard !missing.isEmpty else { return false }
    batch.blobs += missing.map { blob, attempts in
      BlobNeed(record: record, operation: kind, revision: revision, blob: blob, attempts: attempts)
    }
    visited[record] = .blocked(by: record)
    return true
  }

  /// Like `needsBlobs(_:_:_:_:_:)`, but for an operation sent long ago. A server keeps the blobs of operations that
  /// arrived.
  mutating func needsBlobs(_ operation: SyncOperation, revision: Int64) throws -> Bool {
    guard let table = transaction.catalog.tableIfKnown(operation.record.type), !table.blobFields.isEmpty
    else {
      return false
    }
    return try needsBlobs(operation.record, operation.kind, revision, operation.fields, table)
  }

  /// Returns the row and the fields to send. Drops the entry and returns `nil` if it has nothing to send.
  mutating func content(
    of entry: Outbox.Entry, _ table: TypeTable
  ) throws -> (row: StoredRow, fields: [String: JSONValue])? {
    guard let row = try OutboxQueue.local(entry, table, in: transaction) else {
      // A broken invariant: an entry without its row. The record becomes what the server last reported.
      let noted = try Journal.note(entry, .withdrawn, .unsendable, in: transaction)
      try OutboxQueue.end(entry, noted, in: transaction)
      batch.repaired += 1
      return nil
    }
    let fields =
      entry.base == nil
      ? try table.members(row) : try Self.changedFields(table.document(row), since: entry.base)
    if let rejection = Rejection(tooDeep: fields, of: entry.id.type) {
      // A change on top of another is refused when it is the record's first.
      if !entry.isLater { batch.refused.append((entry, rejection)) }
      visited[entry.id] = .blocked(by: entry.id)
      return nil
    }
    if fields.isEmpty && entry.change == .update && entry.destination(row.container) == nil
      && entry.sharing == nil && !entry.isLater,
      try SecretAttachment.secrets(of: entry.id, table, transaction.secretStore).isEmpty
    {
      let noted = try Journal.note(
        entry, .accepted, entry.isHidden ? .online : .agreed, version: entry.base?.version, in: transaction)
      try OutboxQueue.end(entry, noted, in: transaction)
      return nil
    }
    return (row, fields)
  }

  func isOpen(_ record: RecordID) -> Bool {
    if case .open? = visited[record] { true } else { false }
  }

  /// Returns the first record that `value` refers to and that the server lacks even after this batch. Sends it first if
  /// that is possible.
  private mutating func firstUnsent(
    _ value: JSONValue, _ field: FieldSchema, _ owner: RecordID
  ) throws -> RecordID? {
    for target in field.targets(of: value) where target != owner {
      guard let entry = try OutboxQueue.entry(target, in: transaction), entry.change == .insert else {
        continue
      }
      if deferred.contains(target) { return target }
      if visited[target] == nil, isReady(entry), batch.items.count < limit - 1 {
        if depth < Self.depthLimit {
          depth += 1
          defer { depth -= 1 }
          try add(entry)
        } else {
          cut.insert(target)
        }
      }
      if case .sent? = visited[target] { continue }
      if entry.group != nil { needing.append(Unit(entry)) }
      return target
    }
    return nil
  }

  mutating func send(
    _ entry: Outbox.Entry, _ table: TypeTable, fields: [String: JSONValue], isPartial: Bool,
    container: String? = nil, group: SyncOperation.Group? = nil
  ) throws {
    // A deletion on the server since this position wins over the record that it gets back.
    var base = entry.base?.version
    if base == nil && givesBack { base = try GivenBack.state(of: entry, in: transaction)?.position }
    if entry.isLater { base = nil }
    var operation = SyncOperation(
      id: makeID(), kind: entry.change, record: entry.id,
      container: entry.change == .insert
        ? container : entry.change == .update ? entry.destination(container) : nil, base: base,
      fields: fields,
      modified: sendsTimes && entry.isEditTimeReliable && !entry.isHidden ? entry.editedTime : nil,
      sharing: entry.change == .delete ? nil : entry.sharing, group: group)
    operation.after = try predecessor(of: entry)
    try OutboxQueue.setSent(
      operation, of: entry, revision: isPartial ? entry.revision - 1 : entry.revision, in: transaction)
    visited[entry.id] = .sent
    batch.items.append(.init(operation: operation, revision: entry.revision, isPartial: isPartial))
    if !isPartial { try link(entry, operation.id) }
  }

  /// Returns the fields of `document` that differ from the base, with null for cleared ones. Without a base, returns
  /// all.
  static func changedFields(
    _ document: FieldsDocument, since base: Outbox.Entry.Base?
  ) throws -> [String: JSONValue] {
    let now = try document.members()
    guard let base else { return now }
    if base.fields == document { return [:] }
    let before = try base.fields.members()
    var changed = now.filter { before[$0.key] != $0.value }
    for name in before.keys where now[name] == nil { changed[name] = .null }
    return changed
  }
}
