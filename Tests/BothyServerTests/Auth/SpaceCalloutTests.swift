import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import HTTPTypes
import Testing

/// The call-out to a team's back end that says which spaces a user may use: its questions, its answers and their lives.
@Suite("The call-out about spaces", .timeLimit(.minutes(5)))
struct SpaceCalloutTests {
  private static func changes(_ space: String) -> String { "/v1/spaces/\(space)/changes" }

  // MARK: questions

  @Test("A question has the user, its groups and the chosen claims, and is signed")
  func question() async throws {
    let world = try await SpaceWorld(claims: ["iss", "realm.roles", "absent"])
    let token = try await world.issuer.hs256(
      .init(sub: "ann", exp: 1e9, iss: "id", groups: ["staff", "a"], realm: ["roles": ["x", "y"]]))
    try await world.server.run { call async throws in
      #expect(try await call.with(token: token)(.get, Self.changes("hut")).status == 200)
    }
    let request = try #require(world.backEnd.requests.first)
    #expect(request.url == "https://team.example/spaces" && request.timeout == .seconds(2))
    let body =
      #"{"principal":"ann","groups":["a","staff"],"claims":{"iss":"id","realm.roles":["x","y"]}}"#
    #expect(String(decoding: request.body, as: UTF8.self) == body)
    let signature = RequestSignature.field(
      id: try #require(request.headers["webhook-id"]), time: 1, body: request.body,
      keys: [Array(SpaceWorld.secret.utf8)])
    #expect(request.headers["webhook-signature"] == signature)
    #expect(request.headers["webhook-timestamp"] == "1")
  }

  @Test("A replaced secret signs the next question, and an unsuitable one doesn't")
  func secrets() async throws {
    let world = try await SpaceWorld()
    let second = String(repeating: "b", count: 32)
    try await world.server.run { call async throws in
      _ = try await call.with(token: world.token("ann"))(.get, Self.changes("hut"))
      #expect(throws: BothyError.self) { try world.callout.replace(secret: Array("short".utf8)) }
      _ = try await call.with(token: world.token("bob"))(.get, Self.changes("hut"))
      try world.callout.replace(secret: Array("\(SpaceWorld.secret)\n\(second)".utf8))
      _ = try await call.with(token: world.token("cleo"))(.get, Self.changes("hut"))
    }
    let signatures = world.backEnd.requests.map { $0.headers["webhook-signature"] ?? "" }
    #expect(signatures.map { $0.split(separator: " ").count } == [1, 1, 2])
  }

  @Test("An address without TLS and a weak secret are refused")
  func unsafe() {
    for (url, secret) in [("http://team.example/", SpaceWorld.secret), ("https://team.example/", "short")] {
      #expect(throws: BothyError.self) {
        try SpaceCallout(url: url, secret: Array(secret.utf8)) { _ in BackEndUnderTest.text("") }
      }
    }
  }

  // MARK: answers

  /// Promises: A-78
  @Test("An answer opens its spaces alone, and tokens of the file need none")
  func opens() async throws {
    let world = try await SpaceWorld()
    world.open(["hut": "write", "team": "read"])
    try await world.server.run { call async throws in
      let ann = try await call.with(token: world.token())
      for (space, status) in [("hut", 200), ("team", 200), ("claimed", 403), ("other", 403), ("*", 403)] {
        #expect(try await ann(.get, Self.changes(space)).status == status, "\(space)")
      }
      #expect(try await ann(.get, Self.changes("a%CC%88")).status == 403)
      let service = call.with(token: "service")
      #expect(try await service(.get, Self.changes("other")).status == 200)
      #expect(try await call.with(token: "unknown")(.get, Self.changes("hut")).status == 401)
    }
    #expect(world.asked == ["ann"])
  }

  /// Promises: A-80
  @Test("A right to read is none to write, on every route")
  func reads() async throws {
    let world = try await SpaceWorld()
    world.open(["hut": "read"])
    let record = "/v1/spaces/hut/records/Todo/1"
    try await world.server.run { call async throws in
      #expect(try await call.with(token: "service")(.put, record, #"{"fields":{"title":"t"}}"#).status == 201)
      let ann = try await call.with(token: world.token())
      #expect(try await ann(.get, record).status == 200)
      for (method, path, body) in [
        (HTTPRequest.Method.put, record, #"{"fields":{}}"#), (.patch, record, #"{"title":"x"}"#),
        (.delete, record, nil), (.post, record + "/share", #"{"add":{"principals":["bob"]}}"#),
      ] {
        let reply = try await ann(method, path, body, [.ifMatch: "*"])
        #expect(try reply.status == 403 && reply.code() == "forbidden", "\(method) \(path): \(reply.status)")
      }
      #expect(try await ann(.post, "/v1/spaces/hut/lists", #"{"name":"mine"}"#).status == 403)
      let blob = "/v1/spaces/hut/blobs/" + String(repeating: "0", count: 64)
      let type: HTTPFields = [.contentType: "application/octet-stream"]
      for method in [HTTPRequest.Method.put, .patch] {
        #expect(try await ann(method, blob, "x", type).status == 403, "\(method)")
      }
      let operation = BothySync.SyncOperation(
        id: "o", kind: .insert, record: RecordID(type: "Todo", id: "2"), fields: [:])
      let sync = SyncRequest(device: "d", operations: [operation], pulls: [.init(.everything)]).encoded()
      let reply = try await ann(.post, "/v1/spaces/hut/sync", String(decoding: sync, as: UTF8.self))
      let response = try SyncResponse(decoding: reply.bytes)
      guard case .rejected(let rejection)? = response.outcomes.first?.verdict else {
        Issue.record("\(response.outcomes)")
        return
      }
      #expect(rejection.code == "forbidden")
      #expect(response.pages.first?.changes.count == 1, "what others wrote is read in the same request")
    }
  }

  private static let marker = "not-in-any-log"

  private static let unusable: [(status: Int, body: String)] = {
    let home = #"{"space":"hut","rights":"write"}"#
    func with(_ entry: String) -> (Int, String) { (200, #"{"spaces":[\#(home),\#(entry)]}"#) }
    let many = (0...1000).map { #"{"space":"s\#($0)","rights":"read"}"# }.joined(separator: ",")
    return [
      (201, #"{"spaces":[\#(home)]}"#), (204, ""), (302, #"{"spaces":[\#(home)]}"#), (404, ""), (503, marker),
      (200, ""), (200, marker), (200, "[]"), (200, "{}"), (200, #"{"spaces":{}}"#),
      (200, #"{"spaces":["hut"]}"#),
      (200, #"{"spaces":[\#(home)],"spaces":[\#(home)]}"#), (200, #"{"spaces":[\#(home)],"\#(marker)":1}"#),
      (200, #"{"spaces":[\#(home)]}x"#), with(home), with(#"{"space":"*","rights":"read"}"#),
      with(#"{"space":"","rights":"read"}"#), with(#"{"space":"a\u0308","rights":"read"}"#),
      with(#"{"space":"\#(String(repeating: "s", count: 129))","rights":"read"}"#),
      with(#"{"space":"team","rights":"\#(marker)"}"#), with(#"{"space":"team"}"#),
      with(#"{"rights":"read"}"#),
      with(#"{"space":"team","rights":"read","rights":"write"}"#),
      with(#"{"space":"team","rights":"read","\#(marker)":1}"#), with(#"{"space":1,"rights":"read"}"#),
      with(many), (200, #"{"spaces":[\#(home)]}"# + String(repeating: " ", count: 256 << 10)),
    ]
  }()

  /// Promises: A-79
  @Test("An answer that isn't exactly as agreed opens nothing, and is 503")
  func lies() async throws {
    for (status, body) in Self.unusable {
      let world = try await SpaceWorld { _ in BackEndUnderTest.text(body, status: status) }
      try await world.server.run { call async throws in
        let reply = try await call.with(token: world.token())(.get, Self.changes("hut"))
        #expect(reply.status == 503 && reply.headers[.retryAfter] == "5", "\(status) \(body.prefix(100))")
        #expect(!reply.text.contains(Self.marker))
      }
      #expect(!world.log.text.contains(Self.marker), "a log has nothing of the answer")
      #expect(world.log.lines.contains { $0.message == "the back end did not say which spaces are open" })
    }
    let large = try await SpaceWorld { _ in throw OutboundResponse.TooLarge() }
    try await large.server.run { call async throws in
      #expect(try await call.with(token: large.token())(.get, Self.changes("hut")).status == 503)
    }
  }

  // MARK: lives

  /// Promises: A-78
  @Test("An answer holds for its time, and a refusal for a shorter one")
  func lifetimes() async throws {
    let world = try await SpaceWorld()
    try await world.server.run { call async throws in
      let ann = try await call.with(token: world.token())
      @Sendable func status(_ space: String, after seconds: Int64) async throws -> Int {
        world.time.now += seconds * 1000
        return try await ann(.get, Self.changes(space)).status
      }
      #expect(try await status("hut", after: 0) == 200)
      #expect(try await status("team", after: 9) == 403)
      #expect(world.asked.count == 1)
      world.open(["hut": "write", "team": "write"])
      #expect(try await status("team", after: 1) == 200)
      #expect(world.asked.count == 2)
      world.open(["team": "read"])
      #expect(try await status("hut", after: 299) == 200)
      #expect(world.asked.count == 2)
      #expect(try await status("hut", after: 1) == 403)
      #expect(world.asked.count == 3)
      let write = try await ann(.put, "/v1/spaces/team/records/T/1", #"{"fields":{}}"#)
      #expect(write.status == 403)
      // With a clock that was set back the age of an answer isn't known.
      #expect(try await status("team", after: -60) == 200)
      #expect(world.asked.count == 4)
    }
  }

  @Test("Users beyond the number in memory are asked about again")
  func manyUsers() async throws {
    var limits = SpaceCallout.Limits()
    limits.principals = 100
    let world = try await SpaceWorld(limits: limits)
    try await world.server.run { call async throws in
      func ask(_ number: Int) async throws {
        let token = try await world.token("user\(number)")
        #expect(try await call.with(token: token)(.get, Self.changes("hut")).status == 200)
      }
      for number in 0..<250 { try await ask(number) }
      #expect(world.asked.count == 250)
      for number in 201..<250 { try await ask(number) }
      #expect(world.asked.count == 250, "the last ones are known")
      try await ask(0)
      #expect(world.asked.count == 251)
    }
  }
}
