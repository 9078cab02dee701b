public import BothyStore

/// Who can see a record: `store.sharing`.
///
/// ```swift
/// try await store.sharing.share(trip, with: .users("ann", "ben"))
/// try await store.sharing.unshare(trip, from: .users("ben"))
/// print(try await store.sharing.audience(of: trip).users)
/// ```
public struct SharingControl: Sendable {
  let synced: SyncedStore

  /// Adds users and lists to the audience of a record. The change is durable here and sent like any write, by the write
  /// policy. The type's permissions say what the audience may do.
  ///
  /// Costs as much as `save`. Throws `BothyError` `.notFound` if the record isn't on this device, and `BothyError`
  /// `notSynced` for a type that isn't synced. Under the policies that send first, also throws the server's rejection.
  @discardableResult
  public func share(_ id: RecordID, with sharing: Audience) async throws -> SaveReceipt<AnyRecord> {
    try await share(id, with: sharing, options: RequestOptions())
  }

  /// Like `share(_:with:)`, but with options of the call.
  @discardableResult
  package func share(
    _ id: RecordID, with sharing: Audience, options: RequestOptions
  ) async throws -> SaveReceipt<AnyRecord> {
    try await synced.change(sharing: SharingChange(add: sharing), of: id, options: options)
  }

  /// Adds users and lists to the audience of a value's record. Saves none of the value's fields.
  @discardableResult
  public func share<E: Entity>(_ entity: E, with sharing: Audience) async throws -> SaveReceipt<E> {
    try await share(RecordID(entity), with: sharing).typed(E.self)
  }

  /// Removes users and lists from the audience of a record. Their devices delete their copies at their next sync. Costs
  /// and throws like `share`.
  @discardableResult
  public func unshare(_ id: RecordID, from sharing: Audience) async throws -> SaveReceipt<AnyRecord> {
    try await unshare(id, from: sharing, options: RequestOptions())
  }

  /// Like `unshare(_:from:)`, but with options of the call.
  @discardableResult
  package func unshare(
    _ id: RecordID, from sharing: Audience, options: RequestOptions
  ) async throws -> SaveReceipt<AnyRecord> {
    try await synced.change(sharing: SharingChange(remove: sharing), of: id, options: options)
  }

  /// Removes users and lists from the audience of a value's record. Costs and throws like `share`.
  @discardableResult
  public func unshare<E: Entity>(_ entity: E, from sharing: Audience) async throws -> SaveReceipt<E> {
    try await unshare(RecordID(entity), from: sharing).typed(E.self)
  }

  /// Returns the audience of a record: the server's, with the pending changes. `.nobody` for a record that isn't on this
  /// device. Three look-ups.
  public func audience(of record: RecordID) async throws -> Audience {
    try await synced.store.read { try SyncedStore.audience(of: record, in: $0) }
  }

  /// Returns the audience of a value's record. Three look-ups.
  public func audience<E: Entity>(of value: E) async throws -> Audience {
    try await audience(of: RecordID(value))
  }
}

extension SyncedStore {
  /// Who can see a record, and lists of users.
  public var sharing: SharingControl { SharingControl(synced: self) }

  @discardableResult
  package func change(sharing change: SharingChange, of id: RecordID, options: RequestOptions) async throws
    -> SaveReceipt<AnyRecord>
  {
    try await perform(.share(id, change, edited: clock.correctedNow()), options)
  }

  /// The blocking form of `SharingControl.audience(of:)`.
  package func audience(of id: RecordID) throws -> Audience {
    try store.read { try Self.audience(of: id, in: $0) }
  }

  package static func audience(of id: RecordID, in transaction: ReadTransaction) throws -> Audience {
    guard let row = try transaction.row(transaction.catalog.table(id.type), id: id.id) else { return .nobody }
    // A row without a version is new here, whatever was known of an earlier one by its id.
    let known = try row.version == nil ? .nobody : AudienceTable.sharing(of: id, in: transaction)
    return try OutboxQueue.changes(of: id, in: transaction).compactMap(\.sharing)
      .reduce(known) { $1.applied(to: $0) }
  }
}
