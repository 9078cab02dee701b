import BothyStore

/// Why the next sync may not send a pending entry, as far as the file says. Knows nothing of the network.
package enum WaitingReason: Sendable, Hashable {
  /// The app holds it back.
  case draft
  /// Refused as often as is allowed: it waits for a decision.
  case decision
  /// Refused, and tried again from then on, in milliseconds since 1970.
  case retry(at: Int64)
  /// Another record that was written together with it is refused.
  case together(RecordID)
  /// It was sent, and the answer was lost: it is sent again under the same id.
  case answer
  /// The server lacks a record that it refers to, and that one waits for something else.
  case reference(RecordID)
  /// So many blobs that it names are not on the server yet; they go before it.
  case blobs(Int)
  /// Nothing stands against it.
  case nextSync

  /// The word for documents.
  package var name: String {
    switch self {
    case .draft: "draft"
    case .decision: "decision"
    case .retry: "retry"
    case .together: "together"
    case .answer: "answer"
    case .reference: "reference"
    case .blobs: "blobs"
    case .nextSync: "nextSync"
    }
  }

  /// Whether a sync that ends well is all that it waits for.
  package var isForSync: Bool {
    switch self {
    case .nextSync, .answer, .blobs: true
    case .draft, .decision, .retry, .together, .reference: false
    }
  }

  /// The record that is waited for.
  package var record: RecordID? {
    switch self {
    case .together(let record), .reference(let record): record
    default: nil
    }
  }
}

extension SyncedStore {
  /// Why each of these entries waits, on one snapshot: a look-up for each record and blob that one names.
  package func waitingReasons(for entries: [OutboxEntry]) throws -> [WaitingReason] {
    let now = clock.now()
    return try store.read { transaction in
      try entries.map { try Self.waitingReason($0, now: now, in: transaction) }
    }
  }

  private static func waitingReason(
    _ entry: OutboxEntry, now: Int64, in transaction: ReadTransaction
  ) throws -> WaitingReason {
    switch entry.state {
    case .held: return .draft
    case .quarantined: return .decision
    case .pending: break
    }
    if let other = try Outbox.refusedMember(with: entry, in: transaction) { return .together(other.record) }
    if entry.retryAt > now { return .retry(at: entry.retryAt) }
    if entry.operationID != nil { return .answer }
    guard entry.kind != .delete, let record = try transaction.record(entry.record) else { return .nextSync }
    let table = try transaction.catalog.table(entry.record.type)
    if let target = try unsent(record, table.schema, now: now, in: transaction) { return .reference(target) }
    guard !table.blobFields.isEmpty, let row = try transaction.row(table, id: record.id) else {
      return .nextSync
    }
    let missing = try BlobNeed.missing(table.document(row).members(), table, now: now, in: transaction)
    return missing.isEmpty ? .nextSync : .blobs(missing.count)
  }

  /// The first record that another refers to, that the server does not have and that is not sent now.
  private static func unsent(
    _ record: AnyRecord, _ type: TypeSchema, now: Int64, in transaction: ReadTransaction
  ) throws -> RecordID? {
    for field in type.fields {
      guard let target = field.kind.target?.type else { continue }
      for id in record[field.name].referencedIDs {
        let other = RecordID(type: target, id: id)
        guard other != record.recordID, let entry = try Outbox.entry(other, in: transaction),
          entry.kind == .insert, entry.state != .pending || entry.retryAt > now
        else { continue }
        return other
      }
    }
    return nil
  }
}

extension FieldValue {
  /// The ids of the records that a reference or a list of them names.
  fileprivate var referencedIDs: [String] {
    switch self {
    case .text(let id): [id]
    case .list(let ids): ids
    default: []
    }
  }
}
