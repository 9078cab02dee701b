import BothyServer
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

/// The rules of HTTP for the messages of a connection, without a socket and over one.
@Suite("Messages of a connection", .timeLimit(.minutes(5)))
struct ExchangeTests {
  /// A connection to the handlers, without a socket.
  private struct Line {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel

    init() throws {
      channel = EmbeddedChannel(
        handlers: [
          HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder()), ExchangeHandler(),
        ], loop: loop)
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    func wantBody() {
      channel.pipeline.triggerUserOutboundEvent(ExchangeHandler.BodyWanted(), promise: nil)
      loop.run()
    }

    /// Answers the first request that has no answer.
    func answer(_ status: HTTPResponseStatus, _ fields: HTTPHeaders = [:]) throws {
      let head = HTTPResponseHead(version: .http1_1, status: status, headers: fields)
      try channel.writeOutbound(HTTPServerResponsePart.head(head))
      try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "ok"))))
      try channel.writeOutbound(HTTPServerResponsePart.end(nil))
      loop.run()
    }

    /// Returns the bytes that were written since the last call.
    func output() throws -> String {
      var text = ""
      while let piece = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: piece) }
      return text
    }

    /// Returns the heads that came through since the last call.
    func heads() throws -> [HTTPRequestHead] {
      var heads: [HTTPRequestHead] = []
      while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
        if case .head(let head) = part { heads.append(head) }
      }
      return heads
    }
  }

  private static let expecting =
    "POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"

  @Test("A caller that waits with its body gets 100 when it is wanted, once")
  func wanted() throws {
    let line = try Line()
    try line.send(Self.expecting)
    #expect(try line.output() == "")
    line.wantBody()
    #expect(try line.output() == "HTTP/1.1 100 Continue\r\n\r\n")
    line.wantBody()
    #expect(try line.output() == "")
    try line.send("abc")
    try line.answer(.ok, ["content-length": "2"])
    #expect(try line.output() == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    #expect(line.channel.isActive)
  }

  @Test("A caller that doesn't wait, or has HTTP/1.0, gets no 100")
  func unwanted() throws {
    let line = try Line()
    try line.send(Self.expecting + "abc")
    line.wantBody()
    #expect(try line.output() == "")
    let old = try Line()
    try old.send("POST /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    old.wantBody()
    #expect(try old.output() == "")
  }

  @Test("A body that is refused before it comes gets the final status alone")
  func refused() throws {
    let line = try Line()
    try line.send(Self.expecting)
    try line.answer(.unauthorized, ["content-length": "2"])
    let output = try line.output()
    #expect(output.hasPrefix("HTTP/1.1 401 Unauthorized\r\n") && output.contains("connection: close\r\n"))
    #expect(line.channel.isActive)
    line.loop.advanceTime(by: .seconds(2))
    #expect(!line.channel.isActive)
  }

  @Test("A caller of HTTP/1.0 gets no chunks, and the end of the connection")
  func old() throws {
    let line = try Line()
    try line.send("GET /a HTTP/1.0\r\n\r\n")
    #expect(try line.heads().map(\.headers) == [["connection": "close"]])
    try line.answer(.ok)
    #expect(try line.output() == "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\nok")
    #expect(!line.channel.isActive)
  }

  @Test("A caller of HTTP/1.0 that asks to keeps its connection after known lengths")
  func oldKept() throws {
    let line = try Line()
    let request = "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    try line.send(request)
    try line.answer(.ok, ["content-length": "2"])
    #expect(
      try line.output() == "HTTP/1.0 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok")
    #expect(line.channel.isActive)
    try line.send(request)
    try line.answer(.ok)
    #expect(try line.output() == "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\nok")
    #expect(!line.channel.isActive)
  }

  @Test("A large body that is not read ends the connection after its bound")
  func large() throws {
    let line = try Line()
    try line.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
    try line.answer(.notFound, ["content-length": "2"])
    #expect(try line.output().contains("connection: close\r\n"))
    let piece = String(repeating: "x", count: 1 << 20)
    for _ in 0..<(ExchangeHandler.rest >> 20) { try line.send(piece) }
    #expect(line.channel.isActive)
    #expect(throws: HTTPParserError.invalidEOFState) { try line.send("x") }
    #expect(!line.channel.isActive)
  }

  @Test("A small body that is not read leaves the connection for further requests")
  func small() throws {
    let line = try Line()
    try line.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
    try line.answer(.notFound, ["content-length": "2"])
    #expect(try !line.output().contains("close"))
    try line.send(String(repeating: "x", count: 1000) + "GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try line.heads().map(\.uri) == ["/a", "/b"])
    try line.answer(.ok, ["content-length": "2"])
    #expect(try line.output().hasPrefix("HTTP/1.1 200 OK"))
    #expect(line.channel.isActive)
  }

  @Test("A body that is not read has half a minute to come")
  func slow() throws {
    let line = try Line()
    try line.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
    try line.answer(.notFound, ["content-length": "2"])
    line.loop.advanceTime(by: .seconds(29))
    #expect(line.channel.isActive)
    line.loop.advanceTime(by: .seconds(1))
    #expect(!line.channel.isActive)
  }

  @Test("A body in chunks that is not read has the same bound")
  func chunks() throws {
    let line = try Line()
    try line.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    try line.answer(.notFound, ["content-length": "2"])
    let chunk = "100000\r\n" + String(repeating: "x", count: 0x100000) + "\r\n"
    for _ in 0..<(ExchangeHandler.rest >> 20) { try line.send(chunk) }
    #expect(line.channel.isActive)
    #expect(throws: HTTPParserError.invalidEOFState) { try line.send(chunk) }
    #expect(!line.channel.isActive)
  }

  @Test("Requests without one host are marked, and no caller can set the mark")
  func hosts() throws {
    let line = try Line()
    try line.send("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n")
    try line.send("GET /c HTTP/1.1\r\nHost: x\r\n\(ExchangeHandler.fault): 1\r\n\r\nGET /d HTTP/1.0\r\n\r\n")
    let marked = try line.heads().map { $0.headers.contains(name: ExchangeHandler.fault) }
    #expect(marked == [true, true, false, false])
  }

  @Test("A request with an invalid host is marked")
  func invalidHosts() throws {
    let valid = [
      "a", "a:80", "a:", "127.0.0.1:8080", "[::1]", "[::1]:8080", "[v1.a:b]", "a_b.example.", "a%20b",
      "A-z~!$&'()*+;=",
    ]
    let invalid = [
      "a b/c", "a b", "a/c", "a:b", "a:80:80", "user@a", "a?b", "a#b", "a%2", "a%zz", "[::1", "[::1]a", "[]",
      "[::1]:x",
      "a\\b", "\u{E9}.example", "a\"b", "<a>",
    ]
    for (hosts, isMarked) in [(valid, false), (invalid, true)] {
      for host in hosts {
        let line = try Line()
        try line.send("GET /a HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        let marks = try line.heads().map { $0.headers.contains(name: ExchangeHandler.fault) }
        #expect(marks == [isMarked], "\(host)")
      }
    }
  }

  @Test("The server answers by these rules on a real socket")
  func socket() async throws {
    try await ConnectedServer.run(ServerUnderTest().configuration) { server async throws in
      try await server.line { line async throws in
        let body = #"{"type":"Item"}"#
        let head =
          "POST /v1/spaces/hut/query HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
          + "Content-Length: \(body.utf8.count)\r\nContent-Type: "
        #expect(try await line.request(head + "application/json\r\n\r\n", hasBody: false).status == 100)
        #expect(try await line.request(body).status == 200)
        let refused = try await line.request(head + "text/plain\r\n\r\n")
        #expect(refused.status == 415 && refused.fields[.connection] == "close")
        #expect(try await line.isEnded())
      }
      try await server.line { line async throws in
        let reply = try await line.request("GET /livez HTTP/1.0\r\n\r\n")
        #expect(reply.status == 200 && reply.fields[.connection] == "close")
        #expect(try await line.isEnded())
      }
      try await server.line { line async throws in
        let none = try await line.request("GET /livez HTTP/1.1\r\n\r\n")
        #expect(none.status == 400 && none.text.contains("Host"))
        let two = "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n"
        #expect(try await line.request(two).status == 400)
        #expect(try await line.request("GET /livez HTTP/1.1\r\nHost: a b/c\r\n\r\n").status == 400)
        let foreign = try await line.request("GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        #expect(foreign.status == 421 && foreign.text.contains("foreignHost"))
      }
    }
  }
}
