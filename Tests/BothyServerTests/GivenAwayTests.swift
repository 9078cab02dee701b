import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@Suite("Protection of content from other sites, programs and callers", .timeLimit(.minutes(5)))
struct GivenAwayTests {
  private let record = "/v1/spaces/hut/records/Todo/1"
  private let body = #"{"fields":{"title":"t"}}"#

  @Test("A server without tokens refuses names that are not its own")
  func hosts() async throws {
    var server = try ServerUnderTest()
    server.configuration.allowedHosts = ["bothy.home"]
    try await server.run { call async throws in
      let made = try await call(.put, record, body)
      #expect(made.status == 201)
    }
    #expect(server.answersTo("127.0.0.1:8080") && server.answersTo("[::1]:8080"))
    #expect(
      server.answersTo("localhost") && server.answersTo("LOCALHOST:1") && server.answersTo("192.168.1.20"))
    #expect(server.answersTo("bothy.home:8080"))
    for foreign in [
      "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "1.2.3", "", "256.1.1.1",
      "[::1].evil.example", "[evil:example]",
    ] {
      #expect(!server.answersTo(foreign), "\(foreign)")
    }
    server = try ServerUnderTest(tokens: #"[{"token":"a","principal":"ann","spaces":["hut"]}]"#)
    #expect(server.answersTo("evil.example"), "a page of the web has no token")
  }

  @Test("A server without tokens refuses a body without a content type")
  func types() async throws {
    try await ServerUnderTest().run { call async throws in
      let reply = try await call.untyped(.put, record, body)
      #expect(reply == 415)
      #expect(try await call(.get, record).status == 404)
      #expect(try await call(.put, record, body).status == 201)
    }
    try await ServerUnderTest(tokens: #"[{"token":"a","principal":"ann","spaces":["hut"]}]"#).run {
      call async throws in
      #expect(try await call.with(token: "a").untyped(.put, record, body) == 201)
    }
  }

  @Test("The response to one program's cookie is for it alone, without replays")
  func cookies() async throws {
    let proxy = try ProxyUnderTest()
    let fields: HTTPFields = [.cacheControl: "max-age=600", .setCookie: "sid=ONE"]
    proxy.origin.answers(200, fields, "of one")
    proxy.origin.answers(200, fields, "of two")
    proxy.origin.answers(200, fields, "of all")
    let one = try await proxy.get("/a", [.cookie: "sid=ONE"])
    let two = try await proxy.get("/a", [.cookie: "sid=TWO"])
    #expect(one.text == "of one" && two.text == "of two", "each is asked for at the origin")
    #expect(one.fields[.setCookie] == "sid=ONE", "what is passed on is as it was")
    for _ in 0..<2 {
      let reply = try await proxy.get("/a")
      #expect(reply.text == "of all" && reply.fields[.setCookie] == nil)
    }
    #expect(proxy.origin.requests.count == 3)
  }

  @Test(
    "The response to a key or a token is for its sender alone",
    arguments: [
      "X-Api-Key", "Api-Key", "X-Auth-Token", "Proxy-Authorization", "X-Goog-Api-Key", "PRIVATE-TOKEN",
      "Ocp-Apim-Subscription-Key", "X-Session-Id", "DPoP",
    ])
  func keys(_ field: String) async throws {
    let name = try #require(HTTPField.Name(field))
    let proxy = try ProxyUnderTest()
    for text in ["of one", "of two", "of all"] {
      proxy.origin.answers(200, [.cacheControl: "max-age=600"], text)
    }
    #expect(try await proxy.get("/a", [name: "ONE"]).text == "of one")
    #expect(try await proxy.get("/a", [name: "TWO"]).text == "of two")
    #expect(try await proxy.get("/a").text == "of all")
    #expect(try await proxy.get("/a").text == "of all")
  }

  @Test("A response's credentials reach no other caller, and its challenges stay")
  func replayed() async throws {
    let proxy = try ProxyUnderTest()
    var fields: HTTPFields = [.cacheControl: "max-age=600", .wwwAuthenticate: "Basic"]
    for name in ["Set-Cookie", "Set-Cookie2", "Authentication-Info", "X-Auth-Token", "X-CSRF-Token"] {
      fields[try #require(HTTPField.Name(name))] = "MARKER"
    }
    proxy.origin.answers(200, fields, "body")
    for _ in 0..<2 {
      let reply = try await proxy.get("/a")
      #expect(!reply.fields.contains { $0.value == "MARKER" })
      #expect(reply.fields[.wwwAuthenticate] == "Basic")
    }
    #expect(proxy.origin.requests.count == 1)
  }

  @Test("The cache's proxy refuses foreign names, and changes from pages of other sites")
  func foreignToProxy() async throws {
    let proxy = try ProxyUnderTest()
    for _ in 0..<20 { proxy.origin.answers(200, [.cacheControl: "no-store"], "ok") }
    for own in ["localhost:8081", "127.0.0.1:8081", "[::1]:8081", "origin.example"] {
      #expect(try await proxy.send(.get, "/a", to: own).status == 200)
    }
    for foreign in ["evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example"] {
      #expect(try await proxy.send(.get, "/a", to: foreign).status == 421)
    }
    let asked = proxy.origin.requests.count
    let json: HTTPFields = [.contentType: "application/json"]
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
      let fields: HTTPFields = [.contentType: "text/plain", .origin: origin]
      #expect(try await proxy.send(.post, "/a", fields, body: "x", to: "localhost").status == 403)
      #expect(try await proxy.send(.delete, "/a", [.origin: origin], to: "localhost").status == 403)
    }
    #expect(try await proxy.send(.post, "/a", body: "x", to: "localhost").status == 415)
    #expect(proxy.origin.requests.count == asked)
    let own: HTTPFields = [.contentType: "application/json", .origin: "http://localhost:8081"]
    #expect(try await proxy.send(.post, "/a", own, body: "{}", to: "localhost:8081").status == 200)
    #expect(try await proxy.send(.post, "/a", json, body: "{}", to: "127.0.0.1").status == 200)
  }

  @Test("The cookie of an unstored response reaches only the caller it is for")
  func firstCookie() async throws {
    let proxy = try ProxyUnderTest()
    for name in ["first", "second", "third", "fourth"] {
      proxy.origin.answers(200, [.cacheControl: "no-store", .setCookie: "sid=\(name)"], "login")
    }
    #expect(try await proxy.get("/login").fields[.setCookie] == "sid=first")
    #expect(try await proxy.get("/login").fields[.setCookie] == "sid=second")
    #expect(proxy.origin.requests.count == 2, "a link that is good for one request isn't used up")
  }

  @Test(
    "The cookie of a response that isn't fresh reaches its caller",
    arguments: ["", "no-cache", "max-age=0"])
  func staleCookie(control: String) async throws {
    let proxy = try ProxyUnderTest()
    var fields: HTTPFields = [.eTag: "\"a\""]
    if !control.isEmpty { fields[.cacheControl] = control }
    for (number, status) in [200, 304, 200].enumerated() {
      fields[.setCookie] = "sid=\(number)"
      proxy.origin.answers(status, fields, status == 200 ? "login" : "")
    }
    #expect(try await proxy.get("/login").fields[.setCookie] == "sid=0")
    #expect(proxy.origin.requests.count == 1)
    let reply = try await proxy.get("/login")
    #expect(reply.text == "login" && reply.fields[.setCookie] == "sid=2", "a confirmation brings none")
  }

  @Test("Callers that joined a response each have a cookie of their own")
  func joinedCookie() async throws {
    let proxy = try ProxyUnderTest()
    let (pieces, rest) = AsyncThrowingStream.makeStream(of: Data.self)
    proxy.origin.answers(200, [.cacheControl: "no-cache", .setCookie: "sid=joined"], pieces)
    for name in ["one", "other"] {
      proxy.origin.answers(200, [.cacheControl: "no-cache", .setCookie: "sid=\(name)"], "login")
    }
    let callers = (0..<2).map { _ in Task { try await proxy.get("/login") } }
    while proxy.origin.requests.isEmpty || proxy.joined != 1 { await Task.yield() }
    rest.yield(Data("joined".utf8))
    rest.finish()
    var cookies: Set<String?> = []
    for caller in callers { cookies.insert(try await caller.value.fields[.setCookie]) }
    #expect(cookies == ["sid=one", "sid=other"])
  }

  @Test("Work ends when its caller's connection closes, and other work continues")
  func departure() async throws {
    let (departures, connections) = (Departures(), [NSObject(), NSObject()])
    let started = AsyncStream.makeStream(of: Void.self)
    let (left, stays) = (ObjectIdentifier(connections[0]), ObjectIdentifier(connections[1]))
    let ended = Task {
      try await departures.ending(with: left) {
        started.continuation.yield()
        for await _ in AsyncStream<Void>.makeStream().stream {}
        try Task.checkCancellation()
      }
    }
    for await _ in started.stream { break }
    let other = try await departures.ending(with: stays) {
      departures.left(left)
      try Task.checkCancellation()
      return 7
    }
    #expect(other == 7)
    await #expect(throws: CancellationError.self) { try await ended.value }
  }

  @Test("Requests that were read before their connection ended are cancelled as they begin")
  func pipelinedDeparture() async throws {
    let (departures, object) = (Departures(), NSObject())
    let connection = ObjectIdentifier(object)
    departures.opened(connection)
    #expect(try await departures.ending(with: connection) { !Task.isCancelled })
    departures.left(connection)
    for _ in 0..<3 {
      await #expect(throws: CancellationError.self) {
        try await departures.ending(with: connection) {
          for await _ in AsyncStream<Void>.makeStream().stream {}
          try Task.checkCancellation()
        }
      }
    }
    // Another connection may get the same identity.
    departures.closed(connection)
    departures.left(connection)
    #expect(try await departures.ending(with: connection) { !Task.isCancelled })
  }

  @Test("The end of a shutdown's time cancels what runs and what begins later")
  func end() async throws {
    let (departures, objects) = (Departures(), [NSObject(), NSObject()])
    let (early, late) = (ObjectIdentifier(objects[0]), ObjectIdentifier(objects[1]))
    let started = AsyncStream.makeStream(of: Void.self)
    let running = Task {
      try await departures.ending(with: early) {
        started.continuation.yield()
        for await _ in AsyncStream<Void>.makeStream().stream {}
        try Task.checkCancellation()
      }
    }
    for await _ in started.stream { break }
    departures.endAll()
    await #expect(throws: CancellationError.self) { try await running.value }
    await #expect(throws: CancellationError.self) {
      try await departures.ending(with: late) {
        for await _ in AsyncStream<Void>.makeStream().stream {}
        try Task.checkCancellation()
      }
    }
  }

  @Test("A hanging database is reported within the limit, by one check for all callers")
  func health() async throws {
    let storage = HangingStorage()
    var server = try ServerUnderTest(storage: storage)
    server.configuration.limits.healthTime = .milliseconds(50)
    try await server.run { call async throws in
      for _ in 0..<3 {
        let reply = try await call(.get, "/healthz")
        #expect(reply.status == 503 && reply.headers[.retryAfter] == "1")
      }
      #expect(storage.looks == 1)
      storage.goOn()
      while try await call(.get, "/healthz").status != 200 { await Task.yield() }
    }
  }
}

extension ServerUnderTest {
  fileprivate func answersTo(_ host: String) -> Bool { configuration.answers(to: host) }
}

extension RouteClient {
  /// Sends a body without a content type.
  fileprivate func untyped(_ method: HTTPRequest.Method, _ uri: String, _ body: String) async throws -> Int {
    var headers = HTTPFields()
    if let token { headers[.authorization] = "Bearer \(token)" }
    return try await client.execute(uri: uri, method: method, headers: headers, body: .init(string: body)) {
      $0.status.code
    }
  }
}

/// A storage whose database doesn't respond until the test releases it.
private final class HangingStorage: ServerStorage {
  let identity = "hanging"
  private let gate = Latch()
  private let calls = Calls()

  var looks: Int { calls.count }

  func check() async throws {
    calls.add()
    await gate.pass()
  }

  func goOn() { gate.open() }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { throw CancellationError() }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result { throw CancellationError() }
}
