import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Dispatch
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("Health, metrics and documents for operators", .timeLimit(.minutes(5)))
struct ServiceRouteTests {
  @Test("Health is ok, and 503 if the storage can't be read")
  func health() async throws {
    try await ServerUnderTest().run { call in
      let reply = try await call(.get, "/healthz")
      #expect(reply.status == 200)
      #expect(reply.text == #"{"status":"ok"}"#)
    }
    try await ServerUnderTest(storage: BrokenStorage()).run { call in
      let reply = try await call(.get, "/healthz")
      #expect(reply.status == 503)
    }
  }

  @Test("A full disk is 503 for writes and health, until it has room")
  func fullDisk() async throws {
    let folder = try TemporaryFolder()
    let storage = try SQLiteServerStorage(at: folder.file("full.sqlite"))
    let time = Mutex<Int64>(1000)
    var server = try ServerUnderTest(storage: storage)
    server.configuration.now = { time.withLock { $0 } }
    let large = #"{"fields":{"a":"\#(String(repeating: "x", count: 200_000))"}}"#
    try await server.run { call async throws in
      _ = try await call(.put, "/v1/spaces/hut/records/T/0", #"{"fields":{}}"#)
      try storage.limit(pages: 1)
      // Writes that share a commit fail too.
      let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
        for number in 1...4 {
          group.addTask { try await call(.put, "/v1/spaces/hut/records/T/\(number)", large) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for reply in replies {
        #expect(reply.status == 503 && reply.headers[.retryAfter] == "30", "\(reply.text)")
        #expect(try reply.code() == "diskFull")
      }
      let health = try await call(.get, "/healthz")
      #expect(try health.status == 503 && health.code() == "diskFull")
      #expect(try await call(.get, "/v1/spaces/hut/records/T/0").status == 200)
      time.withLock { $0 -= 500 }
      #expect(try await call(.get, "/healthz").status == 200, "the clock was set back")
      time.withLock { $0 += 500 }
      #expect(try await call(.get, "/healthz").status == 503)
      time.withLock { $0 += 30_000 }
      #expect(try await call(.get, "/healthz").status == 200, "so that writes are tried again")
      #expect(try await call(.put, "/v1/spaces/hut/records/T/1", large).status == 503)
      #expect(try await call(.get, "/healthz").status == 503)
      try storage.limit(pages: nil)
      #expect(try await call(.put, "/v1/spaces/hut/records/T/1", large).status == 201)
      #expect(try await call(.get, "/healthz").status == 200)
    }
  }

  @Test("Writes that wait too long for an operator's command are 503")
  func busy() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("server.sqlite")
    let command = try SQLiteServerStorage(at: path)
    let storage = try SQLiteServerStorage(at: path, lanes: WriteQueues(), patience: 0.05)
    let (isHeld, end) = (Locked(false), DispatchSemaphore(value: 0))
    try await ServerUnderTest(storage: storage).run { call async throws in
      async let held: Void = command.write(space: "other") { _ in
        isHeld.value = true
        end.wait()
      }
      defer { end.signal() }
      try await until { isHeld.value }
      let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
        for number in 1...4 {
          group.addTask { try await call(.put, "/v1/spaces/hut/records/T/\(number)", #"{"fields":{}}"#) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for reply in replies {
        #expect(reply.status == 503 && reply.headers[.retryAfter] == "1", "\(reply.text)")
      }
      let error = await #expect(throws: BothyError.self) { try await storage.makeDue(space: "hut") }
      #expect(error?.code == .busy)
      end.signal()
      try await held
      #expect(try await call(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{}}"#).status == 201)
    }
  }

  @Test("A server failure is 500 and reveals no details")
  func failure() async throws {
    try await ServerUnderTest(storage: BrokenStorage()).run { call in
      let reply = try await call(.get, "/v1/spaces/hut/changes")
      #expect(reply.status == 500)
      #expect(try reply.code() == "internal")
      #expect(!reply.text.contains("secret"))
    }
  }

  @Test("Every response has the security fields and a request id, given or made")
  func fields() async throws {
    let field = try #require(HTTPField.Name("X-Request-Id"))
    try await ServerUnderTest().run { call in
      let given = try await call(.get, "/nowhere", nil, [field: "abc-1"])
      #expect(given.headers[field] == "abc-1")
      #expect(try given.json()["error"]?["requestId"] == "abc-1")
      let made = try await call(.get, "/healthz", nil, [field: "no spaces please"])
      #expect(made.headers[field]?.isEmpty == false)
      #expect(made.headers[field] != "no spaces please")
      #expect(made.headers[.xContentTypeOptions] == "nosniff")
      #expect(made.headers[.contentSecurityPolicy] == "default-src 'none'; frame-ancestors 'none'")
    }
  }

  @Test("Metrics count requests by route pattern, and operations by verdict")
  func metrics() async throws {
    try await ServerUnderTest().run { call in
      _ = try await call(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{}}"#)
      _ = try await call(.get, "/v1/spaces/hut/records/T/1")
      _ = try await call(.get, "/v1/spaces/hut/records/T/2")
      let text = try await call(.get, "/metrics").text
      let route = #"route="/v1/spaces/{space}/records/{type}/{id}""#
      #expect(text.contains("# TYPE bothy_http_requests_total counter"))
      #expect(text.contains(#"bothy_http_requests_total{method="GET",\#(route),status="200"} 1"#))
      #expect(text.contains(#"bothy_http_requests_total{method="GET",\#(route),status="404"} 1"#))
      #expect(text.contains(#"bothy_http_request_seconds_count{method="GET",\#(route),status="200"} 1"#))
      #expect(
        text.contains(#"bothy_http_request_seconds_bucket{method="GET",\#(route),status="404",le="+Inf"} 1"#))
      #expect(text.contains(#"bothy_operations_total{verdict="applied"} 1"#))
    }
  }

  @Test("The document names every route, and each of its references resolves")
  func openAPI() async throws {
    try await ServerUnderTest().run { call in
      let document = try await call(.get, "/openapi.json").json()
      #expect(document["openapi"] == "3.1.0")
      let paths = try #require(document["paths"]?.objectValue)
      for path in [
        "sync", "query", "count", "records/{type}/{id}", "changes", "containers/{path}", "digest", "events",
      ] {
        #expect(paths["/v1/spaces/{space}/\(path)"] != nil, "\(path)")
      }
      var references: Set<String> = []
      collect(document, &references)
      #expect(references.count > 10)
      for reference in references {
        var target = document
        for step in reference.dropFirst(2).split(separator: "/") { target = target[String(step)] ?? .null }
        #expect(!target.isNull, "\(reference)")
      }
    }
  }

  private func collect(_ value: JSONValue, _ references: inout Set<String>) {
    if let target = value["$ref"]?.stringValue { references.insert(target) }
    for member in (value.objectValue ?? [:]).values { collect(member, &references) }
    for element in value.arrayValue ?? [] { collect(element, &references) }
  }
}

/// A storage whose disk is missing.
struct BrokenStorage: ServerStorage {
  struct Failure: Error { let secret = "secret" }

  let identity = "broken"

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { throw Failure() }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result { throw Failure() }
}
