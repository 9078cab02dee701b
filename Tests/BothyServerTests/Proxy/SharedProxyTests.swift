import BothyCache
import BothyServer
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("A proxy with several users", .timeLimit(.minutes(5)))
struct SharedProxyTests {
  private func proxy() throws -> ProxyUnderTest { try ProxyUnderTest() }

  @Test("A response for one user isn't stored, and each gets their own")
  func isPrivate() async throws {
    for control in ["private, max-age=100", "max-age=100, private=\"set-cookie\""] {
      let proxy = try proxy()
      for name in ["one", "two", "three"] { proxy.origin.answers(200, [.cacheControl: control], name) }
      for name in ["one", "two", "three"] { #expect(try await proxy.get("/a").text == name) }
      #expect(proxy.origin.requests.count == 3)
    }
    let own = try ProxyUnderTest(isPrivate: true)
    own.origin.answers(200, [.cacheControl: "private, max-age=100"], "one")
    for _ in 0..<2 { #expect(try await own.get("/a").text == "one") }
  }

  @Test("The lifetime for shared caches counts before the others", arguments: [true, false])
  func lifetime(isShared: Bool) async throws {
    let proxy = try ProxyUnderTest(isPrivate: !isShared)
    proxy.origin.answers(200, [.cacheControl: "max-age=10, s-maxage=100"], "old")
    proxy.origin.answers(200, [.cacheControl: "max-age=10, s-maxage=100"], "new")
    #expect(try await proxy.get("/a").text == "old")
    proxy.pass(seconds: 50)
    #expect(try await proxy.get("/a").text == (isShared ? "old" : "new"))
    proxy.pass(seconds: 60)
    #expect(try await proxy.get("/a").text == "new")
  }

  @Test("A stale response that shared caches have to confirm isn't used without the origin")
  func confirmed() async throws {
    for control in ["max-age=10, proxy-revalidate", "s-maxage=10"] {
      let proxy = try proxy()
      proxy.origin.answers(200, [.cacheControl: control], "old")
      #expect(try await proxy.get("/a").text == "old")
      proxy.pass(seconds: 20)
      proxy.origin.fails()
      #expect(try await proxy.get("/a").status == 502)
      let own = try ProxyUnderTest(isPrivate: true)
      own.origin.answers(200, [.cacheControl: "max-age=10, proxy-revalidate"], "old")
      #expect(try await own.get("/a").text == "old")
      own.pass(seconds: 20)
      own.origin.fails()
      #expect(try await own.get("/a").text == "old")
    }
  }

  @Test("A garbled lifetime for shared caches makes a response stale")
  func garbled() async throws {
    let proxy = try proxy()
    proxy.origin.answers(200, [.cacheControl: "max-age=100, s-maxage=x"], "old")
    proxy.origin.answers(200, [:], "new")
    for text in ["old", "new"] { #expect(try await proxy.get("/a").text == text) }
  }

  @Test("Requests with credentials pass, each for itself")
  func credentials() async throws {
    let proxy = try proxy()
    for name in ["one", "two"] {
      proxy.origin.answers(200, [.cacheControl: "public, max-age=100"], name)
    }
    #expect(try await proxy.get("/a", [.authorization: "Bearer 1"]).text == "one")
    #expect(try await proxy.get("/a", [.authorization: "Bearer 2"]).text == "two")
  }

  @Test("Requests with cookies pass, each for itself")
  func cookies() async throws {
    let proxy = try proxy()
    for name in ["one", "two"] {
      proxy.origin.answers(200, [.cacheControl: "public, max-age=100"], name)
    }
    #expect(try await proxy.get("/a", [.cookie: "sid=1"]).text == "one")
    #expect(try await proxy.get("/a", [.cookie: "sid=2"]).text == "two")
  }

  @Test("A response stays within four variants")
  func variants() async throws {
    let proxy = try proxy()
    let language = try #require(HTTPField.Name("Accept-Language"))
    for number in 0..<12 {
      proxy.origin.answers(200, [.cacheControl: "max-age=100", .vary: "accept-language"], "\(number)")
      #expect(try await proxy.get("/a", [language: "x-\(number)"]).text == "\(number)")
    }
    #expect(try await proxy.get("/a", [language: "x-11"]).text == "11")
    proxy.origin.answers(200, [.cacheControl: "max-age=100", .vary: "accept-language"], "again")
    #expect(try await proxy.get("/a", [language: "x-0"]).text == "again")
    #expect(proxy.origin.requests.count == 13)
  }

  @Test("A confirmation that forbids storing removes the entry", arguments: ["private", "no-store"])
  func confirmed(as control: String) async throws {
    let proxy = try proxy()
    proxy.origin.answers(200, [.cacheControl: "max-age=10", .eTag: "\"a\""], "stored")
    #expect(try await proxy.get("/a").text == "stored")
    proxy.pass(seconds: 20)
    proxy.origin.answers(304, [.cacheControl: "\(control), max-age=100", .eTag: "\"a\""], "")
    proxy.origin.answers(200, [.cacheControl: control], "own")
    // The confirmed bytes are for the caller whose request was confirmed.
    #expect(try await proxy.get("/a").text == "stored")
    #expect(try await proxy.get("/a").text == "own")
    #expect(proxy.origin.last?.fields[.ifNoneMatch] == nil)
  }

  @Test("An error page for one user leaves the stored response")
  func error() async throws {
    let proxy = try proxy()
    proxy.origin.answers(200, [.cacheControl: "s-maxage=10", .eTag: "\"a\""], "stored")
    #expect(try await proxy.get("/a").text == "stored")
    proxy.pass(seconds: 20)
    proxy.origin.answers(503, [.cacheControl: "private"], "away")
    #expect(try await proxy.get("/a").status == 503)
    proxy.origin.answers(304, [.cacheControl: "s-maxage=10", .eTag: "\"a\""], "")
    #expect(try await proxy.get("/a").text == "stored")
  }

  @Test("While the origin wants no requests, refusals say for how long")
  func paused() async throws {
    let proxy = try ProxyUnderTest(clock: VirtualClock())
    proxy.origin.answers(503, [.retryAfter: "30"], "busy")
    #expect(try await proxy.get("/a").text == "busy")
    let refusal = try await proxy.get("/b")
    #expect(refusal.status == 503 && refusal.fields[.retryAfter] == "30")
    #expect(proxy.origin.requests.count == 1)
  }

  @Test("Requests that joined a response for one caller are each passed on")
  func joined() async throws {
    let proxy = try proxy()
    let (pieces, rest) = AsyncThrowingStream.makeStream(of: Data.self)
    proxy.origin.answers(200, [.cacheControl: "private"], pieces)
    for number in 0..<4 { proxy.origin.answers(200, [.cacheControl: "private"], "own \(number)") }
    let running = try proxy.proxy()
    let request = ProxyRequest(method: .get, target: "/a", fields: [:])
    let (first, second) = (
      Task { try await running.answer(request) }, Task { try await running.answer(request) }
    )
    while proxy.origin.requests.isEmpty || proxy.joined != 1 { await Task.yield() }
    rest.yield(Data("joined".utf8))
    rest.finish()
    var texts: Set<String> = []
    for task in [first, second] { texts.insert(try await text(of: task.value)) }
    for _ in 0..<2 { texts.insert(try await text(of: running.answer(request))) }
    #expect(texts == ["own 0", "own 1", "own 2", "own 3"])
    #expect(proxy.origin.requests.count == 5)
  }

  private func text(of answer: ProxyAnswer) async throws -> String {
    let bytes = Collected()
    try await bytes.take(answer.body)
    return String(decoding: bytes.bytes, as: UTF8.self)
  }

  @Test("A proxy with one user keeps private responses, cookies and answers to credentials")
  func oneUser() async throws {
    let proxy = try ProxyUnderTest(isPrivate: true)
    proxy.origin.answers(200, [.cacheControl: "private, max-age=100", .setCookie: "sid=1"], "one")
    for _ in 0..<2 {
      let reply = try await proxy.get("/a", [.cookie: "sid=1", .authorization: "Bearer 1"])
      #expect(reply.text == "one" && reply.fields[.setCookie] == "sid=1")
    }
    #expect(proxy.origin.requests.count == 1)
    #expect(proxy.origin.last?.fields[.authorization] == "Bearer 1")
  }
}
