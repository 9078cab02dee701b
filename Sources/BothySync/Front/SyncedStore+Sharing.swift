public import BothyStore

/// Letting others see records, and shutting them out again.
extension SyncedStore {
  /// Shares a record with principals and lists, by the save policy of `options`, else the configured one: durable
  /// here first and sent with the record's next operation, like any write. What it means on the server, the type's
  /// permissions say.
  ///
  /// Cost: as `save`. Throws `StoreError` `.notFound` where there is no such record here, `SyncError` `.notSynced`
  /// for a type that is not synced; under the network policies also what the server refuses.
  @discardableResult
  public func share(_ id: RecordID, with sharing: Sharing, options: RequestOptions = RequestOptions())
    async throws -> SaveReceipt
  {
    try await change(sharing: SharingChange(add: sharing), of: id, options: options)
  }

  /// The same for an entity; its id counts, and none of its fields is saved by this.
  @discardableResult
  public func share<E: Entity>(_ entity: E, with sharing: Sharing, options: RequestOptions = RequestOptions())
    async throws -> SaveReceipt
  {
    try await share(RecordID(type: E.typeName, id: entity.id), with: sharing, options: options)
  }

  /// Takes back what `share` gave; those who lose sight of the record lose their copy at their next sync. Costs and
  /// throws as `share`.
  @discardableResult
  public func unshare(_ id: RecordID, from sharing: Sharing, options: RequestOptions = RequestOptions())
    async throws -> SaveReceipt
  {
    try await change(sharing: SharingChange(remove: sharing), of: id, options: options)
  }

  /// The same for an entity.
  @discardableResult
  public func unshare<E: Entity>(
    _ entity: E, from sharing: Sharing, options: RequestOptions = RequestOptions()
  ) async throws -> SaveReceipt {
    try await unshare(RecordID(type: E.typeName, id: entity.id), from: sharing, options: options)
  }

  @discardableResult
  func change(sharing change: SharingChange, of id: RecordID, options: RequestOptions) async throws
    -> SaveReceipt
  {
    try await perform(.share(id, change, edited: clock.correctedNow()), options)
  }

  /// Whom a record is shared with: what the server last told, with what is pending here. Nobody for a record that
  /// is not here. Three look-ups.
  public func sharing(of id: RecordID) throws -> Sharing {
    try store.read { try Self.sharing(of: id, in: $0) }
  }

  static func sharing(of id: RecordID, in transaction: ReadTransaction) throws -> Sharing {
    guard let row = try transaction.row(transaction.catalog.table(id.type), id: id.id) else { return .nobody }
    // A row without a version is new here, whatever was known of an earlier one by its id.
    let known = try row.version == nil ? .nobody : KnownSharing.sharing(of: id, in: transaction)
    guard let first = try Outbox.entry(id, in: transaction) else { return known }
    let changes = first.isBeneath ? try [first] + Outbox.later(of: id, in: transaction) : [first]
    return changes.compactMap(\.sharing).reduce(known) { $1.applied(to: $0) }
  }
}
