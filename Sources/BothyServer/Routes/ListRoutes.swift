import BothyStore
import BothySyncService
import HTTPTypes

/// The routes of lists of users, which records can be shared with: the caller's own, and those that name the caller.
extension ServerServices {
  private static let pattern = "/v1/spaces/{space}/lists"
  private static let joined = "/v1/spaces/{space}/joined-lists"

  func listRoutes() -> [Route] {
    let list = Route.Documented(status: 200, about: "The list.", schema: "List", headers: ["ETag"])
    return [
      Route(
        method: .get, pattern: Self.pattern, operation: "getLists", summary: "The caller's lists, by name.",
        isQuery: true, answers: [.init(status: 200, about: "The lists.", schema: "Lists")], problems: [413],
        handle: getLists),
      Route(
        method: .post, pattern: Self.pattern, operation: "createList", summary: "Makes a list.",
        body: .init(schema: "ListInput"),
        answers: [
          .init(status: 201, about: "The new list.", schema: "List", headers: ["ETag", "Location"])
        ],
        problems: [409, 422], handle: createList),
      Route(
        method: .get, pattern: Self.pattern + "/{id}", operation: "getList",
        summary: "One of the caller's lists.",
        answers: [list], problems: [410], handle: { try Self.answer(try await storedList($0)) }),
      Route(
        method: .put, pattern: Self.pattern + "/{id}", operation: "putList",
        summary:
          "Replaces the name and members of a list; users who leave or join lose or gain sight of the records "
          + "shared with it.",
        parameters: [.ifMatch], body: .init(schema: "ListInput"), answers: [list],
        problems: [409, 410, 412, 422], handle: putList),
      Route(
        method: .delete, pattern: Self.pattern + "/{id}", operation: "deleteList", summary: "Deletes a list.",
        parameters: [.ifMatch], answers: [.init(status: 204, about: "It is deleted.")],
        problems: [409, 410, 412], handle: deleteList),
      Route(
        method: .get, pattern: Self.joined, operation: "getJoinedLists",
        summary: "The lists that name the caller, by id, a thousand at most.",
        answers: [.init(status: 200, about: "The lists.", schema: "JoinedLists")], handle: getJoinedLists),
      Route(
        method: .delete, pattern: Self.joined + "/{id}", operation: "leaveList",
        summary:
          "Takes the caller out of a list; it loses sight of the records that it saw by that list alone.",
        answers: [.init(status: 204, about: "The list doesn't name the caller any longer.")], problems: [422],
        handle: leaveList),
    ]
  }

  /// The most pages of a query that are read for one answer.
  static let listPages = 8

  private func getLists(_ call: ServerContext) async throws -> ServerResponse {
    let lists = try await allLists(call).sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    return ServerResponse.object { $0.array("lists", lists) { $1.write(to: &$0) } }
  }

  /// Reads the caller's lists page by page, each when there is room for those before it. Ids order them, because a long
  /// name has no cursor.
  private func allLists(_ call: ServerContext) async throws -> [UserList] {
    let query = AnyQuery(UserList.typeName, order: [SortKey("id")])
    var lists: [UserList] = []
    var size = 0
    var cursor: String?
    for _ in 0..<Self.listPages {
      let page = try await service.queryPage(
        space: call.space, user: call.user, query, after: cursor)
      size = page.records.reduce(size) { $0.addingClamped($1.fields.bytes.count) }
      try call.room?.take(whole: size)
      try lists.append(contentsOf: page.records.map { try UserList($0) })
      guard let next = page.next else { return lists }
      cursor = next
    }
    throw HTTPFailure(
      .contentTooLarge, "tooLarge",
      "The lists are larger than one answer may be. Query the type '\(UserList.typeName)' in pages.")
  }

  private func createList(_ call: ServerContext) async throws -> ServerResponse {
    let input = try call.parseBody { try ListInput(decoding: $0) }
    var list = UserList(name: input.name, members: input.members)
    if let id = input.id { list.id = id }
    let operation = SyncOperation(id: "http", kind: .insert, record: list.recordID, fields: list.fields)
    let done = try await perform(call, operation, Preconditions([:]))
    list.version = done.version
    if let stored = done.record { list = try UserList(stored) }
    var answer = try Self.answer(list, status: .created)
    let names = [call.space, "lists", list.id].map(\.percentEncodedName)
    answer.headers[.location] = "/v1/spaces/" + names.joined(separator: "/")
    return answer
  }

  private func putList(_ call: ServerContext) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let input = try call.parseBody { try ListInput(decoding: $0) }
    var list = try await storedList(call)
    guard preconditions.matches(list.version) else { throw Self.preconditionFailed }
    guard input.id ?? list.id == list.id else {
      throw HTTPFailure(.unprocessableContent, "invalid", "The body names another list than the address.")
    }
    list.name = input.name
    list.members = input.members
    let operation = SyncOperation(
      id: "http", kind: .update, record: list.recordID, base: list.version, fields: list.fields)
    let done = try await perform(call, operation, preconditions)
    list.version = done.version
    // The server's list may have other fields than were sent.
    return try Self.answer(try done.record.map(UserList.init) ?? list)
  }

  private func deleteList(_ call: ServerContext) async throws -> ServerResponse {
    let preconditions = try Preconditions(call.headers)
    let list = try await storedList(call)
    guard preconditions.matches(list.version) else { throw Self.preconditionFailed }
    let operation = SyncOperation(id: "http", kind: .delete, record: list.recordID, base: list.version)
    _ = try await perform(call, operation, preconditions)
    return ServerResponse(.noContent)
  }

  private func getJoinedLists(_ call: ServerContext) async throws -> ServerResponse {
    let lists = try await service.joinedLists(space: call.space, user: call.user)
    return ServerResponse.object { $0.array("lists", lists) { $1.write(to: &$0) } }
  }

  /// Sends the operation with which devices leave a list. A list that doesn't name the caller is answered as a missing
  /// one.
  private func leaveList(_ call: ServerContext) async throws -> ServerResponse {
    guard let name = call.user.name else { throw HTTPFailure.notFound }
    let operation = SyncOperation(
      id: "http", kind: .update, record: UserList.recordID(call.names["id"] ?? ""),
      sharing: SharingChange(remove: .users(name)))
    do { _ = try await perform(call, operation, Preconditions([:])) } catch let failure as HTTPFailure
      where failure.status == .conflict
    {
      throw HTTPFailure.notFound
    }
    return ServerResponse(.noContent)
  }

  private func storedList(_ call: ServerContext) async throws -> UserList {
    let id = RecordID(type: UserList.typeName, id: call.names["id"] ?? "")
    let found = try await service.record(space: call.space, user: call.user, id)
    guard let found, !found.isDeleted else { throw Self.absent(found) }
    return try UserList(found)
  }

  private static func answer(_ list: UserList, status: HTTPResponse.Status = .ok) throws -> ServerResponse {
    var writer = JSONWriter(reserving: 256)
    list.write(to: &writer)
    return .json(writer.bytes, status: status, headers: [.eTag: "\"\(list.version ?? "")\""])
  }
}

/// The body that creates or replaces a list. It may have a version, so that an edited response can be sent back.
private struct ListInput {
  var id: String?
  var name = ""
  var members: [String] = []

  init(decoding bytes: UnsafeRawBufferPointer) throws {
    var (id, name, members) = (String?.none, String?.none, [String]())
    try JSONReader.read(bytes) { reader in
      try reader.object { member, reader in
        switch member {
        case "id": id = try reader.string()
        case "name": name = try reader.string()
        case "members": try reader.array { members.append(try $0.string()) }
        case "version": _ = try reader.string()
        default: throw JSONError(reason: "a list has no member '\(member)'", offset: reader.offset)
        }
      }
    }
    guard let name else { throw JSONError(reason: "a list needs 'name'", offset: bytes.count) }
    (self.id, self.name, self.members) = (id, name, members)
  }
}
