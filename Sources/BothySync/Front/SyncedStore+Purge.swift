public import BothyStore

/// Removing records from this device without telling the server. What is pending stays and is listed, unless
/// `includingPending`; then its entries go too, and nothing of it is ever sent. The next sync brings back what the
/// server has.
extension SyncedStore {
  /// Removes one record. One that is not here is nothing to remove. One transaction.
  @discardableResult
  public func purge(_ id: RecordID, includingPending: Bool = false) throws -> PurgeResult {
    try purge([id], includingPending: includingPending)
  }

  /// Removes these records. One transaction.
  @discardableResult
  public func purge(_ ids: [RecordID], includingPending: Bool = false) throws -> PurgeResult {
    try purging { purge in
      for id in ids { try purge.remove(id, includingPending) }
    }
  }

  /// Removes the records with the ids of these values. One transaction.
  @discardableResult
  public func purge<E: Entity>(_ entities: [E], includingPending: Bool = false) throws -> PurgeResult {
    try purge(entities.map { RecordID(type: E.typeName, id: $0.id) }, includingPending: includingPending)
  }

  /// Removes every record of a type, and of no other. One transaction.
  @discardableResult
  public func purge(type: String, includingPending: Bool = false) throws -> PurgeResult {
    try purging { try $0.removeAll(of: $0.transaction.catalog.table(type), includingPending) }
  }

  /// Removes every synced record; with `includingPending` the log of past syncs and the journal go too. One transaction.
  @discardableResult
  public func purge(includingPending: Bool = false) throws -> PurgeResult {
    try purging { purge in
      for table in purge.transaction.catalog.tables where table.schema.isSynced {
        try purge.removeAll(of: table, includingPending)
      }
      for table in purge.transaction.catalog.tables where table.schema.isSynced && includingPending {
        // What was undone because it had been written together with one of a later type.
        try purge.removeAll(of: table, true)
      }
      try UnknownTypes.clear(.space, in: purge.transaction)
      guard includingPending else { return }
      try SyncLog.clear(in: purge.transaction)
      try Journal.clear(in: purge.transaction)
    }
  }

  /// Empties the local store of all synced records and of the log of past syncs, after a sync that is running. Throws
  /// `SyncError` `.pendingChanges`, with nothing changed, while anything is pending, unless `discardingPending`.
  public func reset(discardingPending: Bool = false) async throws {
    try await engine.gate.withGate {
      let count = try pendingCounts().total
      guard count == 0 || discardingPending else {
        throw SyncError(
          .pendingChanges,
          "\(count) changes are not on the server yet and would be lost. Sync first, or discard them on purpose."
        )
      }
      try purge(includingPending: true)
    }
  }

  private func purging(_ body: (inout Purge) throws -> Void) throws -> PurgeResult {
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
  var result = PurgeResult()
  private var forgotten = 0
  private var types: Set<String> = []

  init(transaction: WriteTransaction) { self.transaction = transaction }

  mutating func remove(_ id: RecordID, _ includingPending: Bool) throws {
    let table = try transaction.catalog.table(id.type)
    guard table.schema.isSynced else { return }
    try Journal.forgetContent(of: id, in: transaction)
    if try Outbox.mark(id, in: transaction) != nil {
      guard includingPending else { return result.kept.append(id) }
      try Outbox.forget(id, in: transaction)
      forgotten += 1
    }
    if try transaction.evict(table, id: id.id) { result.removed += 1 }
    types.insert(id.type)
  }

  mutating func removeAll(of table: TypeTable, _ includingPending: Bool) throws {
    let type = table.schema.name
    for id in try transaction.ids(RecordQuery(type)) {
      try remove(RecordID(type: type, id: id), includingPending)
    }
    // What is left are deletions, which have no row.
    for entry in try Outbox.entries(where: "type = ? AND kind = 2", [.text(type)], in: transaction) {
      try remove(entry.record, includingPending)
    }
    // What was undone because it had been written together with one of these.
    if includingPending {
      for id in try transaction.ids(RecordQuery(type)) { try remove(RecordID(type: type, id: id), true) }
    }
    types.insert(type)
  }

  /// What was removed, or not deleted after all, is still on the server: the next pull is whole.
  func finish() throws {
    for type in types { try Coverage.forget(type, in: transaction) }
    guard result.removed + forgotten > 0 else { return }
    try PullState.resetAll(in: transaction)
    for var state in try PullState.all(in: transaction) {
      state.isComplete = false
      try state.save(in: transaction)
    }
  }
}

/// What a purge did.
public struct PurgeResult: Sendable, Hashable {
  /// How many records went.
  public var removed = 0
  /// Records left alone because they have pending work.
  public var kept: [RecordID] = []
}
