public import BothyStore

/// The seven operations of a place that keeps records: five writes, two reads. The store of this device alone, a
/// server alone and the synced store that joins both offer them, so that one can stand in for another.
///
/// The special writes are forms of `persist`: a storage may do them in a better way, and leaves the same state.
/// Reads may use the network where the storage has one.
public protocol DataStorage: Sendable {
  /// Creates the record, or gives it these fields, and this sharing unless it is nil. Returns it as it is now.
  @discardableResult
  func persist(_ item: StoredItem) async throws -> StoredItem
  /// Deletes a record; where there is none, does nothing.
  func remove(_ id: RecordID) async throws
  /// Shares a record with just these; nothing else of it changes.
  @discardableResult
  func updateSharing(of id: RecordID, to sharing: Sharing) async throws -> StoredItem
  /// Makes a list; returns it with the version it has now.
  @discardableResult
  func save(_ list: PrincipalList) async throws -> PrincipalList
  /// Gives a list that was loaded before this name and these members; returns it with its new version.
  @discardableResult
  func modify(_ list: PrincipalList) async throws -> PrincipalList

  /// The records of a container and of those below it, by type and id.
  func load(container: String) async throws -> [StoredItem]
  /// The lists of the storage's owner, by name.
  func loadLists() async throws -> [PrincipalList]
}

/// A record, and whom it is shared with.
public struct StoredItem: Sendable, Hashable {
  /// The record: in a write the fields to set, in an answer all of them.
  public var record: AnyRecord
  /// Nil, in a write, leaves it as it is.
  public var sharing: Sharing?

  /// - Parameter sharing: nil leaves it as it is.
  public init(_ record: AnyRecord, sharing: Sharing? = nil) {
    self.record = record
    self.sharing = sharing
  }
}

/// The special writes, as plain ones.
extension DataStorage {
  /// A `persist` of no fields.
  @discardableResult
  public func updateSharing(of id: RecordID, to sharing: Sharing) async throws -> StoredItem {
    try await persist(StoredItem(AnyRecord(id.type, id: id.id), sharing: sharing))
  }

  /// A `persist` of the list's record.
  @discardableResult
  public func save(_ list: PrincipalList) async throws -> PrincipalList {
    try await PrincipalList(persist(list.item).record)
  }

  /// A `persist` of the list's record.
  @discardableResult
  public func modify(_ list: PrincipalList) async throws -> PrincipalList {
    try await PrincipalList(persist(list.item).record)
  }
}

extension PrincipalList {
  /// The list as a record.
  var item: StoredItem {
    let members = JSONValue.array(members.map { .string($0) }).canonicalText
    return StoredItem(
      AnyRecord(Self.typeName, id: id, ["name": .text(name), "members": .json(members)], version: version))
  }

  /// The list that a record is. Throws `StoreError` for a record of another type or shape.
  public init(_ record: AnyRecord) throws {
    guard record.type == Self.typeName, case .text(let name) = record["name"],
      case .json(let text) = record["members"]
    else {
      throw StoreError(.invalidValue, "\(record.recordID) is not a list of principals.")
    }
    let members = try JSONValue(parsing: text).arrayValue?.compactMap(\.stringValue) ?? []
    self.init(id: record.id, name: name, members: members, version: record.version)
  }
}
