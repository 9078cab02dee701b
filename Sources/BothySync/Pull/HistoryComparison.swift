import BothyStore

/// Compares the local records with a complete snapshot of another history. If the snapshot lacks acknowledged content,
/// it isn't shown before a decision, or the content is returned to the server. Pending changes stay in any case.
struct HistoryComparison {
  private let transaction: WriteTransaction
  /// The policy for a loss without a decision.
  var policy = SyncOptions.RestorePolicy.request
  /// True if the pages that are taken now are a snapshot of another history.
  private(set) var isOn = false
  private var isShown = false
  private var isCompared = false
  private var decision: ServerBinding.Decision?
  /// True if the local versions can be compared with those of the snapshot.
  private var isSameServer = true
  /// True if the server lacks a position of its own present epoch, so that it has lost changes for certain.
  private var isDenied = false
  private var position: String?
  /// The highest known position of the history that the file followed.
  private var known: Int64 = 0
  /// The highest position of that history that the snapshot has.
  private var kept: Int64 = 0
  /// Acknowledged records that the snapshot removes, with their versions. A scope after it that has a newer version drops
  /// the record, which others have moved there.
  private var gone: [RecordID: String] = [:]
  /// Acknowledged records that the snapshot reverts, with their versions. A later page that has a newer version drops
  /// the record.
  private var older: [RecordID: String] = [:]
  /// Records with pending work that are sent as new.
  private var resent: [RecordID] = []
  /// Records that the server lacks, or has in an older version, and gets back.
  private(set) var givenBack: [RecordID] = []
  /// Acknowledged states that the snapshot replaces by what others wrote since.
  private var replaced: [Replaced] = []
  /// Such states without a decision, with their versions.
  private var doubtful: [RecordID: Int64] = [:]
  /// Records with pending work that the snapshot mentions.
  private var mentioned: Set<RecordID> = []

  private struct Replaced {
    var record: RecordID
    var version: Int64
    var loss: Journal.Loss
    /// True if the snapshot has other content in the same version, which was then written to another history.
    var isRewritten: Bool
  }

  init(_ transaction: WriteTransaction) { self.transaction = transaction }

  /// The records that the server had acknowledged and no longer has.
  var lost: [RecordID] { missing + resent }
  private var missing: [RecordID] {
    let outdated = Array(older.keys) + doubtful.filter { $0.value > kept }.keys
    return (gone.keys + outdated).sorted { ($0.type, $0.id) < ($1.type, $1.id) }
  }

  private var givesBack: Bool { isOn && decision == .uploadMine }

  /// True if a snapshot is of another history than the one that the file has followed.
  ///
  /// The server has the position of the file, in the request or its cursor, and says if it never was there. In the same
  /// history it has lost nothing: others have deleted what the snapshot lacks.
  func isOther(_ page: SyncResponse.Page, _ history: ServerHistory?) throws -> Bool {
    if page.isOtherHistory { return true }
    let binding = try ServerBinding.load(in: transaction)
    guard let known = binding.followed else { return binding.isAdopting }
    guard let history, history.isOfServer(of: known) else { return true }
    return !known.isContinued(by: history)
  }

  mutating func begin(_ page: SyncResponse.Page, _ history: ServerHistory?, isOtherHistory: Bool) throws {
    isOn = isOtherHistory
    isShown = true
    isCompared = isCompared || isOn
    mentioned = []
    guard isOn else { return }
    let binding = try ServerBinding.load(in: transaction)
    decision =
      binding.decision ?? (policy == .giveBack ? .uploadMine : policy == .adopt ? .adopt : nil)
    position = Cursor(token: page.cursor).map { String($0.position) }
    guard let former = binding.followed else { return }
    known = max(known, former.position)
    let isOfServer = history?.isOfServer(of: former) ?? false
    isDenied = isOfServer && history?.epoch == former.epoch
    // A space that was removed and begun again counts from one. An epoch that goes on from a copy skips positions.
    isSameServer = isDenied || isOfServer && history.map { $0.position >= former.position } ?? false
  }

  /// Compares a change of the snapshot with the local record that it replaces. Returns true if the local record stays,
  /// to be returned to the server.
  mutating func keeps(_ change: ServerRecord, _ table: TypeTable) throws -> Bool {
    guard isOn else { return false }
    if let version = Int64(change.version), version <= known { kept = max(kept, version) }
    guard givesBack else {
      if let version = older[change.id] {
        if !isDenied && change.version.isNewer(than: version) { older[change.id] = nil }
      } else if let version = gone[change.id] {
        guard change.version.isNewer(than: version) else { return false }
        gone[change.id] = nil
        doubt(change, version)
      } else if let version = try SnapshotReplacement.lost(change, table, in: transaction) {
        older[change.id] = version
      } else if let (row, version) = try SnapshotReplacement.replaced(change.id, table, in: transaction) {
        if !isSame(row, change, table) { doubt(change, version) }
      }
      return false
    }
    guard let (row, version) = try SnapshotReplacement.replaced(change.id, table, in: transaction) else {
      return false
    }
    if isSame(row, change, table) { return false }
    // One that can't be read is kept aside beside the row.
    guard change.isDeleted || Self.isReadable(change, table) else { return false }
    let mine = table.document(row)
    guard isSameServer else {
      if change.isDeleted { return false }
      let common = try Self.common(mine, change.fields, table)
      try offer(change.id, table, row, version, fields: common, over: nil)
      return true
    }
    guard version.isNewer(than: change.version) else {
      try replace(version, mine, change, table)
      return false
    }
    try offer(change.id, table, row, version, fields: mine, over: change.isDeleted ? nil : change)
    return true
  }

  /// Notes an acknowledged state that the snapshot has in a newer version, which others may have made of a state before
  /// it.
  private mutating func doubt(_ change: ServerRecord, _ version: String) {
    if isDenied && !change.isDeleted, let number = Int64(version) { doubtful[change.id] = number }
  }

  /// True if a row is what the server has. Values that don't fit the schema are compared as the row shows them.
  private func isSame(_ row: StoredRow, _ change: ServerRecord, _ table: TypeTable) -> Bool {
    guard !change.isDeleted, row.container ?? change.id.type == change.container else { return false }
    let mine = table.document(row)
    if mine == change.fields { return true }
    // A change that is unreadable here isn't what the row shows.
    guard let theirs = try? table.row(change) else { return false }
    return mine == table.document(theirs)
  }

  private static func isReadable(_ change: ServerRecord, _ table: TypeTable) -> Bool {
    var isRepaired = false
    if case .success = UnreadableTable.read(change, table, repaired: &isRepaired) { return true }
    return false
  }

  /// Notes an acknowledged state that gives way to what others wrote since.
  private mutating func replace(
    _ version: String, _ mine: FieldsDocument, _ change: ServerRecord, _ table: TypeTable
  ) throws {
    guard !change.isDeleted, let number = Int64(version) else { return }
    let loss = try Journal.Loss(mine, since: nil, now: change, in: table.schema)
    replaced.append(
      Replaced(record: change.id, version: number, loss: loss, isRewritten: version == change.version))
  }

  /// Like the comparison of a record without pending work, but of an entry, whose base is the acknowledged state.
  mutating func keeps(_ change: ServerRecord, _ entry: Outbox.Entry) throws -> Bool {
    guard isOn else { return false }
    mentioned.insert(change.id)
    guard let base = entry.base else { return false }
    let isSame = !change.isDeleted && base.fields == change.fields
    guard try change.isDeleted || Self.isReadable(change, transaction.catalog.table(change.id.type)) else {
      try age(entry, base, beside: change)
      return false
    }
    guard base.version.isNewer(than: change.version) else {
      return isSame ? false : try rebases(entry, base, change)
    }
    guard givesBack, isSameServer, !isSame else {
      if !givesBack && !isSame { older[change.id] = base.version }
      try redate(entry, base, isSame ? change : nil)
      return false
    }
    if change.isDeleted && entry.change == .delete {
      try end(entry, change)
      return true
    }
    try OutboxQueue.setReported(nil, of: entry.id, in: transaction)
    try OutboxQueue.reopen(
      entry.id, base: change.isDeleted ? nil : Outbox.Entry.Base(change),
      kind: change.isDeleted ? .insert : entry.change, in: transaction)
    if entry.change != .delete {
      try GivenBack.note(entry.id, GivenBack.State(base: base, position: position), in: transaction)
      givenBack.append(entry.id)
    }
    return true
  }

  /// Gives pending work the version that its acknowledged state has in the history of the snapshot, or one before all.
  /// Otherwise later changes there would count as older than it, and one of them as the state itself.
  private func redate(
    _ entry: Outbox.Entry, _ base: Outbox.Entry.Base, _ same: ServerRecord?
  ) throws {
    var base = base
    let isInPlace = same?.container == base.container ?? entry.container ?? entry.id.type
    base.version = isInPlace ? same?.version ?? OutboxQueue.agedVersion : OutboxQueue.agedVersion
    try OutboxQueue.setReported(nil, of: entry.id, in: transaction)
    try OutboxQueue.reopen(entry.id, base: base, kind: entry.change, in: transaction)
  }

  /// Handles pending work beside a record that can't be read here, which is kept aside. The work isn't based on it.
  private mutating func age(
    _ entry: Outbox.Entry, _ base: Outbox.Entry.Base, beside change: ServerRecord
  ) throws {
    let isLost = base.version == change.version || base.version.isNewer(than: change.version)
    if !givesBack {
      if isLost { older[change.id] = base.version } else { doubt(change, base.version) }
    }
    if isLost { try redate(entry, base, nil) }
  }

  /// Handles pending work whose acknowledged state gives way to what others wrote since. Returns true if the snapshot
  /// has other content in the version that the work is based on. The server must then not take it for the same version,
  /// so that the merge policy decides.
  private mutating func rebases(
    _ entry: Outbox.Entry, _ base: Outbox.Entry.Base, _ change: ServerRecord
  ) throws -> Bool {
    let isRewritten = base.version == change.version && !change.isDeleted
    if givesBack {
      let isLoss = isRewritten || isDenied
      if isLoss { try replace(base.version, base.fields, change, transaction.catalog.table(entry.id.type)) }
    } else if isRewritten {
      older[change.id] = base.version
    } else {
      doubt(change, base.version)
    }
    guard isRewritten else { return false }
    var base = base
    base.version = OutboxQueue.agedVersion
    // Reports of the former history since its base no longer count.
    try OutboxQueue.setReported(nil, of: entry.id, in: transaction)
    try OutboxQueue.reopen(entry.id, base: base, reported: change, kind: entry.change, in: transaction)
    return true
  }

  /// Notes a record that the snapshot has and that can't be compared.
  mutating func mention(_ id: RecordID) { mentioned.insert(id) }

  /// True if a record that the snapshot lacks stays, to be returned to the server. No device has deleted it.
  mutating func keeps(_ id: RecordID, _ table: TypeTable) throws -> Bool {
    guard isOn, let (row, version) = try SnapshotReplacement.replaced(id, table, in: transaction)
    else { return false }
    guard givesBack else {
      gone[id] = version
      return false
    }
    guard try isOurs(row, table) else {
      // The owner's device returns the record to the server, and keeps it. Until then it stays here as it is.
      try transaction.setVersion(OutboxQueue.agedVersion, table, id: id.id)
      return true
    }
    try offer(id, table, row, version, fields: table.document(row), over: nil)
    return true
  }

  /// True if this device may recreate the record. If the rights of a type depend on the owner of a record, only its
  /// owner recreates it.
  private func isOurs(_ row: StoredRow, _ table: TypeTable) throws -> Bool {
    guard let permissions = table.schema.permissions, permissions.knowsOwners,
      let owner = row.metadata.owner
    else { return true }
    return try ServerBinding.load(in: transaction).owner?.user ?? owner == owner
  }

  private mutating func offer(
    _ id: RecordID, _ table: TypeTable, _ row: StoredRow, _ version: String, fields: FieldsDocument,
    over current: ServerRecord?
  ) throws {
    let base = Outbox.Entry.Base(version: version, fields: fields, container: row.container ?? id.type)
    try GivenBack.offer(
      id, table, GivenBack.State(base: base, position: position), over: current, in: transaction)
    givenBack.append(id)
    mentioned.insert(id)
  }

  /// Returns the fields that two records of different servers have in common, which come nearest to a common base, with
  /// the smaller numbers of counters.
  private static func common(
    _ mine: FieldsDocument, _ theirs: FieldsDocument, _ table: TypeTable
  ) throws -> FieldsDocument {
    let here = try mine.members()
    let there = try theirs.members()
    let equal = here.filter { there[$0.key] == $0.value }
    return FieldsDocument(equal.merging(GivenBack.counts(here, there, table)) { $1 })
  }

  /// Ends a deletion of a record that the server doesn't have. A hidden deletion still has a row.
  private func end(_ entry: Outbox.Entry, _ reported: ServerRecord) throws {
    let noted = try Journal.note(entry, .accepted, .otherHistory, in: transaction)
    if entry.isBeneath {
      try OutboxQueue.end(entry, reported: reported, noted, in: transaction)
    } else {
      try OutboxQueue.remove(entry, noted, in: transaction)
      guard entry.isHidden else { return }
      try transaction.forget(transaction.catalog.table(entry.id.type), id: entry.id.id)
    }
  }

  /// Ends the snapshot of a scope. Records that it lacks weren't deleted, so their pending changes become inserts,
  /// whatever the merge policy.
  mutating func finish(_ scope: SyncScope) throws {
    guard isOn else { return }
    let entries = try OutboxQueue.entries(
      where: "base_version IS NOT NULL AND leaving = 0", in: transaction)
    // Deletions come last, because their delete rules change entries of others.
    for entry in entries.filter({ $0.change != .delete }) + entries.filter({ $0.change == .delete }) {
      guard scope.contains(entry.container ?? entry.id.type), !mentioned.contains(entry.id) else {
        continue
      }
      if entry.change == .delete {
        try end(entry, .unknown(entry.id))
        continue
      }
      try OutboxQueue.reopen(entry.id, base: nil, kind: .insert, in: transaction)
      // The record may have moved out of the scopes of this file. Then fields that weren't edited here are as they are
      // there.
      if let base = entry.base {
        try GivenBack.note(entry.id, GivenBack.State(base: base, position: position), in: transaction)
      }
      if givesBack { givenBack.append(entry.id) } else { resent.append(entry.id) }
    }
  }

  /// Ends the comparison of an answer, whose history the file follows from now on. Throws `HistoryLoss`, to undo all of
  /// it, if acknowledged content is lost without a decision.
  ///
  /// Returns the last acknowledged states that the server lost and that others have written again since. Empty if the
  /// server lost nothing.
  mutating func end(_ history: ServerHistory?) throws -> [SyncReport.ReplacedContent] {
    guard isShown else { return [] }
    let isDecided = try ServerBinding.isAdopting(in: transaction)
    guard missing.isEmpty || isDecided || decision == .adopt else { throw HistoryLoss(count: missing.count) }
    if isCompared && isDecided && decision == .uploadMine { try offerRest() }
    if isDecided || isCompared { try ServerBinding.take(history, in: transaction) }
    if isCompared { try OutboxQueue.ageDoubts(in: transaction) }
    let isLoss = isDenied || !givenBack.isEmpty
    return try replaced.filter { $0.isRewritten || isLoss && $0.version > kept }.map { found in
      var row = Journal.Row(found.record, .update, .overwritten, .otherHistory)
      row.loss = found.loss
      try Journal.note(row, in: transaction)
      return SyncReport.ReplacedContent(record: found.record, fields: found.loss.local)
    }
  }

  /// Ends the comparison of a file that pulls nothing, and so has no pages to compare with.
  static func endWithoutPages(in transaction: WriteTransaction) throws {
    var comparison = HistoryComparison(transaction)
    if try ServerBinding.load(in: transaction).decision == .uploadMine { try comparison.offerRest() }
    try ServerBinding.followNext(in: transaction)
  }

  /// Offers the records outside all pulled scopes as new, because they were compared with nothing. If the server has
  /// such a record, the merge policy decides, and takes the larger number of counters.
  private mutating func offerRest() throws {
    let scopes = try PullState.scopes(in: transaction)
    for table in transaction.catalog.tables where table.schema.isSynced {
      let type = table.schema.name
      let rest = try transaction.rows(
        """
        SELECT _id, coalesce(_container, ?1) FROM \(table.name) WHERE _version IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM bothy_outbox WHERE type = ?1 AND id = \(table.name)._id)
        """, type
      ) { row in
        let container = row.text(at: 1) ?? type
        return scopes.contains { $0.contains(container) } ? nil : row.text(at: 0)
      }
      for id in rest {
        guard let row = try transaction.row(table, id: id), try isOurs(row, table) else { continue }
        try offer(
          RecordID(type: type, id: id), table, row, row.version ?? "", fields: .empty, over: nil)
      }
    }
  }
}

/// The number of records that a snapshot of another history lacks, or has in older versions.
struct HistoryLoss: Error { var count: Int }

extension SyncOptions {
  /// The treatment of a server that was restored or emptied, and lacks content that it had acknowledged.
  package enum RestorePolicy: String, Sendable, Hashable, CaseIterable {
    /// Removes and sends nothing until a decision is made. The sync ends with `SyncObstacle.otherServer`. The default.
    case request
    /// Returns content to the server that it lacks, or has in an older version, as `maintenance.uploadMine` does. Several
    /// devices may do so. One of them creates the record, and the others find it there.
    case giveBack
    /// Replaces the local content by the server's, as `maintenance.adoptServer` does.
    case adopt
  }
}
