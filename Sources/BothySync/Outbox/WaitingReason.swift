import BothyStore

/// The reason why the next sync may not send a pending entry, as far as the file shows. Doesn't consider the network.
package enum WaitingReason: Sendable, Hashable {
  /// The app holds it back as a draft.
  case draft
  /// The server rejected it as often as the policy allows, and it waits for a decision.
  case decision
  /// The server rejected it, and it is sent again from this time on, in milliseconds since 1970.
  case retry(at: Int64)
  /// The server rejected another record that was written together with it.
  case atomic(RecordID)
  /// It was sent, and the answer was lost. It is sent again under the same id.
  case answer
  /// The server lacks a record that it refers to, and that record can't be sent yet.
  case reference(RecordID)
  /// The number of blobs that it names and the server lacks. They are sent before it.
  case blobs(Int)
  /// Nothing blocks it.
  case nextSync

  /// The word for documents.
  package var name: String {
    switch self {
    case .draft: "draft"
    case .decision: "decision"
    case .retry: "retry"
    case .atomic: "together"
    case .answer: "answer"
    case .reference: "reference"
    case .blobs: "blobs"
    case .nextSync: "nextSync"
    }
  }

  /// True if it waits only for a successful sync.
  package var isForSync: Bool {
    switch self {
    case .nextSync, .answer, .blobs: true
    case .draft, .decision, .retry, .atomic, .reference: false
    }
  }

  /// The record that it waits for, or `nil`.
  package var record: RecordID? {
    switch self {
    case .atomic(let record), .reference(let record): record
    default: nil
    }
  }
}

extension SyncedStore {
  /// Returns the reason of each of these entries, on one snapshot. Costs a look-up for each record and blob that one
  /// names.
  package func waitingReasons(for entries: [Outbox.Entry]) throws -> [WaitingReason] {
    let now = clock.now()
    return try store.read { transaction in
      try entries.map { try Self.waitingReason($0, now: now, in: transaction) }
    }
  }

  private static func waitingReason(
    _ entry: Outbox.Entry, now: Int64, in transaction: ReadTransaction
  ) throws -> WaitingReason {
    switch entry.stage {
    case .held: return .draft
    case .quarantined: return .decision
    case .pending: break
    }
    if let other = try OutboxQueue.refusedMember(with: entry, in: transaction) {
      return .atomic(other.id)
    }
    if entry.retryAt > now { return .retry(at: entry.retryAt) }
    if entry.operationID != nil { return .answer }
    guard entry.change != .delete, let record = try transaction.record(entry.id) else { return .nextSync }
    let table = try transaction.catalog.table(entry.id.type)
    if let target = try unsent(record, table.schema, now: now, in: transaction) { return .reference(target) }
    guard !table.blobFields.isEmpty, let row = try transaction.row(table, id: record.id) else {
      return .nextSync
    }
    let changed = try PushBatchBuilder.changedFields(table.document(row), since: entry.base)
    let missing = try BlobNeed.missing(changed, table, now: now, in: transaction)
    return missing.isEmpty ? .nextSync : .blobs(missing.count)
  }

  /// Returns the first record that another refers to, that the server lacks and that isn't sent now.
  private static func unsent(
    _ record: AnyRecord, _ type: TypeSchema, now: Int64, in transaction: ReadTransaction
  ) throws -> RecordID? {
    for field in type.fields {
      for other in field.targets(of: record[field.name]) where other != record.recordID {
        guard let entry = try OutboxQueue.entry(other, in: transaction),
          entry.change == .insert, entry.stage != .pending || entry.retryAt > now
        else { continue }
        return other
      }
    }
    return nil
  }
}
