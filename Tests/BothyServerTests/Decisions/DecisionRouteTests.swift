import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import HTTPTypes
import HummingbirdTesting
import Testing

/// The team's rule behind every address that writes.
@Suite("Decisions of the team's rule by address", .timeLimit(.minutes(5)))
struct DecisionRouteTests {
  private static let space = "/v1/spaces/hut"
  private static let record = space + "/records/Todo/1"

  /// A request that changes a record.
  private struct Row {
    var path: String
    var body: String?
    var headers: HTTPFields = [.ifMatch: "*"]
    /// The kind and the type of the write that the rule is asked about.
    var asks: (BothySync.ChangeKind, String)
  }

  /// The routes that change records. The others with a body change none.
  private static let rows: [String: Row] = [
    "sync": Row(
      path: space + "/sync",
      body:
        #"{"device":"d","operations":[{"id":"o","kind":"insert","type":"Todo","record":"2","fields":{}}]}"#,
      headers: [:], asks: (.insert, "Todo")),
    "putRecord": Row(path: record, body: #"{"fields":{"title":"x"}}"#, asks: (.update, "Todo")),
    "patchRecord": Row(path: record, body: #"{"title":"x"}"#, asks: (.update, "Todo")),
    "deleteRecord": Row(path: record, asks: (.delete, "Todo")),
    "shareRecord": Row(
      path: record + "/share", body: #"{"add":{"principals":["bob"]}}"#, asks: (.update, "Todo")),
    "createList": Row(
      path: space + "/lists", body: #"{"name":"mine"}"#, headers: [:], asks: (.insert, UserList.typeName)),
    "putList": Row(
      path: space + "/lists/L", body: #"{"name":"other","members":[]}"#, asks: (.update, UserList.typeName)),
    "deleteList": Row(path: space + "/lists/L", asks: (.delete, UserList.typeName)),
    // Without tokens all callers are the user `anyone`.
    "leaveList": Row(path: space + "/joined-lists/L", headers: [:], asks: (.update, UserList.typeName)),
  ]
  private static let readers: Set<String> = ["query", "count"]
  private static let uploads: Set<String> = ["putBlob", "uploadBlobPart"]

  private func fill(_ storage: any ServerStorage) async throws {
    try await ServerUnderTest(storage: storage).run { call async throws in
      #expect(try await call(.put, Self.record, #"{"fields":{"title":"t"}}"#).status == 201)
      let list = #"{"id":"L","name":"mine","members":["anyone"]}"#
      #expect(try await call(.post, Self.space + "/lists", list).status == 201)
    }
  }

  private func checkAll(on storage: any ServerStorage) async throws {
    try await fill(storage)
    let head = try await storage.read(space: "hut") { $0.head }
    let rule = RuleUnderTest { _ in .refuse("team", "The team says no.") }
    var under = try ServerUnderTest(storage: storage)
    under.configuration.rules.writeRule = rule
    let server = BothyServer(under.configuration)
    let routes = server.routes.filter { $0.method != "GET" }
    #expect(
      Set(routes.map(\.operation))
        == Set(Self.rows.keys).union(Self.readers).union(Self.uploads),
      "a new route that isn't GET needs a row here")
    try await server.application().test(.router) { client async throws in
      let call = RouteClient(client: client)
      for route in routes {
        guard let row = Self.rows[route.operation] else { continue }
        let method = try #require(HTTPRequest.Method(route.method))
        let before = rule.asked.value.count
        let reply = try await call(method, row.path, row.body, row.headers)
        let code =
          route.operation == "sync"
          ? try reply.json()["outcomes"]?.arrayValue?.first?["code"]?.stringValue : try reply.code()
        #expect(code == "team", "\(route.operation): \(reply.status) \(reply.text.prefix(200))")
        #expect(reply.status == (route.operation == "sync" ? 200 : 422), "\(route.operation)")
        let asked = rule.asked.value.dropFirst(before)
        #expect(asked.count == 1, "\(route.operation) asks once")
        #expect(asked.first?.kind == row.asks.0 && asked.first?.record.type == row.asks.1)
      }
    }
    #expect(try await storage.read(space: "hut") { $0.head } == head, "nothing was written")
  }

  @Test("Every route that changes a record asks the rule, and obeys its refusal")
  func everyRoute() async throws { try await checkAll(on: SQLiteServerStorage()) }

  @Test(
    "Every route asks the rule on PostgreSQL",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func everyRouteOnPostgres() async throws {
    try await PostgresUnderTest.with { try await checkAll(on: $0) }
  }

  @Test("Answers have the fields that the rule set")
  func amended() async throws {
    var server = try ServerUnderTest()
    server.configuration.rules.writeRule = RuleUnderTest { write in
      switch (write.kind, write.record.type) {
      case (.delete, _): .accept
      case (_, UserList.typeName): .amend(setting: ["name": "team"])
      default: .amend(setting: ["stamp": 1])
      }
    }
    try await server.run { call async throws in
      let made = try await call(.put, Self.record, #"{"fields":{"title":"t"}}"#)
      #expect(try made.status == 201 && made.json()["fields"] == ["title": "t", "stamp": 1])
      let patched = try await call(.patch, Self.record, #"{"title":"u","stamp":null}"#, [.ifMatch: "*"])
      #expect(try patched.json()["fields"] == ["title": "u", "stamp": 1])
      let list = try await call(.post, Self.space + "/lists", #"{"id":"L","name":"mine"}"#)
      #expect(try list.status == 201 && list.json()["name"] == "team")
      let put = try await call(.put, Self.space + "/lists/L", #"{"name":"x","members":["bob"]}"#)
      #expect(try put.json()["name"] == "team" && put.json()["members"] == ["bob"])
      #expect(try await call(.get, Self.space + "/lists/L").tag == put.tag)
      #expect(try await call(.delete, Self.record, nil, [.ifMatch: "*"]).status == 204)
    }
  }

  /// Promises: A-27
  @Test("Without a decision writes are 503 with a time, and reads go on")
  func outage() async throws {
    let (log, time) = (LogUnderTest(), ClockUnderTest())
    let rule = RuleUnderTest { _ in .undecided("the reason") }
    var server = try ServerUnderTest()
    server.configuration.rules.writeRule = rule
    server.configuration.logger = log.logger()
    server.configuration.now = { time.now }
    try await server.run { call async throws in
      @Sendable func put(_ id: Int) async throws -> Reply {
        try await call(.put, Self.space + "/records/Todo/\(id)", #"{"fields":{}}"#)
      }
      let refused = try await put(1)
      #expect(try refused.status == 503 && refused.code() == "undecided")
      #expect(refused.headers[.retryAfter] == "5" && !refused.text.contains("the reason"))
      #expect(try await call(.get, Self.space + "/changes").status == 200)
      _ = try await put(2)
      time.now += 60_000
      _ = try await put(3)
      rule.set { write in
        write.record.id == "1"
          ? .refuse("no", "No.") : write.record.id == "2" ? .amend(setting: [:]) : .accept
      }
      for id in 1...3 { _ = try await put(id) }
      let text = try await call(.get, "/metrics").text
      for line in [
        #"bothy_decisions_total{decision="accepted"} 1"#, #"bothy_decisions_total{decision="amended"} 1"#,
        #"bothy_decisions_total{decision="refused"} 1"#, #"bothy_decisions_total{decision="undecided"} 3"#,
        "bothy_decision_outages_total 3", "bothy_decision_seconds_count 6",
      ] {
        #expect(text.contains(line), "\(line)")
      }
    }
    let lines = log.lines.filter { $0.message.hasPrefix("writes ") }
    #expect(
      lines.map(\.message) == [
        "writes were not decided", "writes were not decided", "writes are decided again",
      ])
    #expect(lines.map { $0.metadata["requests"] } == ["1", "2", nil])
    #expect(lines.first?.metadata["reason"] == "the reason")
  }

  /// Promises: A-27
  @Test("A server that accepts undecided writes counts the outage")
  func accepting() async throws {
    var server = try ServerUnderTest()
    server.configuration.rules.writeRule = RuleUnderTest { _ in .undecided("out") }
    server.configuration.rules.acceptsUndecided = true
    try await server.run { call async throws in
      #expect(try await call(.put, Self.record, #"{"fields":{}}"#).status == 201)
      #expect(try await call(.get, "/metrics").text.contains("bothy_decision_outages_total 1"))
    }
  }

  @Test("A back end decides about a device's sync from end to end")
  func backEnd() async throws {
    let backEnd = BackEndUnderTest { _ in
      BackEndUnderTest.text(
        """
        {"decisions":[{"id":"o1","decision":"amend","set":{"stamp":1}},
          {"id":"o2","decision":"refuse","code":"no","message":"No."}]}
        """)
    }
    var server = try ServerUnderTest()
    server.configuration.rules.writeRule = try backEnd.callout()
    try await server.run { call async throws in
      let operations = ["1", "2"].map { id in
        BothySync.SyncOperation(
          id: "o\(id)", kind: .insert, record: RecordID(type: "Todo", id: id), fields: ["title": "t"])
      }
      let request = String(
        decoding: SyncRequest(device: "d", operations: operations).encoded(), as: UTF8.self)
      for _ in 0..<2 {
        let reply = try await call(.post, Self.space + "/sync", request)
        let outcomes = try SyncResponse(decoding: reply.bytes).outcomes
        switch outcomes.first?.verdict {
        case .applied(_, _, let record)?, .duplicate(_, _, let record)?:
          #expect(try record?.fields.members() == ["title": "t", "stamp": 1])
        default: Issue.record("\(outcomes)")
        }
        #expect(outcomes.last?.verdict == .rejected(Rejection(code: "no", message: "No.")))
      }
    }
    #expect(backEnd.requests.count == 1, "a repetition isn't asked about")
  }
}
