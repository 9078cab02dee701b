public import BothyStore
public import BothySync

/// The synced store as a storage: records by its policies, lists on the server.
extension SyncedStore: DataStorage {
  /// Writes the changes of the record in one transaction. Fields, container and audience make one entry of the outbox.
  @discardableResult
  public func persist(_ item: StoredItem) async throws -> StoredItem {
    let record = item.record
    if record.type == UserList.typeName {
      let list = try UserList(record)
      return try await (list.version == nil ? sharing.create(list) : sharing.update(list)).item
    }
    try await persist(record, item.sharing)
    return try stored(record.recordID)
  }

  /// Deletes by the configured write policy. A list is deleted on the server, and only if this device knows it.
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
  @discardableResult
  public func updateSharing(of id: RecordID, to sharing: Audience) async throws -> StoredItem {
    let change = try SharingChange(from: self.audience(of: id), to: sharing)
    try await self.change(sharing: change, of: id, options: RequestOptions())
    return try stored(id)
  }

  /// Creates the list on the server with `create`.
  @discardableResult
  public func save(_ list: UserList) async throws -> UserList { try await sharing.create(list) }

  /// Changes the list on the server with `update`.
  @discardableResult
  public func modify(_ list: UserList) async throws -> UserList { try await sharing.update(list) }

  /// Loads by the configured read policy. With a network policy the container is pulled first. An unreachable server
  /// is an error only under `.remote`.
  public func load(container: String) async throws -> [StoredItem] {
    switch readPolicy {
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

  /// Returns the user's own lists, by the configured read policy.
  public func loadLists() async throws -> [UserList] { try await sharing.lists() }

  // MARK: parts

  private func refresh(_ container: String) async throws {
    let policy = readPolicy
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
