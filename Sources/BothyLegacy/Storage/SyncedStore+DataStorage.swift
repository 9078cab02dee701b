public import BothyStore
public import BothySync

/// The synced store as a storage: records by its policies, lists on the server.
extension SyncedStore: DataStorage {
  /// Writes the changes of the record in one transaction. Fields, container and audience make one entry of
  /// the outbox.
  ///
  /// The entry is sent by the configured write policy. Returns the record as the file has it then, by one
  /// more read. A list is sent to the server at once: one without a version is created, another one is
  /// updated. Under `.remote` the file doesn't have the change before the next sync, and the result is the
  /// server's record.
  ///
  /// - Throws: `BothyError` for a record that doesn't fit the schema, and the server's rejection under a
  ///   policy that sends first. `.requiresNetwork` for a list without an answer.
  @discardableResult
  public func persist(_ item: StoredItem) async throws -> StoredItem {
    let record = item.record
    if record.type == UserList.typeName {
      let list = try UserList(record)
      return try await (list.version == nil ? sharing.create(list) : sharing.update(list)).item
    }
    let receipt = try await persist(record, item.sharing)
    if let (record, sharing) = receipt.made { return StoredItem(record, sharing: sharing) }
    return try stored(record.recordID)
  }

  /// Deletes by the configured write policy. A list is deleted on the server, and only if this device knows
  /// it.
  ///
  /// A record that doesn't exist counts as deleted. Under a policy that writes here first, one that this
  /// device doesn't have stays on the server; `deleteAnywhere(_:)` deletes it there.
  ///
  /// - Throws: `BothyError`, such as `.denied` by a delete rule and `.requiresNetwork` for a list without an
  ///   answer.
  public func remove(_ id: RecordID) async throws {
    if id.type == UserList.typeName {
      if let list = try storedLists().first(where: { $0.id == id.id }) { try await sharing.delete(list) }
      return
    }
    do { try await delete(id, options: RequestOptions()) } catch let error as BothyError
      where error.code == .notFound
    {}  // it doesn't exist, as requested
  }

  /// Writes the difference from the known audience in one transaction, sent by the configured write policy.
  ///
  /// The known audience is the server's as last pulled, with pending changes. Users and lists that others
  /// have added since then stay. The audience is read on the calling thread.
  ///
  /// - Throws: `BothyError` `.notFound` for a record that isn't on this device, and `notSynced` for a type
  ///   that isn't synced. Under a policy that sends first, also the server's rejection.
  @discardableResult
  public func updateSharing(of id: RecordID, to sharing: Audience) async throws -> StoredItem {
    let change = try SharingChange(from: self.audience(of: id), to: sharing)
    try await self.change(sharing: change, of: id, options: RequestOptions())
    return try stored(id)
  }

  /// Creates the list on the server with `create`. One round trip, after a running sync.
  ///
  /// Returns the list with the server's version, which `modify` needs. Nothing is queued.
  ///
  /// - Throws: `BothyError` `.requiresNetwork` without an answer, and `.rejected` if the server rejects it.
  @discardableResult
  public func save(_ list: UserList) async throws -> UserList { try await sharing.create(list) }

  /// Changes the list on the server with `update`. One round trip, after a running sync.
  ///
  /// Returns the list with its new version. Nothing is queued.
  ///
  /// - Throws: `BothyError` like `save`, and `.conflict` if the list was changed since it was loaded. Load it
  ///   again then.
  @discardableResult
  public func modify(_ list: UserList) async throws -> UserList { try await sharing.update(list) }

  /// Loads by the configured read policy, by type and id. With a network policy the container is pulled
  /// first.
  ///
  /// Under `.localElseRemote` it is pulled only if nothing of it is here, and `.syncThenLocal` syncs both
  /// ways. Reads every record of the synced types. All results are in memory, with pending changes. Lists
  /// aren't among them.
  ///
  /// - Throws: `BothyError` of the pull, such as `.unreachable`, under `.remote` and `.localElseRemote`.
  ///   Under `.remoteElseLocal` all but `.unreachable` are thrown, and under `.syncThenLocal` none of the
  ///   sync.
  public func load(container: String) async throws -> [StoredItem] {
    switch options.readPolicy {
    case .local: break
    case .localThenRemote: requestSync()
    case .localElseRemote:
      let items = try storedItems(in: container)
      if !items.isEmpty { return items }
      try await refresh(container)
    case .remote, .remoteElseLocal, .syncThenLocal: try await refresh(container)
    }
    return try storedItems(in: container)
  }

  /// Returns the user's own lists by name, by the configured read policy. Empty without any.
  ///
  /// Scans the lists of the file, after one round trip under a policy that uses the server. Under `.local`
  /// these are the lists that earlier calls and syncs have brought.
  ///
  /// - Throws: `BothyError` `.unreachable` if the policy needs the server.
  public func loadLists() async throws -> [UserList] { try await sharing.lists() }

  // MARK: parts

  private func refresh(_ container: String) async throws {
    let policy = options.readPolicy
    let report = await sync(policy == .syncThenLocal ? .both : .pull, container: container, ifRunning: .join)
    guard let reason = report.stop, policy != .syncThenLocal else { return }
    let error = BothyError(reason)
    if policy == .remoteElseLocal && error.code == .unreachable { return }
    throw error
  }

  private func storedItems(in container: String) throws -> [StoredItem] {
    try store.read { try LocalStorage.items(in: container, $0) }
  }

  private func stored(_ id: RecordID) throws -> StoredItem {
    try store.read { try LocalStorage.item(id, $0) }
  }
}
