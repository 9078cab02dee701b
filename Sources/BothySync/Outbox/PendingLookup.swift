import BothyStore

/// Looks up the pending entry of a record during one transaction. Costs nothing if nothing is pending.
struct PendingLookup {
  let isEmpty: Bool
  let transaction: ReadTransaction

  func callAsFunction(_ id: RecordID) throws -> Outbox.Entry? {
    isEmpty ? nil : try OutboxQueue.entry(id, in: transaction)
  }
}
