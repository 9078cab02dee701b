import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import NIOCore
import Testing

@Suite("Access and rate limits", .timeLimit(.minutes(5)))
struct AccessTests {
  private static let tokens = """
    [{"token":"a-token","principal":"ann","spaces":["hut"]},
     {"token":"b-token","principal":"bob","spaces":["*"]}]
    """

  @Test("A missing or wrong token is 401 with a challenge, a foreign space 403")
  func tokens() async throws {
    try await ServerUnderTest(tokens: Self.tokens).run { call async throws in
      let none = try await call(.get, "/v1/spaces/hut/changes")
      #expect(none.status == 401)
      #expect(none.headers[.wwwAuthenticate] == #"Bearer realm="bothy""#)
      for token in ["x", "", "a-token2", "A-TOKEN"] {
        let wrong = try await call.with(token: token)(.get, "/v1/spaces/hut/changes")
        #expect(wrong.status == 401)
        #expect(wrong.headers[.wwwAuthenticate]?.contains("invalid_token") ?? false)
      }
      let ann = call.with(token: "a-token")
      let bob = call.with(token: "b-token")
      #expect(try await ann(.get, "/v1/spaces/hut/changes").status == 200)
      _ = try await bob(.put, "/v1/spaces/other/records/T/1", #"{"fields":{}}"#)
      let known = try await ann(.get, "/v1/spaces/other/changes")
      let unknown = try await ann(.get, "/v1/spaces/nowhere/changes")
      #expect(known.status == 403)
      #expect(unknown.status == 403)
      let messages = try [known, unknown].map { try $0.json()["error"]?["message"] }
      #expect(messages[0] == messages[1])
      let basic = try await call(.get, "/v1/spaces/hut/changes", nil, [.authorization: "Basic a-token"])
      #expect(basic.status == 401)
    }
  }

  @Test("The server refuses a request of another server's, space's or user's store")
  func file() async throws {
    try await ServerUnderTest(tokens: Self.tokens).run { call async throws in
      let ann = call.with(token: "a-token")
      let sync = try await ann(.post, "/v1/spaces/hut/sync", #"{"device":"d"}"#)
      let server = try #require(try sync.json()["history"]?["server"]?.stringValue)
      let name = try #require(HTTPField.Name("Bothy-File"))
      let answers: [(String, Int, String?)] = [
        ("\(server)/hut/ann", 200, nil), ("//ann", 200, nil), ("\(server)/hut/", 200, nil),
        ("other/hut/ann", 409, "otherServer"), ("\(server)/inn/ann", 409, "otherServer"),
        ("\(server)/hut/bob", 403, "wrongPrincipal"), ("hut", 400, "badRequest"),
      ]
      for (file, status, code) in answers {
        let reply = try await ann(.post, "/v1/spaces/hut/query", #"{"type":"T"}"#, [name: file])
        #expect(reply.status == status, "\(file): \(reply.text)")
        if let code { #expect(try reply.code() == code) }
        #expect(try await ann(.get, "/v1/spaces/hut/digest", nil, [name: file]).status == status)
      }
    }
  }

  @Test("The user who creates a record owns it")
  func owner() async throws {
    let rules = AccessRules(
      schema: try todoSchema(
        Permissions(create: .authenticated, read: .owner, update: .owner, delete: .owner)))
    try await ServerUnderTest(rules: rules, tokens: Self.tokens).run { call async throws in
      let address = "/v1/spaces/hut/records/Todo/1"
      let made = try await call.with(token: "a-token")(.put, address, #"{"fields":{"title":"a"}}"#)
      #expect(try made.json()["owner"] == "ann")
      let bob = call.with(token: "b-token")
      #expect(try await bob(.get, address).status == 404)
      #expect(try await bob(.put, address, #"{"fields":{"title":"b"}}"#).status == 403)
      #expect(try await bob(.get, "/v1/spaces/hut/changes").text.contains("title") == false)
      #expect(try await bob(.get, "/v1/spaces/hut/containers").json()["count"] == 0)
    }
  }

  @Test("Requests beyond the burst are 429 with Retry-After, for that user alone")
  func rate() async throws {
    let limits = ServerConfiguration.Limits(requestsPerSecond: 0.001, requestBurst: 2)
    try await ServerUnderTest(tokens: Self.tokens, limits: limits).run { call async throws in
      let ann = call.with(token: "a-token")
      for _ in 0..<2 { #expect(try await ann(.get, "/v1/spaces/hut/changes").status == 200) }
      let refused = try await ann(.get, "/v1/spaces/hut/changes")
      #expect(refused.status == 429)
      #expect(Int(refused.headers[.retryAfter] ?? "") ?? 0 > 0)
      #expect(try await call.with(token: "b-token")(.get, "/v1/spaces/hut/changes").status == 200)
      #expect(try await call(.get, "/healthz").status == 200)
    }
  }

  @Test(
    "The server refuses a tokens file with a mistake",
    arguments: [
      "{}", "[{}]", #"[{"token":"a","principal":"p","x":1}]"#,
      #"[{"token":"a","principal":"p"},{"token":"a","principal":"q"}]"#, #"[{"token":"","principal":"p"}]"#,
    ])
  func badTokens(text: String) {
    #expect(throws: (any Error).self) { try TokenTable(json: text) }
  }

  @Test("An unsupported method is 405 with Allow, an unknown address 404")
  func addresses() async throws {
    try await ServerUnderTest().run { call async throws in
      let wrong = try await call(.post, "/v1/spaces/hut/records/T/1", "{}")
      #expect(wrong.status == 405)
      #expect(wrong.headers[.allow] == "GET, HEAD, PUT, PATCH, DELETE")
      #expect(try await call(.trace, "/healthz").status == 405)
      let unknown = try #require(HTTPRequest.Method("PROPFIND"))
      for path in ["/healthz", "/v1/spaces/a/containers", "/v1/spaces/a/containers/b/c%2Fd"] {
        let reply = try await call(unknown, path)
        #expect(reply.status == 405 && reply.headers[.allow] == "GET, HEAD", "\(path)")
      }
      let head = try await call(.head, "/healthz")
      #expect(head.status == 200 && head.bytes.isEmpty && head.headers[.contentLength] == "15")
      for path in [
        "/", "/v1", "/v1/spaces//sync", "/v1/spaces/a/records/T", "/v1/spaces/a/containers/", "/v2",
        "/healthz/", "//healthz", "/v1/spaces/a/digest/", "/v1/spaces/a/containers/b//c", "/%68ealthz",
      ] {
        let reply = try await call(.get, path)
        #expect(reply.status == 404, "\(path)")
        #expect(try reply.code() == "notFound")
        #expect(
          try reply.json()["error"]?["message"]?.stringValue
            == "This server has no such address. /openapi.json lists those it has.")
      }
      let long = String(repeating: "s", count: 129)
      #expect(try await call(.get, "/v1/spaces/\(long)/changes").status == 400)
    }
  }

  @Test("A body over the limit is 413, one of another type or encoding 415")
  func bodies() async throws {
    let limits = ServerConfiguration.Limits(bodySize: 1000)
    try await ServerUnderTest(limits: limits).run { call async throws in
      let address = "/v1/spaces/hut/sync"
      let long = #"{"device":"\#(String(repeating: "x", count: 1000))"}"#
      #expect(try await call(.post, address, long).status == 413)
      #expect(try await call(.post, address, "{}", [.contentType: "text/xml"]).status == 415)
      let coded = try await call(.post, address, "{}", [.contentEncoding: "br"])
      #expect(coded.status == 415)
      #expect(coded.headers[.acceptEncoding] == "gzip")
      #expect(try await call(.post, address, "{}", [.contentEncoding: "gzip"]).status == 400)
    }
  }
}
