import BothyServer
import HTTPTypes
import Testing

@Suite("Limits of connections on real sockets", .timeLimit(.minutes(5)))
struct ConnectionLimitTests {
  private func server(
    _ change: (inout ServerConfiguration.Limits) -> Void
  ) throws -> ServerConfiguration {
    var limits = ServerConfiguration.Limits()
    change(&limits)
    return try ServerUnderTest(limits: limits).configuration
  }

  /// Promises: A-39
  @Test("A slow header ends its connection, and others continue")
  func header() async throws {
    try await ConnectedServer.run(server { $0.headerTime = .seconds(2) }) { server async throws in
      try await server.line { line async throws in
        try await line.send("GET /livez HTTP/1.1\r\nHost:")
        #expect(try await line.isEnded())
      }
      // A busy machine may take too long for this header too.
      var metrics = try? await server.get("/metrics").text
      while metrics == nil { metrics = try? await server.get("/metrics").text }
      #expect(metrics?.contains(/bothy_connections_ended_total\{reason="slowHeader"\} [1-9]/) == true)
    }
  }

  @Test("A slow body is answered 408, and its connection ends")
  func body() async throws {
    let limits = try server {
      ($0.bodyTime, $0.bodyRate) = (.milliseconds(50), 1 << 20)
    }
    try await ConnectedServer.run(limits) { server async throws in
      var reply: ProxyReply?
      // A busy machine may take longer for the answer than a connection waits for it.
      while reply == nil {
        try? await server.line { line async throws in
          let answer = try await line.request(
            "POST /v1/spaces/hut/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
              + "Content-Length: 100\r\n\r\n{\"type\"")
          #expect(try await line.isEnded())
          reply = answer
        }
      }
      #expect(reply?.status == 408 && reply?.fields[.connection] == "close")
      #expect(reply?.text.contains("tooSlow") == true)
      let metrics = try await server.get("/metrics").text
      #expect(metrics.contains(/bothy_connections_ended_total\{reason="slowBody"\} [1-9]/))
      #expect(metrics.contains(/bothy_refusals_total\{reason="tooSlow"\} [1-9]/))
    }
  }

  @Test("A connection beyond the limit ends at once, and later ones are served")
  func full() async throws {
    try await ConnectedServer.run(server { $0.connections = 1 }) { server async throws in
      try await server.line { line async throws in
        #expect(try await line.request("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
        try await server.line { other async throws in #expect(try await other.isEnded()) }
        let metrics = try await line.request("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").text
        #expect(metrics.contains(#"bothy_connections_ended_total{reason="full"} 1"#))
        #expect(metrics.contains("\nbothy_connections 1\n"))
      }
      // The server learns of the end of the first connection a moment later.
      while true {
        do {
          #expect(try await server.get("/livez").status == 200)
          break
        } catch { await Task.yield() }
      }
    }
  }

  @Test("A connection beyond its address's limit ends at once, but not a proxy's")
  func address() async throws {
    var configuration = try server { $0.addressConnections = 1 }
    try await ConnectedServer.run(configuration) { server async throws in
      try await server.line { _ async throws in #expect(try await server.get("/livez").status == 200) }
    }
    configuration.proxies = []
    try await ConnectedServer.run(configuration) { server async throws in
      try await server.line { line async throws in
        #expect(try await line.request("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 200)
        try await server.line { other async throws in #expect(try await other.isEnded()) }
        let metrics = try await line.request("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").text
        #expect(metrics.contains(#"bothy_connections_ended_total{reason="address"} 1"#))
      }
    }
  }

  @Test("A header beyond its size is refused")
  func headerSize() async throws {
    try await ConnectedServer.run(server { $0.headerSize = 8 << 10 }) { server async throws in
      try await server.line { line async throws in
        let padding = String(repeating: "x", count: 9 << 10)
        let reply = try await line.request(
          "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Padding: \(padding)\r\n\r\n")
        #expect(reply.status == 400)
      }
      #expect(try await server.get("/livez").status == 200)
    }
  }

  @Test("A user's event streams are limited, and the end of one makes room")
  func streams() async throws {
    var limits = ServerConfiguration.Limits()
    limits.streams = 1
    let issuer = IssuerUnderTest()
    let (server, clock, token) = try await issuer.serverWithEndingToken(limits: limits)
    let other = try await issuer.hs256(.init(sub: "bob", exp: 50))
    let later = try await issuer.hs256(.init(exp: 100))
    let notifications = server.configuration.notifications
    try await server.run { call async throws in
      async let stream = call.with(token: token)(.get, "/v1/spaces/hut/events")
      while notifications.streamCount == 0 { await Task.yield() }
      let refused = try await call.with(token: later)(.get, "/v1/spaces/hut/events")
      #expect(refused.status == 429 && refused.headers[.retryAfter] == "30")
      #expect(try refused.code() == "tooManyStreams")
      #expect(try await call.with(token: other)(.head, "/v1/spaces/hut/events").status == 200)
      clock.now = 50_000
      notifications.publish(space: "hut")
      #expect(try await stream.status == 200)
      // A stream's place is free when its response is gone.
      while try await call.with(token: later)(.head, "/v1/spaces/hut/events").status != 200 {
        await Task.yield()
      }
    }
  }
}
