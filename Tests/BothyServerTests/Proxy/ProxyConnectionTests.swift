import BothyCache
import BothyServer
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

/// The bytes of connections to a proxy, over real sockets and written by hand.
@Suite("Connections to the cache as a proxy", .timeLimit(.minutes(5)))
struct ProxyConnectionTests {
  private let hour: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"1\""]

  @Test(
    "One connection carries many requests, cached or passed, and pipelined ones in order"
  )
  func keepAlive() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    try await proxy.connected { line async throws in
      #expect(try await line.request("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").text == "kept")
      #expect(try await line.request("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").cacheStatus == "bothy; hit")
      for text in ["first", "other"] {
        proxy.origin.answers(200, [.cacheControl: "no-store", .contentLength: "5"], text)
      }
      let hit = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
      let pass = "GET /b HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n"
      try await line.send(hit + pass + hit + hit + pass + hit)
      var seen: [String] = []
      for _ in 0..<6 { seen.append(try await line.reply().text) }
      #expect(seen == ["kept", "first", "kept", "kept", "other", "kept"])
      try await line.send(String(repeating: hit, count: 3000))
      for _ in 0..<3000 { #expect(try await line.reply().text == "kept") }
    }
  }

  /// A page of the web that lets its own name point here sends that name, and reads nothing.
  @Test("A request needs one Host, and one of the proxy's own")
  func hosts() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    try await proxy.connected { line async throws in
      for host in ["x", "localhost:8081", "127.0.0.1", "[::1]:80", "ORIGIN.example"] {
        #expect(try await line.request("GET /a HTTP/1.1\r\nHost: \(host)\r\n\r\n").text == "kept", "\(host)")
      }
      for head in ["GET /a HTTP/1.1\r\nHost: evil.example", "GET http://evil.example/a HTTP/1.1\r\nHost: x"] {
        let reply = try await line.request(head + "\r\n\r\n")
        #expect(reply.status == 421 && !reply.text.contains("kept"), "\(head)")
      }
      for fields in ["", "Host: x\r\nHost: evil.example\r\n", "Host: x y\r\n"] {
        #expect(try await line.request("GET /a HTTP/1.1\r\n\(fields)\r\n").status == 400, "\(fields)")
      }
      for target in ["http://x@evil.example/a", "http://localhost:80@evil.example/a", "http://[::1/a"] {
        #expect(
          try await line.request("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n").status == 400, "\(target)")
      }
      #expect(try await line.request("GET /a HTTP/1.1\r\nHost: x\r\n\r\n").cacheStatus == "bothy; hit")
    }
    #expect(proxy.origin.requests.count == 1)
  }

  @Test("A program of HTTP/1.0 gets whole responses, and keeps the connection if it asks")
  func old() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    try await proxy.connected { line async throws in
      for _ in 0..<2 {
        let reply = try await line.request("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(reply.text == "kept" && reply.fields[.connection] == "keep-alive")
      }
      let last = try await line.request("GET /a HTTP/1.0\r\n\r\n")
      #expect(last.text == "kept" && last.fields[.connection] == nil)
      #expect(try await line.isEnded())
    }
    try await proxy.connected { line async throws in
      proxy.origin.answers(200, [.cacheControl: "no-store"], "of unknown length")
      try await line.send("GET /b HTTP/1.0\r\nConnection: keep-alive\r\nCache-Control: no-store\r\n\r\n")
      let all = try await line.rest()
      #expect(all.hasSuffix("\r\n\r\nof unknown length") && !all.lowercased().contains("transfer-encoding"))
    }
  }

  @Test("A client that announces or makes a close still gets the whole response")
  func closing() async throws {
    let proxy = try ProxyUnderTest()
    let large = String(repeating: "0123456789", count: 300_000)
    proxy.origin.answers(200, hour, large)
    proxy.origin.answers(200, hour, "small")
    try await proxy.connected { line async throws in
      let reply = try await line.request("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      #expect(reply.text == large && reply.fields[.connection] == "close")
      #expect(try await line.isEnded())
    }
    for target in ["/a", "/b"] {
      try await proxy.connected { line async throws in
        try await line.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
        line.finish()
        #expect(try await line.rest().hasSuffix("\r\n\r\n" + (target == "/a" ? large : "small")))
      }
    }
  }

  @Test("Requests that are sent all at once are answered as their client reads", arguments: [false, true])
  func unread(isKnown: Bool) async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, String(repeating: "0123456789", count: 300_000))
    try await proxy.connected { line async throws in
      _ = try await line.request("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
      let before = proxy.hits
      let requests = (0..<24).map {
        "GET /a HTTP/1.1\r\nHost: x\r\n" + (isKnown ? "" : "X-Number: \($0)\r\n") + "\r\n"
      }
      try await line.send(requests.joined())
      #expect(try await line.reply().text.utf8.count == 3_000_000)
      // The system keeps a part of the responses on their way.
      #expect(proxy.hits - before < 20)
      for _ in 1..<24 { #expect(try await line.reply().text.utf8.count == 3_000_000) }
    }
  }

  @Test("Responses without a body have none, and the next one follows")
  func framing() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    try await proxy.connected { line async throws in
      _ = try await line.request("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
      let same = try await line.request("GET /a HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"1\"\r\n\r\n")
      #expect(same.status == 304 && same.text == "" && same.fields[.contentLength] == nil)
      let part = try await line.request("GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=1-2\r\n\r\n")
      #expect(part.status == 206 && part.text == "ep" && part.fields[.contentLength] == "2")
      proxy.origin.answers(200, hour, "")
      let head = try await line.request("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n", hasBody: false)
      #expect(head.status == 200 && head.fields[.transferEncoding] == nil)
      proxy.origin.answers(204, [.contentLength: "0"], "")
      let none = try await line.request("DELETE /c HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(none.status == 204 && none.fields[.contentLength] == nil)
      proxy.origin.answers(200, [:], "pieces")
      let pieces = try await line.request(
        "POST /c HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\nContent-Length: 3\r\n\r\nabc")
      #expect(pieces.text == "6\r\npieces\r\n0\r\n\r\n" && pieces.fields[.transferEncoding] == "chunked")
      #expect(proxy.origin.last?.body == Data("abc".utf8))
      #expect(try await line.request("GET http://x/a HTTP/1.1\r\nHost: x\r\n\r\n").text == "kept")
    }
  }

  @Test("Invalid and too large requests are refused, and Expect gets a 100 response")
  func refusals() async throws {
    let proxy = try ProxyUnderTest(requestBytes: 10)
    try await proxy.connected { line async throws in
      #expect(try await line.request("nonsense\r\n\r\n").status == 400)
      #expect(try await line.isEnded())
    }
    try await proxy.connected { line async throws in
      let body = String(repeating: "x", count: 11)
      let reply = try await line.request(
        "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\nContent-Length: 11\r\n\r\n" + body)
      #expect(reply.status == 413 && reply.fields[.connection] == "close" && proxy.origin.requests.isEmpty)
      #expect(try await line.isEnded())
    }
    try await proxy.connected { line async throws in
      proxy.origin.answers(201, [.contentLength: "2"], "ok")
      try await line.send(
        "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
      )
      #expect(try await line.reply(hasBody: false).status == 100)
      #expect(try await line.request("abc").status == 201)
    }
  }

  @Test("A response that breaks off at the origin never looks whole")
  func brokenOff() async throws {
    let proxy = try ProxyUnderTest()
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    proxy.origin.answers(200, [.cacheControl: "no-store"], pieces)
    try await proxy.connected { line async throws in
      try await line.send("GET /a HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n")
      continuation.yield(Data("half".utf8))
      #expect(try await line.reply(hasBody: false).status == 200)
      continuation.finish(throwing: CancellationError())
      let rest = try? await line.rest()
      #expect(rest == nil || rest == "4\r\nhalf\r\n")
    }
  }
}
