public import BothyStore
public import BothySync

/// The local store as a storage, which needs nothing outside of its file. Writes are pending, for a
/// `SyncedStore` that opens the file later. Lists stay here.
///
/// It makes no request. Calls may be made from any task.
public struct LocalStorage: DataStorage, SharingStorage {
  private let store: LocalStore
  private let clock = SyncClock()

  /// Opens or creates the file at `path`, or a database in memory for `nil`.
  ///
  /// Blocks the calling thread while the file is opened. Added types and fields need no migration; a change
  /// that needs one can't be made here.
  ///
  /// - Parameters:
  ///   - path: the file. A database in memory ends with the storage.
  ///   - schema: the types of the records.
  ///   - options: as for a `LocalStore`.
  /// - Throws: `BothyError` `.schemaMismatch` for a file that needs a migration, and `.newerFile` for one of a
  ///   newer version. Other codes are for a file that can't be opened. The file stays as it was.
  public init(at path: String?, schema: StoreSchema, options: StoreOptions = StoreOptions()) throws {
    store = try LocalStore.recording(at: path, schema: schema, options: options, clock: clock)
  }

  /// Closes the file, after the calls that are running. Later calls throw `BothyError` `database`.
  ///
  /// Blocks until then. A second call does nothing. Releasing the storage closes the file too.
  public func close() throws { try store.close() }

  /// Creates the record or changes it, in one transaction with its entry for a later sync. Lists are stored
  /// without a pending change.
  ///
  /// Returns the record as the file has it. A type that isn't synced has no entry.
  ///
  /// - Throws: `BothyError` `.invalidValue`, `unknownField` or `unknownType` for a record that doesn't fit the
  ///   schema. `notSynced` for an audience of a type that isn't synced. Nothing is written then.
  @discardableResult
  public func persist(_ item: StoredItem) async throws -> StoredItem {
    let record = item.record
    if record.type == UserList.typeName { return try await keep(UserList(record)).item }
    return try await persist(record, item.sharing)
  }

  func share(_ id: RecordID, with audience: Audience) async throws -> StoredItem {
    try await persist(AnyRecord(id.type, id: id.id), audience, mustExist: true)
  }

  private func persist(
    _ record: AnyRecord, _ sharing: Audience?, mustExist: Bool = false
  ) async throws -> StoredItem {
    let edited = clock.correctedNow()
    return try await store.write { transaction in
      if mustExist { _ = try Self.item(record.recordID, transaction) }
      try transaction.persist(record, sharing, edited: edited)
      try transaction.flush()
      return try Self.item(record.recordID, transaction)
    }
  }

  /// Deletes a record, if it exists, in one transaction. The deletion is pending if a server may have the
  /// record.
  ///
  /// References to the record follow their delete rules. Without a record nothing changes.
  ///
  /// - Throws: `BothyError` `.denied` if a delete rule forbids it, and `unknownType` for an undeclared type.
  public func remove(_ id: RecordID) async throws {
    try await store.write { transaction in
      if id.type == UserList.typeName { return try UnrecognizedRecords.remove(id, in: transaction) }
      try transaction.delete(id)
    }
  }

  /// Returns the records of a container and of those below it, by type and id. Reads every record of the
  /// synced types.
  ///
  /// All results are in memory, with one look-up of the audience each. Types that aren't synced are left out.
  ///
  /// - Throws: `BothyError` for a file that can't be read or is closed.
  public func load(container: String) async throws -> [StoredItem] {
    try await store.read { try Self.items(in: container, $0) }
  }

  /// Returns the lists that the file has, by name. One scan of them.
  ///
  /// These are the lists that were persisted here, and those that a `SyncedStore` on the file has loaded.
  ///
  /// - Throws: `BothyError` for a file that can't be read or is closed.
  public func loadLists() async throws -> [UserList] {
    try await store.read { transaction in
      try UnrecognizedRecords.records(of: UserList.typeName, in: transaction).map {
        try UserList($0)
      }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    }
  }

  private func keep(_ list: UserList) async throws -> UserList {
    let record = ServerRecord(
      id: list.recordID, version: list.version ?? "0", modified: clock.correctedNow(),
      fields: FieldsDocument(list.fields))
    try await store.write { try UnrecognizedRecords.keep(record, in: $0) }
    var kept = list
    kept.version = record.version
    return kept
  }

  // MARK: shared with the synced store

  static func item(_ id: RecordID, _ transaction: ReadTransaction) throws -> StoredItem {
    guard let record = try transaction.record(id) else { throw BothyError(missing: id) }
    return StoredItem(record, sharing: try SyncedStore.audience(of: id, in: transaction))
  }

  static func items(in container: String, _ transaction: ReadTransaction) throws -> [StoredItem] {
    let scope = SyncScope(container: container, includesChildren: true)
    var items: [StoredItem] = []
    for table in transaction.catalog.tables where table.schema.isSynced {
      let query = AnyQuery(table.schema.name, order: [SortKey("id")])
      for record in try transaction.fetch(query) where scope.contains(record.container) {
        items.append(
          StoredItem(record, sharing: try SyncedStore.audience(of: record.recordID, in: transaction)))
      }
    }
    return items.sorted { ($0.record.type, $0.record.id) < ($1.record.type, $1.record.id) }
  }
}
