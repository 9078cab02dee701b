import BothyStore

/// Lists of principals: they live on the server. What it last told of one's own lists is readable here; changes go
/// straight to it and are never queued.
extension SyncedStore {
  /// One's own lists by name, by the fetch policy of `options`, else the configured one.
  ///
  /// Cost: a scan of the lists that are here; with a network policy one round trip before. Throws `SyncError`
  /// `.unreachable` where the policy needs the server.
  public func lists(options: RequestOptions = RequestOptions()) async throws -> [PrincipalList] {
    switch options.fetchPolicy ?? fetchPolicy {
    case .cacheOnly: return try storedLists()
    case .cacheElseNetwork:
      let stored = try storedLists()
      return stored.isEmpty ? try await fetchLists(options) : stored
    case .networkOnly: return try await fetchLists(options)
    case .networkElseCache:
      do { return try await fetchLists(options) } catch let error as SyncError
        where error.code == .unreachable
      {
        return try storedLists()
      }
    case .syncThenCache:
      _ = await sync(container: nil, within: configuration.readTimeout)
      return try storedLists()
    case .cacheThenRefresh:
      engine.ask()
      return try storedLists()
    }
  }

  /// Makes a list on the server, and keeps it here when it has answered. One round trip.
  ///
  /// Throws `SyncError`: `.requiresNetwork` without an answer, `.rejected` for what the server refuses. Nothing is
  /// queued or changed here then.
  @discardableResult
  public func create(_ list: PrincipalList) async throws -> PrincipalList {
    try await send(.insert, list)
  }

  /// Changes a list that was loaded before: its name and members become what is given. One round trip; throws as
  /// `create`, and `.conflict` when the list was changed since it was loaded: load and try again.
  @discardableResult
  public func update(_ list: PrincipalList) async throws -> PrincipalList {
    try await send(.update, list)
  }

  /// Deletes a list: nobody sees by it any more what is shared with it. One round trip; throws as `update`.
  public func delete(_ list: PrincipalList) async throws { try await send(.delete, list) }

  // MARK: parts

  func storedLists() throws -> [PrincipalList] {
    try store.read { transaction in
      try UnknownTypes.records(of: PrincipalList.typeName, in: transaction).map(PrincipalList.init).sorted {
        ($0.name, $0.id) < ($1.name, $1.id)
      }
    }
  }

  private func fetchLists(_ options: RequestOptions) async throws -> [PrincipalList] {
    let found: [ServerRecord]
    do { found = try await remote.query(AnyQuery(PrincipalList.typeName)) } catch {
      throw SyncError(error)
    }
    let lists = try found.map(PrincipalList.init).sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    guard options.cacheResults ?? true else { return lists }
    return try await store.write(origin: .remote) { transaction in
      try UnknownTypes.replace(PrincipalList.typeName, by: found, in: transaction)
      return lists
    }
  }

  @discardableResult
  private func send(_ kind: SyncOperation.Kind, _ list: PrincipalList) async throws -> PrincipalList {
    let operation = SyncOperation(
      id: configuration.makeOperationID(), kind: kind, record: list.recordID,
      base: kind == .insert ? nil : list.version, fields: kind == .delete ? [:] : list.fields)
    let version: String
    do {
      version = try await engine.exclusively { try await accepted(operation) }
    } catch let error as RemoteError where error.errorClass == .unreachable {
      throw SyncError(
        .requiresNetwork, "Lists are kept on the server, and it can't be reached. Nothing was changed.",
        record: list.recordID, underlying: error)
    } catch let error as RemoteError { throw SyncError(error) }
    var stored = list
    stored.version = version
    let record = ServerRecord(
      id: list.recordID, version: version, modified: clock.correctedNow(), isDeleted: kind == .delete,
      fields: kind == .delete ? .empty : FieldsDocument(list.fields))
    try await store.write(origin: .remote) { try UnknownTypes.keep(record, in: $0) }
    return stored
  }

  /// The version that the server gave. A request whose answer was lost is not in doubt for long: made again under
  /// another id, it is a conflict that shows what the server has.
  private func accepted(_ operation: SyncOperation) async throws -> String {
    let request = SyncRequest(
      device: device, schemaVersion: store.schema.version, operations: [operation],
      principal: owner?.principal)
    let response = try await remote.exchange(request)
    switch response.outcomes.first?.verdict {
    case .applied(let version, _, _), .duplicate(let version, _, _): return version
    case .rejected(let rejection):
      throw SyncError(.rejected, rejection.message, record: operation.record, rejection: rejection)
    case .conflict(let current):
      if operation.kind == .delete, current?.isDeleted ?? true { return current?.version ?? "" }
      if let current, !current.isDeleted, current.fields == FieldsDocument(operation.fields) {
        return current.version
      }
      throw SyncError(
        .conflict, "The list was changed or made meanwhile. Load the lists and try again.",
        record: operation.record)
    case .waiting, nil:
      throw SyncError(
        .protocolViolation, "The server did not answer the operation.", record: operation.record)
    }
  }
}
