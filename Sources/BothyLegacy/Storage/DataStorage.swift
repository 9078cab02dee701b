public import BothyStore
public import BothySync

/// The seven operations of a storage of records: five writes and two reads. The local store, a server and a
/// synced store all conform, so that one can replace another.
///
/// The special writes are forms of `persist`. A storage may implement them better, with an equal result.
/// Reads may use the network if the storage has one.
///
/// All calls may be made from any task. Errors are those of the storage: `BothyError` for a file or a
/// rejected change, and `RemoteError` from `ServerStorage` without an answer.
public protocol DataStorage: Sendable {
  /// Creates the record or sets these fields, and sets this audience unless it is `nil`. Returns the record
  /// as it is now.
  ///
  /// Other fields stay as they are. A record whose container is that of its type isn't moved.
  @discardableResult
  func persist(_ item: StoredItem) async throws -> StoredItem
  /// Deletes a record, if it exists. A second call does nothing.
  func remove(_ id: RecordID) async throws
  /// Sets a record's audience to exactly this one, and changes nothing else.
  @discardableResult
  func updateSharing(of id: RecordID, to sharing: Audience) async throws -> StoredItem
  /// Creates a list. Returns it with its version.
  @discardableResult
  func save(_ list: UserList) async throws -> UserList
  /// Sets the name and members of a list that was loaded before. Returns it with its new version.
  @discardableResult
  func modify(_ list: UserList) async throws -> UserList

  /// Returns the records of a container and of those below it, by type and id.
  func load(container: String) async throws -> [StoredItem]
  /// Returns the lists of the storage's owner, by name.
  func loadLists() async throws -> [UserList]
}

/// A record and its audience, as storages write and read them.
///
/// It is a value, so a change of it changes no storage.
public struct StoredItem: Sendable, Hashable {
  /// The record: in a write the fields to set, in a result all of them.
  ///
  /// In a write, a container other than that of the type moves the record. Without one it stays in its
  /// container.
  public var record: AnyRecord
  /// The audience. In a write, `nil` leaves it unchanged.
  ///
  /// A write of `.nobody` removes all users and lists. Results of `load` always have an audience.
  public var sharing: Audience?
  /// The item as a server had it, for a write that changes what differs from that.
  var read = Read()

  /// An item that was read. Has no content: all are equal.
  struct Read: Sendable, Hashable {
    var record: AnyRecord?
    var sharing: Audience?

    static func == (left: Read, right: Read) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  /// Makes an item, without a check or a request.
  ///
  /// - Parameters:
  ///   - record: the fields to set, by the names of the schema. A field that it doesn't have stays as it is.
  ///   - sharing: `nil` leaves the audience unchanged.
  public init(_ record: AnyRecord, sharing: Audience? = nil) {
    self.record = record
    self.sharing = sharing
  }
}

/// The special writes as forms of `persist`.
extension DataStorage {
  /// Looks for the record among all that `load` returns, then calls `persist` without fields.
  ///
  /// Costs and throws as both. `LocalStorage` and `ServerStorage` look up one record instead.
  ///
  /// - Throws: `BothyError` `.notFound` for a record that doesn't exist. Nothing is written then.
  @discardableResult
  public func updateSharing(of id: RecordID, to sharing: Audience) async throws -> StoredItem {
    if let storage = self as? any SharingStorage { return try await storage.share(id, with: sharing) }
    guard try await load(container: "").contains(where: { $0.record.recordID == id }) else {
      throw BothyError(missing: id)
    }
    return try await persist(StoredItem(AnyRecord(id.type, id: id.id), sharing: sharing))
  }

  /// Calls `persist` with the list's record. Costs and throws as that.
  ///
  /// A list that exists by this id gets the name and the members. Returns the list with its version.
  @discardableResult
  public func save(_ list: UserList) async throws -> UserList {
    try await UserList(persist(list.item).record)
  }

  /// Calls `persist` with the list's record. Costs and throws as that.
  ///
  /// It doesn't compare versions, so it overwrites changes since the list was loaded. A list that doesn't
  /// exist is created.
  @discardableResult
  public func modify(_ list: UserList) async throws -> UserList {
    try await UserList(persist(list.item).record)
  }
}

/// A storage that looks up a record before it shares it, without loading others.
protocol SharingStorage: DataStorage {
  /// Sets the audience of a record. Throws `BothyError` `.notFound`, with nothing written, if it doesn't exist.
  func share(_ id: RecordID, with audience: Audience) async throws -> StoredItem
}

extension BothyError {
  init(missing id: RecordID) {
    self.init(.notFound, "The record \(id) doesn't exist.", record: id)
  }
}

extension UserList {
  /// The list as a record.
  var item: StoredItem {
    let members = JSONValue.array(members.map { .string($0) }).canonicalText
    return StoredItem(
      AnyRecord(Self.typeName, id: id, ["name": .text(name), "members": .json(members)], version: version))
  }

  /// Reads the list in a record of the type `bothy_list`, with its id and version.
  ///
  /// Members that aren't text are left out. JSON other than an array gives a list without members.
  ///
  /// - Throws: `BothyError` `.invalidValue` for a record of another type or shape, and a parsing error for
  ///   members that aren't JSON.
  public init(_ record: AnyRecord) throws {
    guard record.type == Self.typeName, case .text(let name) = record["name"],
      case .json(let text) = record["members"]
    else {
      throw BothyError(.invalidValue, "\(record.recordID) is not a list of users.")
    }
    let members = try JSONValue(parsing: text).arrayValue?.compactMap(\.stringValue) ?? []
    self.init(id: record.id, name: name, members: members, version: record.version)
  }
}
