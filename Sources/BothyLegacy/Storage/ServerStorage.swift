public import BothyStore
public import BothySync

/// A server as a storage. Every operation is one or more round trips, and nothing is stored on the device.
///
/// Throws `RemoteError` for a request without an answer or that is refused as a whole, and `BothyError` if
/// the server rejects a change. After a lost answer the server may have made the change; calling again is
/// safe. Calls may be made from any task and run side by side. A remote of an app's own answers no queries,
/// so only `load` works with it.
public struct ServerStorage: DataStorage, SharingStorage {
  private let remote: any RemoteStorage
  private let schema: StoreSchema
  /// The device's name in operations. It leaves nothing unfinished, so any name works.
  private let device: String

  /// Makes a storage, without a request.
  ///
  /// - Parameters:
  ///   - remote: the server, with the token of the user.
  ///   - schema: the types of the fields in answers. Fields that it doesn't declare are left out.
  ///   - device: the id under which the server notes the operations; any text, by default a new one.
  public init(_ remote: any RemoteStorage, schema: StoreSchema, device: String = UUIDv7.make()) {
    self.remote = NamingRemote(remote, schema)
    self.schema = schema
    self.device = device
  }

  /// Reads the record, then creates it or sets the given fields. Repeats this when others changed the record
  /// meanwhile, five times at most.
  ///
  /// Of an item that this storage has returned, what was changed since is sent: fields, container and audience.
  /// Later changes of others to the rest stay. Makes two round trips and one to read the result, and two more
  /// for each repetition. Without a change it makes one. The result has the fields that the schema declares.
  ///
  /// - Throws: `BothyError` `.rejected` with the server's rejection, or `.conflict` if others changed the
  ///   record each time. `unknownType`, without a request, for a type that the schema doesn't declare.
  ///   `RemoteError` without an answer.
  @discardableResult
  public func persist(_ item: StoredItem) async throws -> StoredItem {
    try await persist(item, mustExist: false)
  }

  func share(_ id: RecordID, with audience: Audience) async throws -> StoredItem {
    try await persist(StoredItem(AnyRecord(id.type, id: id.id), sharing: audience), mustExist: true)
  }

  private func persist(_ item: StoredItem, mustExist: Bool) async throws -> StoredItem {
    let id = item.record.recordID
    _ = try declared(id.type)
    for _ in 0..<5 {
      let current = try await record(id)
      if mustExist, current == nil { throw BothyError(missing: id) }
      let operation = operation(for: item, current)
      if let current, operation.fields.isEmpty, operation.sharing == nil, operation.container == nil {
        return try self.item(current)
      }
      guard try await send(operation) else { continue }
      guard let now = try await record(id) else { throw Self.gone(id) }
      return try self.item(now)
    }
    throw Self.contested(id)
  }

  /// Deletes a record. Makes two round trips, and two more each time others changed it meanwhile.
  ///
  /// Makes one if the record doesn't exist, or if the user may not see it.
  ///
  /// - Throws: `BothyError` `.rejected`, or `.conflict` if others changed the record five times.
  ///   `RemoteError` without an answer.
  public func remove(_ id: RecordID) async throws {
    for _ in 0..<5 {
      guard let current = try await record(id) else { return }
      let operation = SyncOperation(id: UUIDv7.make(), kind: .delete, record: id, base: current.version)
      if try await send(operation) { return }
    }
    throw Self.contested(id)
  }

  /// Returns the records of a container and of those below it, by type and id.
  ///
  /// Pulls from the start, with one round trip for each page of a thousand changes at most. All records are
  /// in memory. Types that the schema doesn't declare are left out, and so are lists. The root `""` loads all
  /// that the user may see.
  ///
  /// - Throws: `RemoteError` without an answer, and `BothyError` `protocolViolation` for an answer without a
  ///   page. A value that doesn't fit its field is an error of the whole call.
  public func load(container: String) async throws -> [StoredItem] {
    let scope = SyncScope(container: container, includesChildren: true)
    var records: [RecordID: ServerRecord] = [:]
    var cursor: String?
    while true {
      let request = SyncRequest(
        device: device, schemaVersion: schema.version, pulls: [SyncRequest.Pull(scope, cursor: cursor)])
      guard let page = try await remote.exchange(request).pages.first else { throw Self.noAnswer }
      if page.reset { records = [:] }
      for change in page.changes { records[change.id] = change.isDeleted ? nil : change }
      for id in page.outOfScope { records[id] = nil }
      if !page.more { break }
      cursor = page.cursor
    }
    return try records.values.filter { schema[$0.id.type] != nil }.map(item).sorted {
      ($0.record.type, $0.record.id) < ($1.record.type, $1.record.id)
    }
  }

  /// Returns the user's lists, by name. Makes one round trip for each thousand.
  ///
  /// - Throws: `RemoteError` without an answer.
  public func loadLists() async throws -> [UserList] {
    try await remote.all(AnyQuery(UserList.typeName)).map { try UserList($0) }.sorted {
      ($0.name, $0.id) < ($1.name, $1.id)
    }
  }

  // MARK: parts

  private func operation(for item: StoredItem, _ current: ServerRecord?) -> SyncOperation {
    let record = item.record
    guard let current else {
      return SyncOperation(
        id: UUIDv7.make(), kind: .insert, record: record.recordID, container: record.container,
        fields: record.fields.mapValues(\.json),
        sharing: item.sharing.map { SharingChange(from: .nobody, to: $0) })
    }
    // Another record in its place is one of fields to set.
    let read = item.read.record.flatMap {
      $0.recordID == record.recordID && $0.version == record.version ? $0 : nil
    }
    var fields = record.fields.filter { read?[$0.key] != $0.value }.mapValues(\.json)
    for name in read?.fields.keys.map(\.self) ?? [] where record.fields[name] == nil { fields[name] = .null }
    let isMoved = record.container != record.type && record.container != read?.container
    let before = read.flatMap { _ in item.read.sharing } ?? current.sharing
    let sharing = item.sharing.map { SharingChange(from: before, to: $0) }
    return SyncOperation(
      id: UUIDv7.make(), kind: .update, record: record.recordID,
      container: isMoved && record.container != current.container ? record.container : nil,
      base: current.version, fields: fields, sharing: sharing?.isEmpty == true ? nil : sharing)
  }

  private func record(_ id: RecordID) async throws -> ServerRecord? {
    try await remote.query(AnyQuery(id.type, where: .compare(field: "id", .equal, .text(id.id)))).first
  }

  /// Sends an operation. Returns false if it was in conflict with a change of others.
  private func send(_ operation: SyncOperation) async throws -> Bool {
    let request = SyncRequest(device: device, schemaVersion: schema.version, operations: [operation])
    guard let verdict = try await remote.exchange(request).outcomes.first?.verdict else {
      throw Self.noAnswer
    }
    let id = operation.record
    switch verdict {
    case .applied, .duplicate: return true
    case .conflict: return false
    case .rejected(let rejection):
      throw BothyError(.rejected, rejection.message, record: id, rejection: rejection)
    case .waiting(let other): throw BothyError(.rejected, "The change waits for \(other).", record: id)
    }
  }

  private func declared(_ type: String) throws -> TypeSchema {
    guard let declared = type == UserList.typeName ? UserList.schema : schema[type] else {
      throw BothyError(.unknownType, "The schema has no type '\(type)'.")
    }
    return declared
  }

  private func item(_ record: ServerRecord) throws -> StoredItem {
    let type = record.id.type
    let declared = try declared(type)
    var result = AnyRecord(type, id: record.id.id, container: record.container, version: record.version)
    result.origin.metadata = record.metadata
    for (name, value) in try record.fields.members() {
      guard let field = declared[name] else { continue }
      result[name] = try FieldValue(json: value, kind: field.kind)
    }
    var item = StoredItem(result, sharing: record.sharing)
    item.read = StoredItem.Read(record: result, sharing: record.sharing)
    return item
  }

  private static func gone(_ id: RecordID) -> BothyError {
    BothyError(.rejected, "\(id) was deleted by another device or user.", record: id)
  }

  private static func contested(_ id: RecordID) -> BothyError {
    BothyError(.conflict, "\(id) keeps being changed by others. Try again.", record: id)
  }

  private static let noAnswer = BothyError(.protocolViolation, "The server did not answer what it was asked.")
}
