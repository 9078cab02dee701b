import BothyStore

/// Removing records from this device without telling the server, with their content in the journal. Pending records
/// stay as they are and are listed, unless `includingPending`; then their entries are deleted too, and never sent. The
/// next sync requests what was removed, and nothing else: one round trip more for each five hundred records of a type.
extension SyncedStore {
  /// Removes one record. One that is not here is nothing to remove. One transaction.
  @discardableResult
  package func purge(_ id: RecordID, includingPending: Bool = false) throws -> StoreMaintenance.Removal {
    try purge([id], includingPending: includingPending)
  }

  /// Removes these records. One transaction.
  @discardableResult
  package func purge(_ ids: [RecordID], includingPending: Bool = false) throws -> StoreMaintenance.Removal {
    try purging { purge in
      for id in ids { try purge.remove(id, includingPending) }
    }
  }

  /// Removes every record of a type, and of no other. One transaction.
  @discardableResult
  package func purge(type: String, includingPending: Bool = false) throws -> StoreMaintenance.Removal {
    try purging { try $0.removeAll(of: $0.transaction.catalog.table(type), includingPending) }
  }

  /// Removes the records of a container and those below it. The next sync pulls all of that container, and no other.
  /// One transaction.
  @discardableResult
  package func purge(container: String, includingPending: Bool = false) throws -> StoreMaintenance.Removal {
    let present = store.catalog.wireNames.present(container: container)
    return try purging { try $0.removeAll(in: present, includingPending) }
  }

  /// Removes every synced record, and the next sync brings everything; with `includingPending` the log of past syncs and
  /// the journal go too. One transaction.
  ///
  /// - Parameter check: called first in the transaction. An error of it changes nothing.
  @discardableResult
  package func purge(
    includingPending: Bool = false, check: (ReadTransaction) throws -> Void = { _ in }
  ) throws -> StoreMaintenance.Removal {
    try purging { purge in
      try check(purge.transaction)
      for table in purge.transaction.catalog.tables where table.schema.isSynced {
        try purge.removeAll(of: table, includingPending)
      }
      for table in purge.transaction.catalog.tables where table.schema.isSynced && includingPending {
        // Records that were undone because they had been written together with one of a later type.
        try purge.removeAll(of: table, true)
      }
      try UnrecognizedRecords.clear(.everything, in: purge.transaction)
      try purge.forget(.everything)
      guard includingPending else { return }
      try SyncHistoryTable.clear(in: purge.transaction)
      try Journal.clear(in: purge.transaction)
    }
  }

  private func purging(_ body: (inout Purge) throws -> Void) throws -> StoreMaintenance.Removal {
    try store.write(origin: .remote) { transaction in
      var purge = Purge(transaction: transaction)
      try body(&purge)
      try purge.finish()
      return purge.result
    }
  }
}

/// One removal, inside its transaction.
private struct Purge {
  let transaction: WriteTransaction
  var result = StoreMaintenance.Removal()
  /// The records that the server may have, with their containers.
  private var unknown: [(record: RecordID, container: String?)] = []

  private static let rowless = "type = ? AND (kind = 2 OR awaited IS NOT NULL)"

  init(transaction: WriteTransaction) { self.transaction = transaction }

  mutating func remove(_ id: RecordID, _ includingPending: Bool) throws {
    let table = try transaction.catalog.table(id.type)
    guard table.schema.isSynced else { return }
    let entry = try OutboxQueue.entry(id, in: transaction)
    guard entry == nil || includingPending else { return result.kept.append(id) }
    let container =
      try entry.map { try OutboxQueue.serverContainer(of: $0, in: transaction) }
      ?? transaction.row(table, id: id.id)?.container
    try Journal.forgetContent(of: id, in: transaction)
    try StaleRows.forget(id, in: transaction)
    try OutboxQueue.endDoubt(id, in: transaction)
    if entry != nil {
      var given: Set<String> = []
      try OutboxQueue.forget(id, in: transaction) { entry in
        let loss = try loss(of: entry, purging: id)
        if loss == nil, let group = entry.group ?? entry.sentGroup { given.insert(group) }
        return try Journal.note(entry, .withdrawn, .purged, loss: loss, in: transaction)
      }
      for group in given { try Journal.cut(group, in: transaction) }
    }
    let isRemoved = try transaction.evict(table, id: id.id)
    if isRemoved { result.removed += 1 }
    // A deletion that is not sent after all, too.
    if isRemoved || entry != nil { unknown.append((id, container)) }
  }

  /// Returns the part of a pending change that can be restored. The purge gives up the content of its own record.
  private func loss(of entry: Outbox.Entry, purging id: RecordID) throws -> Journal.Loss? {
    if entry.id != id { return try Journal.Loss(entry, now: entry.reported, in: transaction) }
    guard entry.change == .delete else { return nil }
    return try Journal.Loss(
      nil, since: nil, now: entry.reported, in: transaction.catalog.table(id.type).schema)
  }

  mutating func removeAll(of table: TypeTable, _ includingPending: Bool) throws {
    let type = table.schema.name
    for id in try transaction.ids(AnyQuery(type)) {
      try remove(RecordID(type: type, id: id), includingPending)
    }
    try OutboxQueue.endDoubts(about: type, transaction)
    // Deletions and hidden changes are left, which have no row.
    for entry in try OutboxQueue.entries(where: Self.rowless, [type], in: transaction) {
      try remove(entry.id, includingPending)
    }
    // Records that were undone because they had been written together with one of these.
    if includingPending {
      for id in try transaction.ids(AnyQuery(type)) { try remove(RecordID(type: type, id: id), true) }
    }
  }

  mutating func removeAll(in container: String, _ includingPending: Bool) throws {
    let scope = SyncScope(container: container, includesChildren: true)
    for table in transaction.catalog.tables where table.schema.isSynced {
      let type = table.schema.name
      for id in try transaction.ids(AnyQuery(type, container: container, includesChildren: true)) {
        try remove(RecordID(type: type, id: id), includingPending)
      }
      try OutboxQueue.endDoubts(about: type, in: scope, transaction)
      for entry in try OutboxQueue.entries(where: Self.rowless, [type], in: transaction)
      where try scope.contains(OutboxQueue.container(of: entry, in: transaction)) {
        try remove(entry.id, includingPending)
      }
    }
    try UnrecognizedRecords.clear(scope, in: transaction)
    try forget(scope)
  }

  /// The next pull brings the scope as a whole, and the scopes that contain it as before.
  mutating func forget(_ scope: SyncScope) throws {
    unknown.removeAll { scope.contains($0.container ?? $0.record.type) }
    try QueryCompleteness.forget(in: scope, in: transaction)
    let states = try PullState.all(in: transaction)
    for state in states where scope.contains(state.scope) {
      try PullState.reset(state.scope, isComplete: false, in: transaction)
    }
    if states.contains(where: { !scope.contains($0.scope) && $0.scope.overlaps(scope) }) {
      try Refetch.mark(container: scope.container, in: transaction)
    }
  }

  /// Makes the next sync request what was removed, or not deleted after all, since it is still on the server.
  func finish() throws {
    for (record, container) in unknown {
      try QueryCompleteness.forget(record.type, in: container ?? record.type, in: transaction)
      try Refetch.mark(record, in: container, in: transaction)
    }
  }
}

extension StoreMaintenance {
  /// The result of a purge.
  package struct Removal: Sendable, Hashable {
    /// The number of records removed.
    package var removed = 0
    /// Records left alone because they have pending work.
    package var kept: [RecordID] = []
  }
}
