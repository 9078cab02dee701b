import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import HTTPTypes
import Testing

@Suite("The feed over HTTP", .timeLimit(.minutes(5)))
struct FeedRouteTests {
  private static let tokens = """
    [{"token":"back","principal":"billing","groups":["back-ends"],"spaces":["hut","barn"]},
     {"token":"all","principal":"backup","groups":["back-ends"],"spaces":["*"]},
     {"token":"ann","principal":"ann","groups":["staff"],"spaces":["*"]}]
    """

  private func server(feedGroup: String? = "back-ends", tokens: String? = Self.tokens) throws
    -> ServerUnderTest
  {
    var server = try ServerUnderTest(tokens: tokens)
    server.configuration.feedGroup = feedGroup
    return server
  }

  private func put(_ call: RouteClient, _ id: String, in space: String = "hut") async throws {
    let made = try await call(.put, "/v1/spaces/\(space)/records/T/\(id)", #"{"fields":{"n":1}}"#)
    #expect(made.status == 201)
  }

  /// Promises: A-22
  @Test("Back ends read all changes by a cursor, and others get 403")
  func access() async throws {
    try await server().run { call async throws in
      let (ann, back) = (call.with(token: "ann"), call.with(token: "back"))
      try await put(ann, "1")
      for path in ["/v1/spaces/hut/feed", "/v1/spaces"] {
        #expect(try await ann(.get, path).status == 403, "\(path)")
        #expect(try await call(.get, path).status == 401, "\(path)")
      }
      #expect(try await back(.get, "/v1/spaces/attic/feed").status == 403, "another space")
      let page = try await back(.get, "/v1/spaces/hut/feed").json()
      let change = try #require(page["changes"]?.arrayValue?.first)
      #expect(page["reset"] == true && page["upTo"] == 1 && page["more"] == nil)
      #expect(change["kind"] == "insert" && change["principal"] == "ann" && change["time"] == 1000)
      #expect(change["record"]?["fields"]?["n"] == 1 && change["record"]?["owner"] == "ann")
      let cursor = try #require(page["cursor"]?.stringValue)
      let next = try await back(.get, "/v1/spaces/hut/feed?after=\(cursor)").json()
      #expect(next["changes"] == [] && next["reset"] == nil)
      #expect(try await back(.get, "/v1/spaces/hut/feed?after=nonsense").code() == "badCursor")
      #expect(try await back(.get, "/v1/spaces/hut/feed?limit=0").status == 400)
    }
  }

  @Test("Without a group there is no feed, and without tokens every caller reads it")
  func open() async throws {
    try await server(feedGroup: nil).run { call async throws in
      #expect(try await call.with(token: "all")(.get, "/v1/spaces/hut/feed").status == 403)
    }
    try await server(tokens: nil).run { call async throws in
      #expect(try await call(.get, "/v1/spaces/hut/feed").status == 200)
      #expect(try await call(.get, "/v1/spaces").status == 200)
    }
  }

  @Test("A waiting back end receives a change as it comes")
  func waiting() async throws {
    let server = try server()
    let notifications = server.configuration.notifications
    try await server.run { call async throws in
      let (ann, back) = (call.with(token: "ann"), call.with(token: "back"))
      try await put(ann, "1")
      let first = try await back(.get, "/v1/spaces/hut/feed?wait=30").json()
      var cursor = try #require(first["cursor"]?.stringValue)
      // On a busy machine the wait may end before the change. Then another change is awaited.
      for number in 2... {
        let after = cursor
        async let waiting = back(.get, "/v1/spaces/hut/feed?wait=30&after=\(after)")
        while notifications.streamCount == 0 { await Task.yield() }
        notifications.publish(space: "hut")  // without a change
        try await put(ann, "\(number)")
        let page = try await waiting.json()
        #expect(notifications.streamCount == 0)
        if page["changes"] != [] {
          #expect(page["changes"]?.arrayValue?.map { $0["id"] } == [JSONValue.string("\(number)")])
          break
        }
        let rest = try await back(.get, "/v1/spaces/hut/feed?after=\(after)").json()
        cursor = try #require(rest["cursor"]?.stringValue)
      }
    }
  }

  @Test("A wait without a change ends with an empty page and the cursor")
  func ended() async throws {
    try await server().run { call async throws in
      let back = call.with(token: "all")
      let first = try await back(.get, "/v1/spaces/hut/feed").json()
      let cursor = try #require(first["cursor"]?.stringValue)
      let page = try await back(.get, "/v1/spaces/hut/feed?wait=1&after=\(cursor)").json()
      #expect(page["changes"] == [] && page["cursor"]?.stringValue == cursor)
    }
  }

  @Test("A wait beyond the limit is answered 503, and other reads go on")
  func waitsBeyondLimit() async throws {
    var server = try server()
    server.configuration.limits.feedWaits = 0
    try await server.run { call async throws in
      let back = call.with(token: "all")
      let first = try await back(.get, "/v1/spaces/hut/feed").json()
      let cursor = try #require(first["cursor"]?.stringValue)
      #expect(try await back(.get, "/v1/spaces/hut/feed?wait=1&after=\(cursor)").status == 503)
      #expect(try await back(.get, "/v1/spaces/hut/feed?after=\(cursor)").status == 200)
    }
  }

  /// Promises: A-22
  @Test("A wait whose token has ended receives no change")
  func endedToken() async throws {
    let issuer = IssuerUnderTest()
    let storage = CountedReads(base: try SQLiteServerStorage())
    let clock = ClockUnderTest()
    var server = try ServerUnderTest(storage: storage)
    server.configuration.access = try await issuer.access(JWTRules(leeway: .zero))
    server.configuration.feedGroup = "back-ends"
    server.configuration.now = { clock.now }
    let notifications = server.configuration.notifications
    let token = try await issuer.hs256(.init(exp: 50, groups: ["back-ends"]))
    let writer = SyncService(storage: storage.base, now: { 1000 })
    let change = SyncOperation(id: "o", kind: .insert, record: RecordID(type: "T", id: "1"), fields: ["n": 1])
    try await server.run { call async throws in
      let back = call.with(token: token)
      let cursor = try #require(try await back(.get, "/v1/spaces/hut/feed").json()["cursor"]?.stringValue)
      let before = storage.reads.value
      async let waiting = back(.get, "/v1/spaces/hut/feed?wait=30&after=\(cursor)")
      // One read before the wait, and one at its beginning.
      while storage.reads.value < before + 2 { await Task.yield() }
      clock.now = 50_000
      #expect(try await writer.perform(space: "hut", user: Caller("ann"), change).isApplied)
      notifications.publish(space: "hut")
      let page = try await waiting.json()
      #expect(page["changes"] == [] && page["cursor"]?.stringValue == cursor)
    }
  }

  /// Promises: A-22
  @Test("Spaces are listed with their heads, as far as the token opens them")
  func spaces() async throws {
    try await server().run { call async throws in
      let ann = call.with(token: "ann")
      for space in ["hut", "attic", "barn"] { try await put(ann, "1", in: space) }
      func names(_ reply: Reply) throws -> [String?] {
        try (reply.json()["spaces"]?.arrayValue ?? []).map { $0["space"]?.stringValue }
      }
      let all = try await call.with(token: "all")(.get, "/v1/spaces?limit=2")
      #expect(try names(all) == ["attic", "barn"])
      #expect(try all.json()["next"] == "barn")
      #expect(try all.json()["spaces"]?.arrayValue?.first?["head"] == 1)
      let rest = try await call.with(token: "all")(.get, "/v1/spaces?after=barn")
      #expect(try names(rest) == ["hut"])
      #expect(try rest.json()["next"] == nil)
      #expect(try names(await call.with(token: "back")(.get, "/v1/spaces")) == ["barn", "hut"])
    }
  }

  @Test("Spaces without any change aren't listed, and don't end a page")
  func emptySpaces() async throws {
    try await server().run { call async throws in
      let (ann, back) = (call.with(token: "ann"), call.with(token: "back"))
      func names(_ reply: Reply) throws -> [String?] {
        try (reply.json()["spaces"]?.arrayValue ?? []).map { $0["space"]?.stringValue }
      }
      #expect(try names(await back(.get, "/v1/spaces")).isEmpty)
      let refused =
        #"{"device":"d","operations":[{"id":"o","kind":"update","type":"T","record":"1","base":"9"}]}"#
      #expect(try await ann(.post, "/v1/spaces/attic/sync", refused).status == 200)
      #expect(try names(await call.with(token: "all")(.get, "/v1/spaces")).isEmpty)
      try await put(ann, "1", in: "hut")
      let first = try await back(.get, "/v1/spaces?limit=1")
      #expect(try names(first).isEmpty)
      #expect(try first.json()["next"] == "barn")
      let rest = try await back(.get, "/v1/spaces?limit=1&after=barn")
      #expect(try names(rest) == ["hut"])
      #expect(try rest.json()["next"] == nil)
    }
  }
}
