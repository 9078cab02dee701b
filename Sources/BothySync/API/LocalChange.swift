import BothyStore

/// One change that the app requests.
enum LocalChange: Sendable {
  /// A record that is there already is moved to the container, if one is given.
  case save(AnyRecord, in: String?)
  case move(RecordID, to: String)
  case delete(RecordID)
  case share(RecordID, SharingChange, edited: Int64)
  /// A record with its audience, unless that is nil and stays as it is.
  case persist(AnyRecord, Audience?, edited: Int64)

  var id: RecordID {
    switch self {
    case .save(let record, _): record.recordID
    case .persist(let record, _, _): record.recordID
    case .delete(let id), .move(let id, _), .share(let id, _, _): id
    }
  }

  /// This change, of a value without a mark: it replaces what the store has now, and nothing that comes before it is
  /// saved.
  var readNow: LocalChange {
    guard var record = saved, record.origin.mark.number == ReadMark.whole.number else { return self }
    record.origin.mark = ReadMark()
    switch self {
    case .save(_, let container): return .save(record, in: container)
    case .persist(_, let sharing, let edited): return .persist(record, sharing, edited: edited)
    case .move, .delete, .share: return self
    }
  }

  func apply(in transaction: WriteTransaction) throws {
    switch self {
    case .save(let record, let container): try transaction.save(record, in: container)
    case .move(let id, let container): try transaction.move(id, to: container)
    case .delete(let id): try transaction.delete(id)
    case .share(let id, let change, let edited):
      try OutboxQueue.share(id, change, edited: edited, in: transaction)
    case .persist(let record, let sharing, let edited):
      try LocalChange.save(record, in: record.container == record.type ? nil : record.container).apply(
        in: transaction)
      guard let sharing else { return }
      try transaction.flush()
      let change = SharingChange(
        from: try SyncedStore.audience(of: record.recordID, in: transaction), to: sharing)
      try OutboxQueue.share(record.recordID, change, edited: edited, in: transaction)
    }
  }
}
