import BothyServer
import BothyStore
import BothyTestSupport
import HTTPTypes
import Testing

@Suite("Looks at running servers", .timeLimit(.minutes(5)))
struct ServerWatchTests {
  private struct Refused: Error {}

  private static let stopping = #"{"error":{"code":"stopping","message":"The server stops."}}"#

  private static func text(connections: Int, refused: Int, requests: Int) -> String {
    """
    # TYPE bothy_refusals_total counter
    bothy_refusals_total{reason="expired"} \(refused)
    bothy_http_requests_total{method="POST",route="/v1/spaces/{space}/sync",status="401"} \(refused)
    bothy_http_requests_total{method="POST",route="/v1/spaces/{space}/sync",status="200"} \(requests)
    bothy_connections \(connections)
    bothy_limit{limit="connections"} 100
    bothy_limit{limit="principal-rate"} +Inf

    """
  }

  @Test("A text of metrics is parsed with labels, escapes and infinity")
  func text() {
    let text = MetricsText(
      parsing: """
        # HELP a Things.
        a{x="1",y="a\\"b\\\\c\\nd"} 2
        a{x="2"} 3.5
        b 4 1700000000
        c +Inf
        broken{x= 1
        nothing
        """)
    #expect(text.all("a").map(\.labels) == [["x": "1", "y": "a\"b\\c\nd"], ["x": "2"]])
    #expect(text.sum("a") == 5.5 && text.sum("a", ["x": "2"]) == 3.5 && text.sum("a", ["x": "3"]) == nil)
    #expect(text.sum("b") == 4 && text.sum("c") == .infinity)
    #expect(text.sum("broken") == nil && text.sum("nothing") == nil)
  }

  @Test("A server that doesn't answer is away since the first look without an answer")
  func away() async throws {
    let clock = Locked<Int64>(1000)
    let isAway = Locked(true)
    let watch = ServerWatch(["http://a", "http://b"], now: { clock.value }) { url in
      if url.hasPrefix("http://a"), isAway.value { throw BothyError(.unreachable, "No answer.") }
      let body = url.hasSuffix("/metrics") ? Self.text(connections: 1, refused: 0, requests: 1) : "{}"
      return ServerWatch.Response(status: 200, body: Array(body.utf8))
    }
    await watch.look()
    clock.value = 6000
    await watch.look()
    var servers = await watch.servers
    #expect(
      servers[0].awaySince == 1000 && servers[0].answeredAt == nil && servers[0].problem == "No answer.")
    #expect(servers[1].awaySince == nil && servers[1].answeredAt == 6000 && servers[1].isReady == true)
    isAway.value = false
    clock.value = 11_000
    await watch.look()
    servers = await watch.servers
    #expect(servers[0].awaySince == nil && servers[0].problem == nil && servers[0].answeredAt == 11_000)
    isAway.value = true
    clock.value = 16_000
    await watch.look()
    clock.value = 21_000
    await watch.look()
    servers = await watch.servers
    #expect(servers[0].awaySince == 16_000 && servers[0].answeredAt == 11_000)
    #expect(servers[0].metrics != nil, "what it last said is kept")
  }

  @Test("A server that isn't ready answers, and its reason is told")
  func unready() async throws {
    let watch = ServerWatch(["http://a"], now: { 1000 }) { url in
      url.hasSuffix("/metrics")
        ? ServerWatch.Response(
          status: 200, body: Array(Self.text(connections: 1, refused: 0, requests: 1).utf8))
        : ServerWatch.Response(status: 503, body: Array(Self.stopping.utf8))
    }
    await watch.look()
    let server = try #require(await watch.servers.first)
    #expect(server.awaySince == nil && server.isReady == false && server.unreadiness == "The server stops.")
  }

  @Test(
    "An address that has no metrics of a server is told of",
    arguments: [(403, ""), (200, "<html></html>"), (200, "go_goroutines 7\n")])
  func foreign(_ status: Int, _ body: String) async throws {
    let watch = ServerWatch(["http://a"], now: { 1000 }) { _ in
      ServerWatch.Response(status: status, body: Array(body.utf8))
    }
    await watch.look()
    let server = try #require(await watch.servers.first)
    #expect(server.awaySince == 1000 && server.problem?.contains("Give the address of") == true)
  }

  @Test("Refusals count lately and in all, also across a restart of the process")
  func refusals() async throws {
    let clock = Locked<Int64>(0)
    let refused = Locked(10)
    let watch = ServerWatch(["http://a"], now: { clock.value }) { url in
      let body = Self.text(connections: 1, refused: refused.value, requests: 1)
      return ServerWatch.Response(status: 200, body: Array(url.hasSuffix("/metrics") ? body.utf8 : "{}".utf8))
    }
    let reports = OperatorReports(database: nil, watch: watch, now: { clock.value })
    func lately() async throws -> [JSONValue?] {
      let json = try JSONValue(parsing: try #require(try await reports.document("refusals", [:])))
      let server = json["servers"]?.arrayValue?.first
      return [server?["reasons"], server?["routes"]].map { $0?.arrayValue?.first?["lately"] }
    }
    await watch.look()
    #expect(try await lately() == [0, 0])
    refused.value = 17
    await watch.look()
    #expect(try await lately() == [7, 7])
    refused.value = 2
    await watch.look()
    #expect(try await lately() == [2, 2], "it was started again, and has refused two since")
  }

  @Test("A limit has its value, the most seen, and its count of refusals")
  func limits() async throws {
    let clock = Locked<Int64>(0)
    let connections = Locked(30)
    let watch = ServerWatch(["http://a", "http://b"], now: { clock.value }) { url in
      if url.hasPrefix("http://b") { throw Refused() }
      let body = Self.text(connections: connections.value, refused: 1, requests: 1)
      return ServerWatch.Response(status: 200, body: Array(url.hasSuffix("/metrics") ? body.utf8 : "{}".utf8))
    }
    await watch.look()
    (connections.value, clock.value) = (4, 5000)
    await watch.look()
    let reports = OperatorReports(database: nil, watch: watch, now: { clock.value })
    let json = try JSONValue(parsing: try #require(try await reports.document("limits", [:])))
    func entries(_ name: String) -> [JSONValue] {
      json["limits"]?.arrayValue?.first { $0["name"]?.stringValue == name }?["servers"]?.arrayValue ?? []
    }
    let found = try #require(entries("connections").first)
    #expect(found["value"] == 100 && found["text"] == "100" && found["used"] == 4)
    #expect(found["peak"] == 30 && found["peakAt"] == 0)
    #expect(found["reached"]?.arrayValue?.first?["total"] == 0)
    #expect(entries("connections").last?["value"] == .null, "the other server has never answered")
    #expect(entries("principal-rate").first?["text"] == "none")
    #expect(entries("requests").first?["text"] == .null, "the server doesn't tell it")
    #expect(json["limits"]?.arrayValue?.count == ServerLimit.all.count)
  }

  @Test("A real server's metrics have the limits in force")
  func ownLimits() async throws {
    var limits = ServerConfiguration.Limits()
    limits.connections = 123
    let server = try ServerUnderTest(limits: limits)
    try await server.run { call async throws in
      let text = MetricsText(parsing: try await call(.get, "/metrics").text)
      #expect(text.sum("bothy_limit", ["limit": "connections"]) == 123)
      #expect(text.sum("bothy_limit", ["limit": "principal-rate"]) == .infinity)
      #expect(text.sum("bothy_limit", ["limit": "readers"]) == nil, "of a storage of its own it knows none")
    }
    var whole = try ServerUnderTest(limits: limits)
    whole.configuration.bounds = ServerBounds()
    try await whole.run { call async throws in
      let text = MetricsText(parsing: try await call(.get, "/metrics").text)
      #expect(text.sum("bothy_limit", ["limit": "readers"]) == Double(ServerBounds().database.readers))
      let optional = ServerLimit.all.filter { $0.range != nil }
      #expect(text.all("bothy_limit").count == optional.count)
    }
  }
}
