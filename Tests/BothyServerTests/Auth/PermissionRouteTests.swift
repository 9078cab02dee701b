import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

/// Conditions of permissions by addresses, with the groups of tokens.
@Suite("Conditions of permissions by address", .timeLimit(.minutes(5)))
struct PermissionRouteTests {
  private static let tokens = """
    [{"token":"a","principal":"ann","spaces":["*"]},
     {"token":"b","principal":"bob","groups":["red"],"spaces":["*"]},
     {"token":"c","principal":"cid","spaces":["*"]}]
    """
  private static let schema = """
    {"version": 1, "types": [
      {"name": "Task", "fields": [
        {"name": "title", "type": "string"}, {"name": "team", "type": "string", "optional": true},
        {"name": "project", "type": "string", "optional": true}],
       "permissions": {
         "create": "principal.name IS NOT NULL",
         "read": "team IN principal.groups OR _owner = principal.name OR \\(member)",
         "update": {"was": "_owner = principal.name OR team IN principal.groups", "becomes": "team IS NOT NULL"},
         "delete": "_owner = principal.name"}},
      {"name": "Member", "fields": [
        {"name": "user", "type": "string", "indexed": true}, {"name": "project", "type": "string"}]}]}
    """.replacing(
      "\\(member)", with: "EXISTS(Member WHERE user = principal.name AND project = record.project)")
  private static let address = "/v1/spaces/hut/records/Task/1"

  private func server() throws -> ServerUnderTest {
    try ServerUnderTest(
      rules: AccessRules(schema: StoreSchema(json: Self.schema)), tokens: Self.tokens)
  }

  @Test("Conditions decide about reads, changes and deletions by address")
  func records() async throws {
    try await server().run { call in
      let (ann, bob, cid) = (call.with(token: "a"), call.with(token: "b"), call.with(token: "c"))
      let made = try await ann(.put, Self.address, #"{"fields":{"title":"t","team":"red"}}"#)
      #expect(made.status == 201)
      #expect(try await bob(.get, Self.address).status == 200)
      #expect(try await cid(.get, Self.address).status == 404)
      let any: HTTPFields = [.ifMatch: "*"]
      #expect(try await cid(.delete, Self.address, nil, any).status == 404)
      #expect(try await bob(.patch, Self.address, #"{"title":"u"}"#, any).status == 200)
      #expect(try await bob(.patch, Self.address, #"{"team":null}"#, any).status == 403)
      #expect(try await bob(.delete, Self.address, nil, any).status == 403)
      // Bob gives the task to a team that he isn't in.
      #expect(try await bob(.patch, Self.address, #"{"team":"blue"}"#, any).status < 300)
      #expect(try await bob(.get, Self.address).status == 404)
      #expect(try await bob(.patch, Self.address, #"{"title":"v"}"#, any).status == 404)
      #expect(try await ann(.delete, Self.address, nil, any).status == 204)
    }
  }

  /// Promises: A-33
  @Test("Queries, counts, containers, digests and the history leave hidden records out")
  func lists() async throws {
    try await server().run { call in
      let (ann, bob, cid) = (call.with(token: "a"), call.with(token: "b"), call.with(token: "c"))
      _ = try await ann(.put, Self.address, #"{"fields":{"title":"t","team":"red","project":"P"}}"#)
      func seen(_ caller: RouteClient) async throws -> [Int64?] {
        let query = #"{"type":"Task"}"#
        let found = try await caller(.post, "/v1/spaces/hut/query", query).json()
        let count = try await caller(.post, "/v1/spaces/hut/count", query).json()
        let containers = try await caller(.get, "/v1/spaces/hut/containers").json()
        let tasks = containers["containers"]?.arrayValue?.filter { $0["container"] == "Task" }
        let history = try await caller(.get, "/v1/spaces/hut/history?type=Task&id=1").json()
        let digest = try await caller(.get, "/v1/spaces/hut/digest?container=Task").json()
        return [
          found["records"]?.arrayValue.map { Int64($0.count) }, count["count"]?.intValue,
          tasks.map { Int64($0.count) }, history["changes"]?.arrayValue.map { Int64($0.count) },
          digest["count"]?.intValue,
        ]
      }
      #expect(try await seen(ann) == [1, 1, 1, 1, 1])
      #expect(try await seen(bob) == [1, 1, 1, 1, 1])
      #expect(try await seen(cid) == [0, 0, 0, 0, 0])
      let before = try await cid(.get, "/v1/spaces/hut/containers/Task").tag
      let member = #"{"fields":{"user":"cid","project":"P"}}"#
      #expect(try await ann(.put, "/v1/spaces/hut/records/Member/1", member).status == 201)
      #expect(try await seen(cid) == [1, 1, 1, 1, 1])
      #expect(try await cid(.get, "/v1/spaces/hut/containers/Task").tag != before)
      let removed = try await ann(.delete, "/v1/spaces/hut/records/Member/1", nil, [.ifMatch: "*"])
      #expect(removed.status == 204)
      #expect(try await seen(cid) == [0, 0, 0, 0, 0])
    }
  }

  /// Promises: A-19
  @Test("A document with a wrong condition is refused with its line")
  func document() throws {
    let wrong = Self.schema.replacing(#""delete": "_owner"#, with: #""delete": "maker"#)
    let files = SchemaFiles(newest: "schema.json") { _ in Array(wrong.utf8) }
    let error = #expect(throws: BothyError.self) { try files.schema() }
    #expect(error?.message.contains("'delete' in the permissions of Task (line 9)") == true)
    #expect(error?.message.contains("Known: title, team, project") == true)
    let unindexed = Self.schema.replacing(#", "indexed": true"#, with: "")
    let other = SchemaFiles(newest: "schema.json") { _ in Array(unindexed.utf8) }
    let second = #expect(throws: BothyError.self) { try other.schema() }
    #expect(second?.message.contains("Member.user has no index") == true)
  }
}
