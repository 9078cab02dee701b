import BothyServer
import BothyStore
import BothySync
import HTTPTypes
import Testing

@Suite("Fair scheduling of requests", .timeLimit(.minutes(5)))
struct TurnsTests {
  private static let tokens = """
    [{"token":"a","principal":"ann","spaces":["hut"]},{"token":"b","principal":"bob","spaces":["hut"]}]
    """

  @Test("A user's requests have a share and a line, which others and /healthz pass")
  func share() async throws {
    let storage = try GatedStorage()
    var limits = ServerConfiguration.Limits()
    (limits.concurrency, limits.principalConcurrency, limits.waiting) = (3, 1, 1)
    let server = try ServerUnderTest(tokens: Self.tokens, limits: limits, storage: storage)
    try await server.run { call async throws in
      @Sendable func pull(_ token: String) async throws -> Reply {
        try await call.with(token: token)(.get, "/v1/spaces/hut/changes")
      }
      async let first = pull("a")
      await storage.waiters(1)
      // One of these waits in line, and the other is refused.
      async let second = pull("a")
      async let third = pull("a")
      async let neighbour = pull("b")
      await storage.waiters(2)
      #expect(try await call(.get, "/healthz").status == 200)
      storage.open()
      let statuses = try await [first, second, third].map(\.status).sorted()
      #expect(statuses == [200, 200, 503] || statuses == [200, 200, 200], "the line may be free by then")
      #expect(try await neighbour.status == 200)
      for _ in 0..<3 { #expect(try await pull("a").status == 200) }
    }
  }

  /// Promises: A-38
  @Test("A user's second request waits although slots are free, and others pass it")
  func secondOfUser() async throws {
    let storage = try GatedStorage()
    var limits = ServerConfiguration.Limits()
    (limits.concurrency, limits.principalConcurrency) = (3, 1)
    try await ServerUnderTest(tokens: Self.tokens, limits: limits, storage: storage).run {
      call async throws in
      @Sendable func pull(_ token: String) async throws -> Int {
        try await call.with(token: token)(.get, "/v1/spaces/hut/changes").status
      }
      async let first = pull("a")
      await storage.waiters(1)
      async let second = pull("a")
      var metrics = ""
      repeat {
        metrics = try await call(.get, "/metrics").text
      } while storage.arrived == 1 && !metrics.contains(#"bothy_requests_waiting{kind="pull"} 1"#)
      #expect(storage.arrived == 1, "the second request has no slot")
      async let other = pull("b")
      await storage.waiters(2)
      storage.open()
      #expect(try await [first, second, other] == [200, 200, 200])
    }
  }

  @Test("A request beyond the line is refused at once, with a time to retry")
  func line() async throws {
    let storage = try GatedStorage()
    var limits = ServerConfiguration.Limits()
    (limits.concurrency, limits.principalConcurrency, limits.waiting) = (3, 1, 0)
    try await ServerUnderTest(tokens: Self.tokens, limits: limits, storage: storage).run {
      call async throws in
      let ann = call.with(token: "a")
      async let first = ann(.get, "/v1/spaces/hut/changes")
      await storage.waiters(1)
      storage.close()
      let refused = try await ann(.get, "/v1/spaces/hut/changes")
      #expect(refused.status == 503 && refused.headers[.retryAfter] == "1")
      storage.open()
      #expect(try await first.status == 200)
    }
  }
}
