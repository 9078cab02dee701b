public import BothyStore

/// A named set of users that records can be shared with, such as friends. It belongs to the user who created it, is
/// stored on the server, and its owner alone can see it.
///
/// One change of the list reaches all records that are shared with it. `SharingControl` sends each change at once and
/// queues none. It throws `BothyError` `.requiresNetwork` without a server.
///
/// ```swift
/// var friends = try await store.sharing.create(UserList(name: "Friends", members: ["ben"]))
/// try await store.sharing.share(trip, with: .lists(friends.id))
/// friends.members.append("dora")
/// friends = try await store.sharing.update(friends)
/// ```
///
/// In messages and in the server's storage it is a record of the type `bothy_list`, which every server knows.
public struct UserList: Sendable, Hashable, Identifiable {
  /// The id of the list's record, which records are shared with.
  public var id: String
  /// The owner's name for it. Two lists may have one name.
  public var name: String
  /// The names of the users, in the owner's order.
  public var members: [String]
  /// The server's version of the list; `nil` for a list that the server has not received.
  package var version: String?

  /// Makes a list, without a request. `SharingControl.create` sends it to the server, which accepts ten thousand members
  /// at most.
  public init(id: String = UUIDv7.make(), name: String, members: [String] = [], version: String? = nil) {
    self.id = id
    self.name = name
    self.members = members
    self.version = version
  }
}

extension UserList {
  /// The name of the type. Apps can't declare a type with this prefix.
  package static let typeName = "bothy_list"

  /// The schema by which servers check such records.
  package static let schema = TypeSchema(
    typeName, fields: [FieldSchema("name", .text), FieldSchema("members", .json)], remoteOnly: true,
    permissions: Permissions(
      create: .authenticated, read: .owner, update: .owner, delete: .owner, share: .nobody))

  /// The most members of one list.
  package static let memberLimit = 10_000

  /// The list as a record of the type `typeName`.
  package var recordID: RecordID { RecordID(type: Self.typeName, id: id) }

  package static func recordID(_ id: String) -> RecordID { RecordID(type: typeName, id: id) }

  /// The fields of the list's record.
  package var fields: [String: JSONValue] {
    ["name": .string(name), "members": .array(members.map { .string($0) })]
  }

  /// Reads the list in a live record. Throws `JSONError` for a record of another shape.
  package init(_ record: ServerRecord) throws {
    let fields = try record.fields.members()
    guard record.id.type == Self.typeName, !record.isDeleted, let name = fields["name"]?.stringValue else {
      throw JSONError(reason: "\(record.id) is not a list of users", offset: 0)
    }
    self.init(
      id: record.id.id, name: name, members: Self.members(in: fields), version: record.version)
  }

  /// Writes `{"id","name","members","version"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writeMembers(to: &writer)
    writer.endObject()
  }

  /// Writes these members into the open object.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("name", name)
    writer.names("members", members)
    if let version { writer.member("version", version) }
  }

  package static func members(in fields: [String: JSONValue]) -> [String] {
    fields["members"]?.arrayValue?.compactMap(\.stringValue) ?? []
  }

  /// Returns the first problem with the fields beyond their kinds.
  package static func problem(with fields: [String: JSONValue]) -> Rejection.FieldError? {
    let given = fields["members"]?.arrayValue
    let members = members(in: fields)
    guard let given, given.count == members.count, members.count <= memberLimit,
      Set(members).count == members.count, members.allSatisfy({ (1...512).contains($0.utf8.count) })
    else {
      return .init(
        field: "members", code: "invalid",
        message: "The members are at most \(memberLimit) different names of 1 to 512 bytes, in an array.")
    }
    return nil
  }
}
