import BothyCache
import BothyCore
import BothyServer
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("The cache as a proxy", .timeLimit(.minutes(5)))
struct CacheProxyTests {
  private let hour: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"1\""]

  @Test("A second request is served from the cache, with age and origin's date")
  func hit() async throws {
    let proxy = try ProxyUnderTest()
    let date = HTTPDate.text(proxy.now)
    proxy.origin.answers(
      200, [.cacheControl: "max-age=3600", .date: date, .contentType: "text/plain"], "map")
    let first = try await proxy.get("/a?b=1")
    proxy.pass(seconds: 100)
    let second = try await proxy.get("/a?b=1")
    #expect(first.text == "map" && second.text == "map")
    #expect(first.fields[.age] == nil && second.fields[.age] == "100")
    #expect(second.fields[.date] == date && second.fields[.contentType] == "text/plain")
    #expect(first.cacheStatus == "bothy; fwd=miss; stored" && second.cacheStatus == "bothy; hit")
    #expect(proxy.origin.requests.map(\.url) == ["http://origin.example/a?b=1"])
    proxy.origin.answers()
    _ = try await proxy.get("/a?b=2")
    #expect(proxy.origin.requests.count == 2)
  }

  @Test("A stale entry is validated with its tag, and the new fields are sent")
  func confirmed() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "map")
    proxy.origin.answers(304, [.cacheControl: "max-age=60", .eTag: "\"1\""], "")
    _ = try await proxy.get("/a")
    proxy.pass(seconds: 3600)
    let reply = try await proxy.get("/a")
    #expect(proxy.origin.last?.fields[.ifNoneMatch] == "\"1\"")
    #expect(reply.status == 200 && reply.text == "map" && reply.fields[.cacheControl] == "max-age=60")
    #expect(reply.cacheStatus == "bothy; hit; fwd=stale; fwd-status=304")
  }

  @Test("A successful change invalidates entries, a failed one doesn't, and bodies pass whole")
  func invalidation() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "old")
    proxy.origin.answers(500, [:], "no")
    proxy.origin.answers(201, [.location: "/b"], "made")
    proxy.origin.answers(200, hour, "new")
    _ = try await proxy.get("/a")
    #expect(try await proxy.send(.put, "/a", [.contentType: "text/x"], body: "x").status == 500)
    #expect(try await proxy.get("/a").text == "old")
    let change = try await proxy.send(.put, "/a", [.contentType: "text/x"], body: "change")
    #expect(change.status == 201 && change.text == "made" && change.fields[.location] == "/b")
    #expect(
      proxy.origin.last?.body == Data("change".utf8) && proxy.origin.last?.fields[.contentType] == "text/x")
    #expect(try await proxy.get("/a").text == "new")
  }

  @Test("Responses with no-store, to credentials and of event streams are not stored")
  func passing() async throws {
    let requests: [HTTPFields] = [
      [.cacheControl: "no-store"], [.authorization: "Bearer x"], [.accept: "text/event-stream"],
    ]
    for fields in requests {
      let proxy = try ProxyUnderTest()
      for _ in 0..<2 { proxy.origin.answers(200, hour, "secret") }
      for _ in 0..<2 { #expect(try await proxy.get("/a", fields).text == "secret") }
      #expect(proxy.origin.requests.count == 2)
    }
    let proxy = try ProxyUnderTest()
    for _ in 0..<2 { proxy.origin.answers(200, [.cacheControl: "no-store, max-age=60"], "secret") }
    for _ in 0..<2 { #expect(try await proxy.get("/a").cacheStatus == "bothy; fwd=miss") }
  }

  @Test("A GET with a body passes with it, and is answered for itself")
  func bodies() async throws {
    let proxy = try ProxyUnderTest()
    for body in ["all", "one", "two"] { proxy.origin.answers(200, hour, body) }
    #expect(try await proxy.get("/search").text == "all")
    for body in ["one", "two"] {
      #expect(try await proxy.send(.get, "/search", [.contentType: "text/x"], body: body).text == body)
      #expect(proxy.origin.last?.body == Data(body.utf8))
    }
    #expect(try await proxy.get("/search").text == "all")
    #expect(proxy.origin.requests.count == 3)
  }

  @Test("Reads with the condition of a writer pass, each for itself")
  func writersConditions() async throws {
    for fields: HTTPFields in [
      [.ifMatch: "\"1\""], [.ifUnmodifiedSince: "Tue, 15 Nov 1994 12:45:26 GMT"], [.ifRange: "\"1\""],
    ] {
      let proxy = try ProxyUnderTest()
      for name in ["one", "two"] { proxy.origin.answers(200, hour, name) }
      for name in ["one", "two"] { #expect(try await proxy.get("/a", fields).text == name) }
      #expect(proxy.origin.requests.count == 2)
    }
  }

  @Test("The proxy follows a program's cache directives")
  func directives() async throws {
    let proxy = try ProxyUnderTest()
    let nothing = try await proxy.get("/a", [.cacheControl: "only-if-cached"])
    #expect(nothing.status == 504 && proxy.origin.requests.isEmpty)
    for body in ["1", "2", "3"] { proxy.origin.answers(200, [.cacheControl: "max-age=100"], body) }
    #expect(try await proxy.get("/a").text == "1")
    #expect(try await proxy.get("/a", [.cacheControl: "only-if-cached"]).text == "1")
    #expect(try await proxy.get("/a", [.cacheControl: "no-cache"]).text == "2")
    proxy.pass(seconds: 50)
    #expect(try await proxy.get("/a", [.cacheControl: "max-age=50"]).text == "2")
    #expect(try await proxy.get("/a", [.cacheControl: "max-age=49"]).text == "3")
    proxy.pass(seconds: 100)
    #expect(try await proxy.get("/a", [.cacheControl: "only-if-cached"]).status == 504)
    #expect(try await proxy.get("/a", [.cacheControl: "only-if-cached, max-stale=10"]).text == "3")
  }

  @Test("A request for what is stored alone never reaches the origin")
  func onlyStored() async throws {
    let proxy = try ProxyUnderTest()
    let requests: [(HTTPRequest.Method, HTTPFields)] = [
      (.get, [.range: "bytes=0-1"]), (.get, [.authorization: "Bearer a"]), (.head, [:]),
    ]
    for (method, given) in requests {
      var fields = given
      fields[.cacheControl] = "only-if-cached"
      #expect(try await proxy.send(method, "/a", fields).status == 504)
    }
    #expect(proxy.origin.requests.isEmpty)
    proxy.origin.answers(200, [.cacheControl: "max-age=100"], "map")
    #expect(try await proxy.get("/a").text == "map")
    let part = try await proxy.get("/a", [.cacheControl: "only-if-cached", .range: "bytes=0-1"])
    #expect(part.status == 206 && part.text == "ma" && proxy.origin.requests.count == 1)
  }

  @Test("A program that has the bytes gets 304 without a request to the origin")
  func conditions() async throws {
    let proxy = try ProxyUnderTest()
    let modified = HTTPDate.text(proxy.now - 5000)
    proxy.origin.answers(
      200, [.cacheControl: "max-age=60", .eTag: "W/\"1\"", .lastModified: modified], "map")
    let first = try await proxy.get("/a", [.ifNoneMatch: "\"0\""])
    #expect(first.status == 200 && first.text == "map" && proxy.origin.last?.fields[.ifNoneMatch] == nil)
    for fields: HTTPFields in [
      [.ifNoneMatch: "\"0\", \"1\""], [.ifNoneMatch: "*"], [.ifModifiedSince: modified],
      [.ifNoneMatch: "W/\"1\"", .ifModifiedSince: HTTPDate.text(0)],
    ] {
      let reply = try await proxy.get("/a", fields)
      #expect(reply.status == 304 && reply.text == "" && reply.fields[.eTag] == "W/\"1\"")
    }
    #expect(try await proxy.get("/a", [.ifModifiedSince: HTTPDate.text(proxy.now - 9000)]).status == 200)
    #expect(proxy.origin.requests.count == 1)
  }

  @Test("A part comes from a whole entry, else passes and is never stored")
  func parts() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(206, [.contentRange: "bytes 1-2/4", .cacheControl: "max-age=60"], "12")
    proxy.origin.answers(200, hour, "0123")
    #expect(try await proxy.get("/a", [.range: "bytes=1-2"]).status == 206)
    #expect(try await proxy.get("/a").text == "0123")
    for (range, text, content) in [("0-1", "01", "0-1"), ("1-", "123", "1-3"), ("-1", "3", "3-3")] {
      let part = try await proxy.get("/a", [.range: "bytes=\(range)"])
      #expect(part.status == 206 && part.text == text && part.fields[.contentRange] == "bytes \(content)/4")
    }
    #expect(try await proxy.get("/a", [.range: "bytes=9-"]).status == 416)
    #expect(proxy.origin.requests.count == 2)
  }

  @Test("A part is requested without a content coding, a whole resource with any")
  func uncoded() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(206, [.contentRange: "bytes 1-2/4"], "12")
    proxy.origin.answers(200, hour, "0123")
    #expect(try await proxy.get("/a", [.range: "bytes=1-2", .acceptEncoding: "gzip"]).text == "12")
    #expect(proxy.origin.last?.fields[.acceptEncoding] == "identity")
    #expect(try await proxy.get("/a").text == "0123")
    #expect(proxy.origin.last?.fields[.acceptEncoding] == nil)
  }

  @Test("A stale entry replaces a failure of the origin, unless directives forbid it")
  func failures() async throws {
    for (control, standsIn) in [("max-age=10", true), ("max-age=10, must-revalidate", false)] {
      let proxy = try ProxyUnderTest()
      proxy.origin.answers(200, [.cacheControl: control], "old")
      proxy.origin.answers(503, [:], "down")
      proxy.origin.fails()
      _ = try await proxy.get("/a")
      proxy.pass(seconds: 10)
      let busy = try await proxy.get("/a")
      #expect(busy.status == (standsIn ? 200 : 503) && busy.text == (standsIn ? "old" : "down"))
      let gone = try await proxy.get("/a")
      #expect(gone.status == (standsIn ? 200 : 502))
      if standsIn { #expect(gone.text == "old" && gone.fields[.age] == "10") }
    }
  }

  @Test("A part of a stale entry replaces a failure, unless directives forbid it")
  func partFailures() async throws {
    for (control, standsIn) in [("max-age=10", true), ("max-age=10, must-revalidate", false)] {
      let proxy = try ProxyUnderTest()
      proxy.origin.answers(200, [.cacheControl: control], "0123")
      proxy.origin.answers(503, [:], "down")
      proxy.origin.fails()
      _ = try await proxy.get("/a")
      proxy.pass(seconds: 10)
      for failure in [503, 502] {
        let part = try await proxy.get("/a", [.range: "bytes=1-2"])
        #expect(part.status == (standsIn ? 206 : failure))
        if standsIn { #expect(part.text == "12" && part.fields[.age] == "10") }
      }
      let stored = try await proxy.get("/a", [.range: "bytes=1-2", .cacheControl: "only-if-cached"])
      #expect(stored.status == 504)
    }
  }

  @Test("A slow origin is waited for, even if a stale response is stored")
  func slow() async throws {
    let clock = VirtualClock()
    let proxy = try ProxyUnderTest(clock: clock)
    proxy.origin.answers(200, [.cacheControl: "max-age=10"], "old")
    _ = try await proxy.get("/a")
    proxy.pass(seconds: 60)
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    proxy.origin.answers(200, [:], pieces)
    let reply = Task { try await proxy.get("/a") }
    try await until { proxy.origin.requests.count == 2 && !clock.sleepers.isEmpty }
    for _ in 0..<10 {
      clock.advance(by: .seconds(1))
      await Task.yield()
    }
    continuation.yield(Data("new".utf8))
    continuation.finish()
    #expect(try await reply.value.text == "new")
  }

  @Test("Twenty slow responses don't hold up another one")
  func manySlow() async throws {
    let proxy = try ProxyUnderTest(clock: VirtualClock())
    let streams = (0..<20).map { _ in AsyncThrowingStream.makeStream(of: Data.self) }
    for stream in streams { proxy.origin.answers(200, [:], stream.stream) }
    proxy.origin.answers(200, [:], "quick")
    let slow = (0..<20).map { number in Task { try await proxy.get("/\(number)").status } }
    try await until { proxy.origin.requests.count == 20 }
    #expect(try await proxy.get("/quick").text == "quick")
    for stream in streams { stream.continuation.finish() }
    for reply in slow { #expect(try await reply.value == 200) }
  }

  @Test("Errors and redirects pass unchanged, and are stored if HTTP allows it")
  func otherStatuses() async throws {
    for status in [301, 400, 404, 410, 500] {
      let proxy = try ProxyUnderTest()
      proxy.origin.answers(status, [.cacheControl: "max-age=60", .location: "/b"], "why")
      for _ in 0..<2 {
        let reply = try await proxy.get("/a")
        #expect(reply.status == status && reply.text == "why" && reply.fields[.location] == "/b")
      }
      #expect(proxy.origin.requests.count == 1, "\(status)")
    }
  }

  @Test("Fields of a connection stay on it, in both directions")
  func connections() async throws {
    let proxy = try ProxyUnderTest()
    let (hop, plain) = (try #require(HTTPField.Name("X-Hop")), try #require(HTTPField.Name("X-Plain")))
    let via = try #require(HTTPField.Name("Via"))
    let fields: HTTPFields = [.connection: "close, X-Hop", hop: "1", plain: "2", .acceptEncoding: "br"]
    proxy.origin.answers(200, fields)
    let reply = try await proxy.get("/a", fields)
    let sent = try #require(proxy.origin.last?.fields)
    for seen in [sent, reply.fields] {
      #expect(seen[.connection] == nil && seen[hop] == nil && seen[plain] == "2" && seen[via] == "1.1 bothy")
    }
    #expect(sent[.acceptEncoding] == nil)
  }

  @Test("An unstored response is sent in pieces, before the last has arrived")
  func streaming() async throws {
    let proxy = try ProxyUnderTest()
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    proxy.origin.answers(200, [.contentType: "text/event-stream"], pieces)
    let answer = try await proxy.answer(.get, "/a", [.accept: "text/event-stream"])
    let collected = Collected()
    async let written: Void = collected.take(answer.body)
    continuation.yield(Data("first".utf8))
    while collected.bytes.isEmpty { await Task.yield() }
    #expect(collected.bytes == Array("first".utf8))
    continuation.yield(Data(" last".utf8))
    continuation.finish()
    try await written
    #expect(collected.bytes == Array("first last".utf8))
  }

  @Test("A body too large for the cache passes through whole")
  func large() async throws {
    let proxy = try ProxyUnderTest(bodyBytes: 10)
    let body = String(repeating: "x", count: 1000)
    for _ in 0..<2 { proxy.origin.answers(200, hour, body) }
    let reply = try await proxy.get("/a")
    #expect(reply.status == 200 && reply.text == body)
  }

  @Test("Foreign paths are refused, and another spelling of a path passes unchanged")
  func targets() async throws {
    let proxy = try ProxyUnderTest()
    #expect(try await proxy.get("http://elsewhere.example/a").status == 400)
    for _ in 0..<2 { proxy.origin.answers(200, hour) }
    for _ in 0..<2 { _ = try await proxy.get("/a//b/../c") }
    #expect(proxy.origin.requests.map(\.url) == Array(repeating: "http://origin.example/a//b/../c", count: 2))
  }
}
