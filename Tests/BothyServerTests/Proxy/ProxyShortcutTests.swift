import BothyCache
import BothyServer
import Foundation
import HTTPTypes
import Testing

/// Requests that arrive again in known bytes, which a proxy doesn't parse again, over real sockets.
@Suite("Requests that a proxy knows by their bytes", .timeLimit(.minutes(5)))
struct ProxyShortcutTests {
  private let hour: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"1\"", .contentType: "text/plain"]
  private let known = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

  @Test("Known requests get responses like new ones: current age, ranges and conditions")
  func again() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    try await proxy.connected { line async throws in
      #expect(try await line.request(known).fields[.age] == nil)
      for age in [10, 10, 15] as [Int64] {
        proxy.pass(seconds: age - (Int64(try await line.request(known).fields[.age] ?? "") ?? -1))
        let reply = try await line.request(known)
        #expect(reply.status == 200 && reply.text == "kept" && reply.cacheStatus == "bothy; hit")
        #expect(reply.fields[.age] == String(age) && reply.fields[.contentLength] == "4")
        #expect(reply.fields[.eTag] == "\"1\"" && reply.fields[.contentType] == "text/plain")
        #expect(reply.fields[.connection] == nil && reply.fields[.transferEncoding] == nil)
      }
      for _ in 0..<3 {
        let same = try await line.request("GET /a HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"1\"\r\n\r\n")
        #expect(same.status == 304 && same.text == "" && same.fields[.age] == "15")
        let part = try await line.request("GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=1-2\r\n\r\n")
        #expect(part.status == 206 && part.text == "ep" && part.fields[.contentRange] == "bytes 1-2/4")
        let head = try await line.request("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n", hasBody: false)
        #expect(head.status == 502)
      }
    }
    #expect(proxy.origin.requests.map(\.method) == [.get, .head, .head, .head])
  }

  @Test("Known requests get the newest response, and an invalidated one is requested again")
  func changed() async throws {
    let proxy = try ProxyUnderTest()
    for text in ["old", "newer", "newest"] { proxy.origin.answers(200, hour, text) }
    try await proxy.connected { line async throws in
      for _ in 0..<3 { #expect(try await line.request(known).text == "old") }
      proxy.pass(seconds: 3600)
      for _ in 0..<3 {
        let reply = try await line.request(known)
        #expect(reply.text == "newer" && reply.fields[.contentLength] == "5")
      }
      #expect(
        try await line.request("GET /a HTTP/1.1\r\nHost: x\r\nCache-Control: no-cache\r\n\r\n").text
          == "newest")
      for _ in 0..<3 { #expect(try await line.request(known).text == "newest") }
      proxy.origin.answers(200, [.contentLength: "2"], "ok")
      proxy.origin.answers(200, hour, "last")
      #expect(try await line.request("DELETE /a HTTP/1.1\r\nHost: x\r\n\r\n").text == "ok")
      for _ in 0..<3 { #expect(try await line.request(known).text == "last") }
    }
  }

  @Test("Known bytes in a body or in a field are not requests", arguments: [false, true])
  func smuggled(isChunked: Bool) async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    try await proxy.connected { line async throws in
      for _ in 0..<2 { #expect(try await line.request(known).text == "kept") }
      for _ in 0..<2 {
        proxy.origin.answers(201, [.contentLength: "4"], "made")
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(known.utf8.count)"
        try await line.send(
          "POST /c HTTP/1.1\r\nHost: x\r\nContent-Type: text/x\r\nExpect: 100-continue\r\n\(framing)\r\n\r\n")
        // From here on the body arrives separately.
        #expect(try await line.reply(hasBody: false).status == 100)
        if isChunked { try await line.send(String(known.utf8.count, radix: 16) + "\r\n") }
        try await line.send(known)
        if isChunked { try await line.send("\r\n0\r\n\r\n") }
        #expect(try await line.reply().text == "made")
        #expect(proxy.origin.last?.body == Data(known.utf8))
        #expect(try await line.request(known).text == "kept")
      }
    }
    try await proxy.connected { line async throws in
      #expect(try await line.request(known).text == "kept")
      proxy.origin.answers(200, [.cacheControl: "no-store", .contentLength: "5"], "other")
      try await line.send("GET /b HTTP/1.1\r\nX-Note: ")
      // The server has served another connection in between, so it has read the first line.
      try await proxy.connected { other async throws in
        for _ in 0..<20 { #expect(try await other.request(known).text == "kept") }
      }
      #expect(try await line.request(known).text == "other")
      #expect(proxy.origin.last?.url == "http://origin.example/b")
      #expect(try await line.request(known).text == "kept")
    }
  }

  @Test("Known requests are refused after an invalid one and ignored after a close")
  func behind() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    try await proxy.connected { line async throws in
      for _ in 0..<2 { #expect(try await line.request(known).text == "kept") }
      #expect(try await line.request("nonsense\r\n\r\n" + known).status == 400)
      #expect(try await line.isEnded())
    }
    for field in ["Connection: close", "Connection: upgrade\r\nUpgrade: websocket"] {
      for _ in 0..<2 {
        try await proxy.connected { line async throws in
          let last = "GET /a HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n"
          #expect(try await line.request(known).text == "kept")
          try await line.send(last + known)
          #expect(try await line.reply().fields[.connection] == "close")
          #expect(try await line.isEnded())
        }
      }
    }
  }

  @Test("Known requests wait for the running request")
  func inTurn() async throws {
    let proxy = try ProxyUnderTest()
    proxy.origin.answers(200, hour, "kept")
    let (pieces, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
    try await proxy.connected { line async throws in
      for _ in 0..<2 { #expect(try await line.request(known).text == "kept") }
      proxy.origin.answers(200, [.cacheControl: "no-store", .contentLength: "5"], pieces)
      try await line.send("GET /b HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n\r\n")
      #expect(try await line.reply(hasBody: false).status == 200)
      try await line.send(known + known)
      continuation.yield(Data("first".utf8))
      continuation.finish()
      #expect(try await line.text(5) == "first")
      for _ in 0..<4 { #expect(try await line.reply().text == "kept"); try await line.send(known) }
    }
  }

  @Test("Known requests get the whole response even if the other side closes")
  func closing() async throws {
    let proxy = try ProxyUnderTest()
    let large = String(repeating: "0123456789", count: 300_000)
    proxy.origin.answers(200, hour, large)
    try await proxy.connected { line async throws in
      #expect(try await line.request(known).text == large)
      try await line.send(known)
      line.finish()
      #expect(try await line.rest().hasSuffix("\r\n\r\n" + large))
    }
  }
}
