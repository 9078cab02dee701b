import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

@Suite("Sharing and lists by address", .timeLimit(.minutes(5)))
struct SharingRouteTests {
  private static let tokens = """
    [{"token":"a","principal":"ann","spaces":["*"]},{"token":"b","principal":"bob","spaces":["*"]}]
    """
  private static let address = "/v1/spaces/hut/records/Todo/1"

  private func server() throws -> ServerUnderTest {
    let permissions = Permissions(read: .shared, update: .shared, delete: .owner)
    return try ServerUnderTest(
      rules: AccessRules(schema: todoSchema(permissions)), tokens: Self.tokens)
  }

  /// Promises: N-4, N-5
  @Test("Only the owner can change a record's sharing, under If-Match")
  func sharing() async throws {
    try await server().run { call in
      let (ann, bob) = (call.with(token: "a"), call.with(token: "b"))
      let made = try await ann(.put, Self.address, #"{"fields":{"title":"t"}}"#)
      #expect(try await bob(.get, Self.address).status == 404)
      let toBob = #"{"add":{"principals":["bob"]}}"#
      #expect(try await bob(.post, Self.address + "/share", toBob).status == 404)
      let stale = try await ann(.post, Self.address + "/share", toBob, [.ifMatch: #""99""#])
      #expect(stale.status == 412)
      let shared = try await ann(.post, Self.address + "/share", toBob, [.ifMatch: made.tag ?? ""])
      #expect(shared.status == 200)
      #expect(try shared.json()["sharing"] == ["principals": ["bob"]])
      let seen = try await bob(.get, Self.address)
      #expect(seen.status == 200 && seen.tag == shared.tag)
      #expect(try await bob(.post, Self.address + "/share", #"{"add":{"principals":["cid"]}}"#).status == 403)
      // A response can be edited and sent back.
      let edited = try await bob(.put, Self.address, seen.text, [.ifMatch: seen.tag ?? ""])
      #expect(edited.status == 200)
      #expect(try edited.json()["sharing"] == ["principals": ["bob"]])
      let alone = try await ann(.post, Self.address + "/share", #"{"remove":{"principals":["bob"]}}"#)
      #expect(try alone.json()["sharing"] == nil)
      #expect(try await bob(.get, Self.address).status == 404)
      #expect(try await ann(.post, "/v1/spaces/hut/records/Todo/none/share", toBob).status == 404)
      #expect(try await ann(.post, Self.address + "/share", #"{"add":{"friends":[]}}"#).status == 400)
    }
  }

  /// Promises: N-8
  @Test("An owner manages a list, and its members see the records shared with it")
  func lists() async throws {
    try await server().run { call in
      let (ann, bob) = (call.with(token: "a"), call.with(token: "b"))
      let made = try await ann(
        .post, "/v1/spaces/hut/lists", #"{"id":"L 1","name":"friends","members":["bob"]}"#)
      #expect(made.status == 201)
      let place = made.headers[.location] ?? ""
      #expect(place == "/v1/spaces/hut/lists/L%201")
      #expect(try await ann(.get, place).text == made.text)
      let all = try await ann(.get, "/v1/spaces/hut/lists").json()["lists"]?.arrayValue
      let expected = try made.json()
      #expect(all == [expected])
      #expect(try await bob(.get, "/v1/spaces/hut/lists").json() == ["lists": []])
      #expect(try await bob(.get, place).status == 404)

      _ = try await ann(.put, Self.address, #"{"fields":{"title":"t"}}"#)
      let shared = try await ann(.post, Self.address + "/share", #"{"add":{"lists":["L 1"]}}"#)
      #expect(shared.status == 200)
      #expect(try await bob(.get, Self.address).status == 200)
      let foreign = try await bob(.post, Self.address + "/share", #"{"add":{"lists":["other"]}}"#)
      #expect(foreign.status == 422)

      let body = #"{"name":"nobody","members":[]}"#
      #expect(try await ann(.put, place, body, [.ifMatch: #""0""#]).status == 412)
      let replaced = try await ann(.put, place, body, [.ifMatch: made.tag ?? ""])
      #expect(replaced.status == 200 && replaced.tag != made.tag)
      #expect(try await bob(.get, Self.address).status == 404)
      #expect(try await ann(.delete, place).status == 204)
      #expect(try await ann(.get, place).status == 410)
    }
  }

  /// Promises: A-77
  @Test("A member learns which lists name it, and leaves them")
  func leaving() async throws {
    try await server().run { call in
      let (ann, bob) = (call.with(token: "a"), call.with(token: "b"))
      for id in ["L 1", "M"] {
        let body = #"{"id":"\#(id)","name":"secret","members":["bob","cid"]}"#
        #expect(try await ann(.post, "/v1/spaces/hut/lists", body).status == 201)
      }
      _ = try await ann(.put, Self.address, #"{"fields":{"title":"t"}}"#)
      _ = try await ann(.post, Self.address + "/share", #"{"add":{"lists":["L 1"]}}"#)
      let joined = "/v1/spaces/hut/joined-lists"
      let all = try await bob(.get, joined)
      #expect(try all.json() == ["lists": [["id": "L 1", "owner": "ann"], ["id": "M", "owner": "ann"]]])
      #expect(try await bob(.get, Self.address).status == 200)

      #expect(try await bob(.delete, joined + "/L%201").status == 204)
      #expect(try await bob(.get, Self.address).status == 404)
      #expect(try await bob(.get, joined).json() == ["lists": [["id": "M", "owner": "ann"]]])
      let left = try await ann(.get, "/v1/spaces/hut/lists/L%201").json()
      #expect(left["members"] == ["cid"] && left["name"] == "secret")
      // A list that doesn't name the caller is as a missing one, also for its owner.
      let repeated = try await bob(.delete, joined + "/L%201")
      let missing = try await bob(.delete, joined + "/none")
      #expect(repeated.status == 404 && missing.status == 404)
      #expect(try repeated.code() == missing.code())
      #expect(try await ann(.delete, joined + "/M").status == 404)
      #expect(try await ann(.get, joined).json() == ["lists": []])
      let history = try await ann(.get, "/v1/spaces/hut/history?type=bothy_list&id=L%201").json()
      #expect(history["changes"]?.arrayValue?.first?["principal"] == "bob")
    }
  }

  @Test("The lists are answered whole beyond the size of a page, or refused")
  func manyLists() async throws {
    var server = try server()
    server.configuration.rules.answerSize = 1000
    try await server.run { call in
      let ann = call.with(token: "a")
      let members = (1...100).map { #""member\#($0)""# }.joined(separator: ",")
      for number in 1...8 {
        let body = #"{"id":"L\#(number)","name":"\#(9 - number)","members":[\#(members)]}"#
        #expect(try await ann(.post, "/v1/spaces/hut/lists", body).status == 201)
      }
      let all = try await ann(.get, "/v1/spaces/hut/lists").json()["lists"]?.arrayValue
      #expect(all?.compactMap { $0["id"]?.stringValue } == (1...8).reversed().map { "L\($0)" })
      let body = #"{"id":"L9","name":"0","members":[\#(members)]}"#
      #expect(try await ann(.post, "/v1/spaces/hut/lists", body).status == 201)
      let refused = try await ann(.get, "/v1/spaces/hut/lists")
      #expect(try refused.status == 413 && refused.code() == "tooLarge")
    }
  }

  @Test("A body that isn't a list is 400 or 422")
  func badLists() async throws {
    try await server().run { call in
      let ann = call.with(token: "a")
      for (body, status) in [
        (#"{"members":[]}"#, 400), (#"{"name":"x","more":1}"#, 400),
        (#"{"name":"x","members":["a","a"]}"#, 422), (#"{"name":"x","members":[""]}"#, 422),
      ] {
        let reply = try await ann(.post, "/v1/spaces/hut/lists", body)
        #expect(reply.status == status, "\(body)")
      }
    }
  }
}
