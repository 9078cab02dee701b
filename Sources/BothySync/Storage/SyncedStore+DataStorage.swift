public import BothyStore

/// The synced store as a storage: records by its policies, lists on the server.
extension SyncedStore: DataStorage {
  /// One transaction, whatever is new of the record: fields, container and sharing make one entry of the outbox.
  @discardableResult
  public func persist(_ item: StoredItem) async throws -> StoredItem {
    let record = item.record
    if record.type == PrincipalList.typeName {
      let list = try PrincipalList(record)
      return try await (list.version == nil ? create(list) : update(list)).item
    }
    let options = RequestOptions()
    let change = LocalChange.persist(record, item.sharing, edited: clock.correctedNow())
    try await perform(change, options)
    return try stored(record.recordID)
  }

  /// Deletes by the configured save policy; a list on the server, and only one that is known here.
  public func remove(_ id: RecordID) async throws {
    if id.type == PrincipalList.typeName {
      if let list = try storedLists().first(where: { $0.id == id.id }) { try await delete(list) }
      return
    }
    do { try await delete(id, options: RequestOptions()) } catch let error as StoreError
      where error.code == .notFound
    {}  // it is not there, as asked
  }

  /// One transaction for the difference from what is known here; sent by the configured save policy.
  @discardableResult
  public func updateSharing(of id: RecordID, to sharing: Sharing) async throws -> StoredItem {
    let change = try SharingChange(from: self.sharing(of: id), to: sharing)
    try await self.change(sharing: change, of: id, options: RequestOptions())
    return try stored(id)
  }

  /// Makes the list on the server: `create`.
  @discardableResult
  public func save(_ list: PrincipalList) async throws -> PrincipalList { try await create(list) }

  /// Changes the list on the server: `update`.
  @discardableResult
  public func modify(_ list: PrincipalList) async throws -> PrincipalList { try await update(list) }

  /// By the configured fetch policy: with a network policy the container is pulled before, and an unreachable
  /// server is no error unless the policy is `.networkOnly`.
  public func load(container: String) async throws -> [StoredItem] {
    switch fetchPolicy {
    case .cacheOnly: break
    case .cacheThenRefresh: engine.ask()
    case .cacheElseNetwork:
      let items = try storedItems(in: container)
      if !items.isEmpty { return items }
      try await refresh(container)
    case .networkOnly, .networkElseCache, .syncThenCache: try await refresh(container)
    }
    return try storedItems(in: container)
  }

  /// One's own lists, by the configured fetch policy.
  public func loadLists() async throws -> [PrincipalList] { try await lists() }

  // MARK: parts

  private func refresh(_ container: String) async throws {
    let policy = fetchPolicy
    let report = await sync(policy == .syncThenCache ? .both : .pull, container: container, ifRunning: .join)
    guard let reason = report.skipped, policy != .syncThenCache else { return }
    let error = SyncError(reason)
    if policy == .networkElseCache && error.code == .unreachable { return }
    throw error
  }

  private func storedItems(in container: String) throws -> [StoredItem] {
    try store.read { try LocalStorage.items(in: container, $0) }
  }

  private func stored(_ id: RecordID) throws -> StoredItem {
    try store.read { try LocalStorage.item(id, $0) }
  }
}
