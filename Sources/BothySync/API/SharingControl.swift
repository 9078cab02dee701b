public import BothyStore

/// Who can see a record: `store.sharing`.
///
/// Changes of audiences are pending writes like others. Lists are changed on the server at once, so they need a
/// network.
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
  package func share(
    _ id: RecordID, with sharing: Audience, options: RequestOptions = RequestOptions()
  ) async throws -> SaveReceipt<AnyRecord> {
    try await synced.change(sharing: SharingChange(add: sharing), of: id, options: options)
  }

  /// Adds users and lists to the audience of a value's record. Saves none of the value's fields.
  ///
  /// Durable here in one transaction, and sent by the write policy in force. Users who are in it already stay
  /// in it. Names aren't checked here.
  ///
  /// - Throws: `BothyError` `.notFound` if the record isn't on this device, and `notSynced` for a type that
  ///   isn't synced. Under a policy that sends first, also the server's rejection.
  @discardableResult
  public func share<E: Entity>(_ entity: E, with sharing: Audience) async throws -> SaveReceipt<E> {
    try await share(RecordID(entity), with: sharing).typed(E.self)
  }

  /// Removes users and lists from the audience of a record. Their devices delete their copies at their next sync. Costs
  /// and throws like `share`.
  @discardableResult
  package func unshare(
    _ id: RecordID, from sharing: Audience, options: RequestOptions = RequestOptions()
  ) async throws -> SaveReceipt<AnyRecord> {
    try await synced.change(sharing: SharingChange(remove: sharing), of: id, options: options)
  }

  /// Removes users and lists from the audience of a value's record. Costs and throws like `share`.
  ///
  /// Devices of removed users delete their copies at their next sync. A user who is also a member of a list in
  /// the audience still sees the record.
  @discardableResult
  public func unshare<E: Entity>(_ entity: E, from sharing: Audience) async throws -> SaveReceipt<E> {
    try await unshare(RecordID(entity), from: sharing).typed(E.self)
  }

  /// Returns the audience of a record: the server's, with the pending changes. Returns `.nobody` for a record that
  /// isn't on this device. Three look-ups.
  package func audience(of record: RecordID) async throws -> Audience {
    try await synced.store.read { try SyncedStore.audience(of: record, in: $0) }
  }

  /// Returns the audience of a value's record: the server's, with the pending changes. Three look-ups, and no
  /// request.
  ///
  /// Returns `.nobody` for a record that isn't on this device.
  public func audience<E: Entity>(of value: E) async throws -> Audience {
    try await audience(of: RecordID(value))
  }
}

extension SyncedStore {
  /// The audiences of records, and the lists of users. Making it reads nothing.
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

/// Lists of users, which the server stores. This device keeps a copy of one's own lists. Changes are sent at once and never
/// queued.
extension SharingControl {
  /// Returns one's own lists by name, by the read policy. Empty without any.
  ///
  /// ```swift
  /// for list in try await store.sharing.lists() { show("\(list.name): \(list.members.count) members") }
  /// ```
  ///
  /// Scans the local lists, after one round trip under a policy that uses the server. Throws `BothyError`
  /// `.unreachable` if the policy needs the server.
  public func lists() async throws -> [UserList] { try await lists(options: RequestOptions()) }

  /// Like `lists()`, but with options of the call.
  package func lists(options: RequestOptions) async throws -> [UserList] {
    switch options.readPolicy ?? synced.options.readPolicy {
    case .local: return try synced.storedLists()
    case .localElseRemote:
      let stored = try synced.storedLists()
      return stored.isEmpty ? try await fetchLists(options) : stored
    case .remote: return try await fetchLists(options)
    case .remoteElseLocal:
      do { return try await fetchLists(options) } catch let error as BothyError
        where error.code == .unreachable
      {
        return try synced.storedLists()
      }
    case .syncThenLocal:
      _ = await synced.sync(container: nil, within: synced.configuration.readTimeout)
      return try synced.storedLists()
    case .localThenRemote:
      synced.engine.request()
      return try synced.storedLists()
    }
  }

  /// Creates a list on the server, then stores it here. One round trip, after a running sync.
  ///
  /// Returns the list with the server's version, which `update` needs. A repetition after a lost answer makes
  /// no second list.
  ///
  /// - Throws: `BothyError` `.requiresNetwork` without an answer, and `.rejected` if the server rejects it.
  ///   Then nothing is queued or changed here.
  @discardableResult
  public func create(_ list: UserList) async throws -> UserList {
    try await send(.insert, list)
  }

  /// Replaces the name and members of a list that was loaded before. One round trip, after a running sync.
  ///
  /// Returns the list with its new version, for the next update.
  ///
  /// - Throws: Like `create`, and `.conflict` if the list was changed since it was loaded. Load it again then.
  @discardableResult
  public func update(_ list: UserList) async throws -> UserList {
    try await send(.update, list)
  }

  /// Deletes a list. Its members no longer see the records shared with it. One round trip, after a running
  /// sync.
  ///
  /// A list that was deleted before counts as deleted. Throws like `update`.
  public func delete(_ list: UserList) async throws { try await send(.delete, list) }

  /// Returns the lists that name this user, by id, each with the user who made it. One round trip.
  ///
  /// Only the owner of a list learns its name and its other members. A list that names a group of the user isn't among
  /// them. Returns a thousand at most; those that are left make room for others.
  ///
  /// ```swift
  /// for (list, owner) in try await store.sharing.joinedLists() where owner == "mallory" {
  ///   try await store.sharing.leave(list)
  /// }
  /// ```
  ///
  /// - Throws: `BothyError` `.unreachable` without an answer.
  public func joinedLists() async throws -> [(list: String, owner: String?)] {
    do { return try await synced.remote.joinedLists().map { ($0.id, $0.owner) } } catch {
      throw BothyError(error)
    }
  }

  /// Takes this user out of a list of any owner. One round trip, after a running sync.
  ///
  /// Records that the user saw by the list alone leave this device with the next sync, as if the owner had removed it. A
  /// list that doesn't name the user counts as left. Its owner may name the user again. To leave the audience of one
  /// record, `unshare` it from this user.
  ///
  /// - Parameter list: The id of the list, from `joinedLists()` or from the audience of a record.
  /// - Throws: `BothyError` `.requiresNetwork` without an answer, and before the first sync, which tells the user's name.
  ///   `.rejected` if a rule of the server refuses it.
  public func leave(_ list: String) async throws {
    guard let user = try await user() else {
      throw BothyError(
        .requiresNetwork, "The server hasn't told whose file this is. Sync once, then leave the list.",
        record: UserList.recordID(list))
    }
    let operation = SyncOperation(
      id: synced.configuration.makeOperationID(), kind: .update, record: UserList.recordID(list),
      sharing: SharingChange(remove: .users(user)))
    let reply = try await answered(about: operation.record) {
      try await synced.engine.runner.reply(to: operation)
    }
    // The list is on this device too if it is the user's own.
    if case .made(_, _, let own?) = reply {
      try await synced.store.write(origin: .remote) { try UnrecognizedRecords.keep(own, in: $0) }
    }
    synced.engine.request()
  }

  // MARK: parts

  private func user() async throws -> String? {
    if let owner = synced.engine.runner.owner { return owner.user }
    return try await synced.store.read { try ServerBinding.load(in: $0).owner?.user }
  }

  private func fetchLists(_ options: RequestOptions) async throws -> [UserList] {
    let type = UserList.typeName
    // Syncs and changes of lists may bring others while the answer is on its way.
    let former = try await synced.store.read { try UnrecognizedRecords.records(of: type, in: $0) }
    let found: [ServerRecord]
    do { found = try await synced.remote.all(AnyQuery(type)) } catch { throw BothyError(error) }
    let lists = try found.map(UserList.init).sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    guard options.cacheResults ?? true else { return lists }
    try await synced.store.write(origin: .remote) {
      try UnrecognizedRecords.replace(type, by: found, since: former, in: $0)
    }
    return try synced.storedLists()
  }

  @discardableResult
  private func send(_ kind: ChangeKind, _ list: UserList) async throws -> UserList {
    let operation = SyncOperation(
      id: synced.configuration.makeOperationID(), kind: kind, record: list.recordID,
      base: kind == .insert ? nil : list.version, fields: kind == .delete ? [:] : list.fields)
    let version = try await answered(about: list.recordID) { try await accepted(operation) }
    var stored = list
    stored.version = version
    let record = ServerRecord(
      id: list.recordID, version: version, modified: synced.clock.correctedNow(), isDeleted: kind == .delete,
      fields: kind == .delete ? .empty : FieldsDocument(list.fields))
    try await synced.store.write(origin: .remote) { try UnrecognizedRecords.keep(record, in: $0) }
    return stored
  }

  /// Sends a change of a list, after a running sync. Throws `BothyError`, and `.requiresNetwork` without an answer.
  private func answered<Answer: Sendable>(
    about list: RecordID, _ send: () async throws -> Answer
  ) async throws -> Answer {
    do { return try await synced.engine.exclusively(send) } catch let error as RemoteError
      where error.errorClass == .unreachable
    {
      throw BothyError(
        .requiresNetwork, "Lists are kept on the server, and it can't be reached. Nothing was changed.",
        record: list, underlying: error)
    } catch let error as RemoteError { throw BothyError(error) }
  }

  /// Returns the server's version. A request whose answer was lost is repeated under another id and ends as a conflict,
  /// which shows the server's record.
  private func accepted(_ operation: SyncOperation) async throws -> String {
    switch try await synced.engine.runner.reply(to: operation) {
    case .made(let version, _, _): return version
    case .conflict(let current):
      if operation.kind == .delete, current?.isDeleted ?? true { return current?.version ?? "" }
      if let current, !current.isDeleted, current.fields == FieldsDocument(operation.fields) {
        return current.version
      }
      throw BothyError(
        .conflict, "The list was changed or made meanwhile. Load the lists and try again.",
        record: operation.record)
    }
  }
}

extension SyncedStore {
  /// Returns the lists that the file has. One scan of them.
  package func storedLists() throws -> [UserList] {
    try store.read { transaction in
      try UnrecognizedRecords.records(of: UserList.typeName, in: transaction).map(UserList.init).sorted {
        ($0.name, $0.id) < ($1.name, $1.id)
      }
    }
  }
}
