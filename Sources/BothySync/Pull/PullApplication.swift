import BothyStore

/// Applies the pages of a pull to the store. Pages are staged until the last one has arrived. Then all of them are
/// applied in one transaction, so that no reader sees half of another user's transaction.
///
/// A record with pending work is never touched. The server's version of it is kept beside its entry.
struct PullApplication {
  let transaction: WriteTransaction
  let now: Int64
  private var pending: PendingLookup
  /// The results so far.
  private(set) var report = SyncReport()
  var orphans = SyncOptions.MissingParentPolicy.deleteRule
  private var known: AudienceTable
  /// True if the pages are a complete snapshot that replaces the local records, whatever its versions. The server's
  /// history may have gone back.
  private var isRebasing = false
  /// The scope whose pages are taken, or `nil` for changes that arrived outside a pull.
  private var scope: SyncScope?
  /// True if records of the scope were here before.
  private var isReplacing = false
  /// True if any record is kept aside, by this pull or an earlier one.
  private var setsAside: Bool
  /// The versions that these pages have brought and that are kept aside.
  private var aside: [RecordID: String] = [:]
  /// True if the server may have made a save that is undone here. Looked up with the first change.
  private var mayHaveMade: Bool?
  /// The records with pending work that the snapshot mentions.
  private var mentioned: Set<RecordID> = []
  /// The types of which the user sees other records since an earlier page.
  private var changedTypes: Set<String> = []
  /// The history of the pages, or `nil` from a server without an identity.
  var history: ServerHistory?
  var comparison: HistoryComparison
  /// True if a page that reports no changes isn't written.
  var leavesUnchanged = false
  /// The pulled scopes before the server was asked, for changes of an answer outside a pull.
  var asked: [PullState]?
  /// The scopes of such pages, as they are in the file.
  private(set) var unchanged: [PullState] = []

  init(_ transaction: WriteTransaction, now: Int64) throws {
    self.transaction = transaction
    self.now = now
    pending = try OutboxQueue.pending(in: transaction)
    known = try AudienceTable(transaction)
    setsAside = try !UnreadableTable.isEmpty(in: transaction)
    comparison = HistoryComparison(transaction)
  }

  /// Takes the next page of a scope. Returns true if the scope is now up to date. Returns false, and does nothing, if
  /// the scope was reset since the page was requested at `generation`.
  @discardableResult
  mutating func take(_ page: SyncResponse.Page, generation: Int64? = nil) throws -> Bool {
    scope = page.scope
    var state = try PullState.load(page.scope, in: transaction)
    if let generation, generation != state.generation { return false }
    if leavesUnchanged && state.isAt(page) {
      unchanged.append(state)
      return true
    }
    // A page that another process requested before this one arrived isn't taken after it.
    state.generation += 1
    if page.reset {
      // Any staged pages belong to a history that isn't continued.
      try Stage.clear(page.scope, in: transaction)
      if state.cursor != nil && !report.rebased.contains(page.scope) { report.rebased.append(page.scope) }
      state.isResetting = true
      state.isOtherHistory = try comparison.isOther(page, history)
      state.staged = nil
    }
    if page.more {
      try Stage.append(page, in: transaction)
      state.staged = page.cursor
      try state.save(in: transaction)
      return false
    }
    isRebasing = state.isResetting
    isReplacing = isRebasing && state.isComplete
    let isOtherHistory = isRebasing && state.isOtherHistory
    // Its first page may have arrived with an answer that wasn't shown, perhaps to an earlier run.
    let isAgain = isRebasing && (isOtherHistory || state.cursor != nil)
    if isAgain && !report.rebased.contains(page.scope) { report.rebased.append(page.scope) }
    try comparison.begin(page, history, isOtherHistory: isOtherHistory)
    let snapshot = SnapshotReplacement(
      scope: page.scope, transaction: transaction, isOtherHistory: isOtherHistory)
    if isRebasing { try snapshot.begin(at: isOtherHistory ? nil : Cursor(token: page.cursor)?.position) }
    mentioned = []
    changedTypes = []
    // Delete rules begin changes of records that the snapshot has.
    let former = try isRebasing ? pendingRecords() : []
    if state.staged != nil { try Stage.forEach(page.scope, in: transaction) { try apply($0) } }
    try apply(page)
    if isRebasing {
      let gone = try snapshot.finish { try comparison.keeps($0, $1) }
      report.pulled += gone.count
      try comparison.finish(page.scope)
      pending = try OutboxQueue.pending(in: transaction)
      try noteAbsences(of: former, page)
    }
    let position = isRebasing ? nil : Cursor(token: page.cursor)?.position
    try StaleRows.end(in: page.scope, upTo: position, in: transaction)
    try Stage.clear(page.scope, in: transaction)
    state.end(at: page.cursor, now)
    try state.save(in: transaction)
    if isRebasing, try Refetch.end(in: page.scope, in: transaction) {
      try PullState.forget(page.scope, in: transaction)
    }
    // If the rights changed amid a snapshot, its first pages were made for the former ones.
    for type in changedTypes { try Refetch.mark(type: type, in: transaction) }
    return true
  }

  private mutating func apply(_ page: SyncResponse.Page) throws {
    for change in page.changes { try apply(change) }
    for record in page.unreadable {
      mentioned.insert(record.record)
      comparison.mention(record.record)
      try setAside(record)
    }
    for id in page.outOfScope { try leave(id, from: page.scope) }
    for type in page.types {
      // A device without the type requests its records when an update of its app declares it.
      if transaction.catalog.syncedTable(type) == nil {
        try UnrecognizedRecords.replace(type, by: [], in: transaction)
      }
      changedTypes.insert(type)
    }
  }

  /// Applies one change of the server, unless the record has pending work, or a newer version is here or kept aside.
  ///
  /// - Parameter ifNewer: true to leave a row with the same version alone too, so that only changed records are
  ///   counted.
  mutating func apply(_ change: ServerRecord, ifNewer: Bool = false) throws {
    guard let table = transaction.catalog.syncedTable(change.id.type) else {
      // The versions of another history don't compare with those of other scopes.
      return try comparison.isOn
        ? UnrecognizedRecords.keep(change, in: transaction)
        : UnrecognizedRecords.keepNewest(change, in: transaction)
    }
    if try isOlderThanAside(change) {
      mentioned.insert(change.id)
      return
    }
    if let entry = try pending(change.id) {
      if try comparison.keeps(change, entry) {
        mentioned.insert(change.id)
        return
      }
      return try remoteVersion(change, entry, table)
    }
    if try comparison.keeps(change, table) {
      mentioned.insert(change.id)
      pending = try OutboxQueue.pending(in: transaction)
      return
    }
    if change.isDeleted {
      if setsAside { try UnreadableTable.remove(change.id, in: transaction) }
      guard try isGone(change.id) else { return }
      if try hasDoubts(), try OutboxQueue.settleDoubt(by: change, nil, table, in: transaction) != nil {
        try transaction.forget(table, id: change.id.id)
        pending = try OutboxQueue.pending(in: transaction)
      } else {
        let isShown = try transaction.evict(table, id: change.id.id, upTo: change.version)
        // One that left this device before is deleted too, and others here may still refer to it.
        guard try isShown || !transaction.exists(change.id) else { return }
        try transaction.followDeletion(of: change.id, isOwn: false)
        guard isShown else { return }
      }
      try known.set(.nobody, of: change.id)
      report.pulled += 1
      return
    }
    if try wasRemoved(change, table) { return }
    if ifNewer, let known = try transaction.row(table, id: change.id.id)?.version,
      known == change.version || !change.version.isNewer(than: known)
    {
      return
    }
    var wasRepaired = try isReplacing && SnapshotReplacement.isNewer(change, table, in: transaction)
    guard let row = try readable(change, table, &wasRepaired) else { return }
    if wasRepaired { report.repaired += 1 }
    let own = try hasDoubts() ? OutboxQueue.settleDoubt(by: change, row, table, in: transaction) : nil
    guard try transaction.put(table, id: change.id.id, row, own: own ?? [:]) else { return }
    try known.set(change.sharing, of: change.id)
    report.pulled += 1
  }

  /// True if a newer version is kept aside. The change was on its way longer than a pull, or another scope of these pages
  /// has the record since. In a snapshot, versions that came before may be those of another history.
  private func isOlderThanAside(_ change: ServerRecord) throws -> Bool {
    if isRebasing { return aside[change.id]?.isHigher(than: change.version) ?? false }
    return try setsAside && UnreadableTable.has(change.id, after: change.version, in: transaction)
  }

  /// True if pulls have removed a record since the server was asked for it, so that the answer is older than that.
  private func wasRemoved(_ change: ServerRecord, _ table: TypeTable) throws -> Bool {
    guard let asked, try transaction.row(table, id: change.id.id) == nil,
      try PullState.knows(change, since: asked, in: transaction)
    else { return false }
    // A record with an open mark is missing for another reason, and is requested again.
    return try !Refetch.open(AnyQuery(change.id.type), in: transaction).contains {
      $0.type.isEmpty || $0.id.isEmpty || $0.record == change.id
    }
  }

  private mutating func hasDoubts() throws -> Bool {
    let found = try mayHaveMade ?? OutboxQueue.hasDoubts(in: transaction)
    mayHaveMade = found
    return found
  }

  /// Returns the row of a change, or `nil` for one that can't be read. That one is kept aside, and the local row stays.
  private mutating func readable(
    _ change: ServerRecord, _ table: TypeTable, _ wasRepaired: inout Bool
  ) throws -> StoredRow? {
    switch UnreadableTable.read(change, table, repaired: &wasRepaired) {
    case .success(let row):
      if setsAside { try UnreadableTable.remove(change.id, in: transaction) }
      return row
    case .failure(let found):
      let here = try transaction.row(table, id: change.id.id)?.version
      if isRebasing || !(here?.isHigher(than: change.version) ?? false) { try setAside(found, change) }
      return nil
    }
  }

  private mutating func setAside(_ found: UnreadableRecord, _ change: ServerRecord? = nil) throws {
    // The versions of another history don't compare with those of a snapshot.
    if isRebasing { try UnreadableTable.remove(found.record, in: transaction) }
    try UnreadableTable.keep(found, change, in: transaction)
    report.unreadable.append(found)
    aside[found.record] = found.version
    setsAside = true
  }

  private mutating func isGone(_ id: RecordID) throws -> Bool {
    if pending.isEmpty { return true }
    var orphans = MissingParents(transaction, orphans)
    defer { report.overwritten += orphans.overwritten }
    return try orphans.deletes(id)
  }

  private mutating func remoteVersion(_ change: ServerRecord, _ entry: Outbox.Entry, _ table: TypeTable)
    throws
  {
    if isRebasing { mentioned.insert(change.id) }
    // The scope of a first page is not in the file yet.
    if entry.isLeaving,
      try ([scope] + PullState.scopes(in: transaction)).contains(where: {
        $0?.contains(change.container) ?? false
      })
    {
      // The record is back.
      try OutboxQueue.leave(change.id, isLeaving: false, in: transaction)
    }
    // A record that a snapshot lacked and that is reported now exists after all, whatever its version.
    if !isRebasing && !(entry.remoteVersion?.isAbsence ?? false) {
      if let base = entry.base, !change.version.isNewer(than: base.version) { return }
      if let kept = entry.remoteVersion, !change.version.isNewer(than: kept.version) { return }
    }
    if change.isDeleted {
      if setsAside { try UnreadableTable.remove(change.id, in: transaction) }
    } else {
      var wasRepaired = false
      guard try readable(change, table, &wasRepaired) != nil else { return }
    }
    try OutboxQueue.hear(change, in: transaction)
  }

  /// Handles a record that left the scope or is no longer visible. It is evicted once none of its changes is pending.
  /// It stays if another scope has brought it in its present container.
  mutating func leave(_ id: RecordID, from scope: SyncScope) throws {
    guard let table = transaction.catalog.syncedTable(id.type) else {
      return try UnrecognizedRecords.remove(id, from: scope, in: transaction)
    }
    if setsAside { try UnreadableTable.remove(id, from: scope, in: transaction) }
    if let entry = try pending(id) {
      guard scope.contains(entry.remoteVersion?.live?.container ?? entry.container ?? id.type) else { return }
      report.leaving.append(id)
      return try OutboxQueue.leave(id, in: transaction)
    }
    guard let row = try transaction.row(table, id: id.id), scope.contains(row.container ?? id.type) else {
      return
    }
    try known.set(.nobody, of: id)
    try StaleRows.forget(id, in: transaction)
    try OutboxQueue.endDoubt(id, in: transaction)
    // Answers for its present container lack it.
    try QueryCompleteness.forget(id.type, in: transaction)
    if try transaction.evict(table, id: id.id) { report.pulled += 1 }
  }
}

extension PullApplication {
  private func pendingRecords() throws -> Set<RecordID> {
    Set(try transaction.rows("SELECT type, id FROM bothy_outbox") { $0.record(at: 0) })
  }

  /// Notes beside pending work that the server didn't have a record at the snapshot's position, because the snapshot
  /// lacks it. So an answer from before that position doesn't bring the record back.
  ///
  /// Notes nothing if the record may be in a container outside the scope.
  ///
  /// - Parameter former: the records that had pending work before the snapshot.
  private func noteAbsences(of former: Set<RecordID>, _ page: SyncResponse.Page) throws {
    guard !pending.isEmpty, let position = Cursor(token: page.cursor)?.position else { return }
    let found = try transaction.rows(
      """
      SELECT type, id,
        CASE WHEN base_version IS NULL THEN json_extract(sent, '$.container') ELSE container END,
        coalesce(json_extract(sent, '$.container'), container)
      FROM bothy_outbox WHERE base_version IS NOT NULL OR operation IS NOT NULL
      """
    ) { row -> ServerRecord? in
      let id = row.record(at: 0)
      let places = [row.text(at: 2) ?? id.type, row.text(at: 3) ?? id.type]
      guard former.contains(id), !mentioned.contains(id), places.allSatisfy(page.scope.contains) else {
        return nil
      }
      return .absent(id, from: places[1], at: position)
    }
    for record in found {
      if let remoteVersion = try OutboxQueue.entry(record.id, in: transaction)?.remoteVersion,
        !remoteVersion.isDeleted,
        !page.scope.contains(remoteVersion.container)
      {
        continue
      }
      try OutboxQueue.hear(record, in: transaction)
    }
  }
}
