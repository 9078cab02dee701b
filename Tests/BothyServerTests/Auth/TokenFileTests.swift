import BothyServer
import BothyStore
import BothySync
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@Suite("The tokens file", .timeLimit(.minutes(5)))
struct TokenFileTests {
  @Test("A token has 256 random bits, and the file has only its digest")
  func create() async throws {
    var file = TokenFile()
    let made = try file.create(user: "ada", spaces: ["hut"], groups: ["staff"], expires: 2_000)
    let other = try file.create(user: "ada", spaces: ["*"])
    #expect(made.token != other.token && made.id != other.id)
    #expect(made.token.count == 6 + 43)
    let text = String(decoding: file.json, as: UTF8.self)
    #expect(!text.contains(made.token) && !text.contains(made.token.dropFirst(6)))
    let read = try TokenFile(json: file.json)
    #expect(read.json == file.json)
    #expect(read.entries.map(\.id) == [made.id, other.id])
    #expect(read.entries[0].expires == 2_000 && read.entries[0].groups == ["staff"])
    #expect(!read.entries.contains { $0.isPlain })
    try await ServerUnderTest(tokens: text).run { call async throws in
      #expect(try await call.with(token: made.token)(.get, "/v1/spaces/hut/changes").status == 200)
      #expect(try await call.with(token: made.token)(.get, "/v1/spaces/other/changes").status == 403)
      #expect(try await call.with(token: other.token)(.get, "/v1/spaces/other/changes").status == 200)
    }
  }

  @Test("A token's digest and a revoked token open nothing")
  func revoke() async throws {
    var file = TokenFile()
    let made = try file.create(user: "ada", spaces: ["hut"])
    let digest = try JSONValue(parsing: file.json).arrayValue?.first?["sha256"]?.stringValue ?? ""
    #expect(digest.count == 64)
    let kept = String(decoding: file.json, as: UTF8.self)
    try await ServerUnderTest(tokens: kept).run { call async throws in
      #expect(try await call.with(token: digest)(.get, "/v1/spaces/hut/changes").status == 401)
    }
    let isKnown = file.revoke(id: made.id)
    #expect(isKnown && file.entries.isEmpty)
    let isStillKnown = file.revoke(id: made.id)
    #expect(!isStillKnown)
    try await ServerUnderTest(tokens: String(decoding: file.json, as: UTF8.self)).run { call async throws in
      #expect(try await call.with(token: made.token)(.get, "/v1/spaces/hut/changes").status == 401)
    }
  }

  @Test("The server reads and counts plain tokens, and replaces them by digests")
  func plain() async throws {
    let text = #"[{"token":"in clear","principal":"ada","spaces":["hut"]}]"#
    #expect(try TokenTable(json: text).plainTokens == 1)
    var file = try TokenFile(json: text)
    let replaced = file.hashPlainTokens()
    #expect(replaced == 1)
    let hashed = String(decoding: file.json, as: UTF8.self)
    #expect(!hashed.contains("in clear"))
    #expect(try TokenTable(json: hashed).plainTokens == 0)
    try await ServerUnderTest(tokens: hashed).run { call async throws in
      #expect(try await call.with(token: "in clear")(.get, "/v1/spaces/hut/changes").status == 200)
    }
  }

  @Test("A token opens no space whose name only looks alike")
  func doubles() async throws {
    let text = """
      [{"token":"one","principal":"ada","spaces":["caf\u{E9}"]}, {"token":"all","principal":"bea","spaces":["*"]}]
      """
    try await ServerUnderTest(tokens: text).run { call async throws in
      let (one, all) = (call.with(token: "one"), call.with(token: "all"))
      #expect(try await one(.get, "/v1/spaces/caf%C3%A9/changes").status == 200)
      #expect(try await one(.get, "/v1/spaces/cafe%CC%81/changes").status == 403)
      #expect(try await all(.get, "/v1/spaces/caf%C3%A9/changes").status == 200)
      #expect(try await all(.get, "/v1/spaces/cafe%CC%81/changes").status == 400)
    }
    for entry in [
      "\"principal\":\"Rene\u{301}\",\"spaces\":[]", "\"principal\":\"ada\",\"spaces\":[\"cafe\u{301}\"]",
      "\"principal\":\"ada\",\"spaces\":[],\"groups\":[\"e\u{301}quipe\"]",
    ] {
      #expect(throws: BothyError.self) { try TokenTable(json: "[{\"token\":\"t\",\(entry)}]") }
    }
  }

  @Test("An entry ends at its time")
  func end() async throws {
    let text = #"[{"token":"t","principal":"ada","spaces":["hut"],"expires":"1970-01-01T00:00:02Z"}]"#
    let clock = ClockUnderTest()
    var server = try ServerUnderTest(tokens: text)
    server.configuration.now = { clock.now }
    try await server.run { call async throws in
      let ada = call.with(token: "t")
      clock.now = 1_999
      #expect(try await ada(.get, "/v1/spaces/hut/changes").status == 200)
      clock.now = 2_000
      #expect(try await ada(.get, "/v1/spaces/hut/changes").status == 401)
    }
  }

  @Test(
    "The server refuses an invalid entry",
    arguments: [
      #"{"principal":"p","spaces":[]}"#, #"{"sha256":"00","principal":"p"}"#,
      #"{"token":"t","sha256":"00","principal":"p"}"#, #"{"token":"t","principal":"group:staff"}"#,
      #"{"token":"t","principal":"p","expires":"soon"}"#, #"{"token":"t","principal":"p","groups":[""]}"#,
      #"{"token":"t","principal":"p","spaces":[""]}"#,
    ])
  func refused(entry: String) {
    #expect(throws: (any Error).self) { try TokenTable(json: "[\(entry)]") }
  }
}

@Suite("Access that is read again while the server runs", .timeLimit(.minutes(5)))
struct AccessReloadTests {
  private static func read(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: path)))
  }

  private static func tokens(_ names: [String]) -> String {
    "[" + names.map { #"{"token":"\#($0)","principal":"\#($0)","spaces":["hut"]}"# }.joined(separator: ",")
      + "]"
  }

  @Test("Changed tokens and keys are read again, and a mistake changes nothing")
  func reload() async throws {
    let folder = try TileFolderUnderTest()
    let (first, second) = (IssuerUnderTest(), IssuerUnderTest())
    try folder.write("tokens.json", Self.tokens(["ann"]))
    try folder.write("keys.json", first.keySet)
    let access = try await Authentication(
      reading: AccessFiles(
        tokens: folder.path + "/tokens.json", jwtKeys: folder.path + "/keys.json", read: Self.read),
      now: { 0 })
    let (old, new) = (try await first.es256(), try await second.es256())
    var server = try ServerUnderTest()
    server.configuration.access = access
    try await BothyServer(server.configuration).application().test(.router) { client async throws in
      func statuses() async throws -> [Int] {
        var found: [Int] = []
        for token in ["ann", "bob", old, new] {
          found.append(
            try await RouteClient(client: client, token: token)(.get, "/v1/spaces/hut/changes").status)
        }
        return found
      }
      #expect(try await statuses() == [200, 401, 200, 401])
      try folder.write("tokens.json", Self.tokens(["bobby", "bob"]))
      try await access.reload()
      #expect(try await statuses() == [401, 200, 200, 401])
      try folder.write("keys.json", second.keySet)
      try await access.reload()
      #expect(try await statuses() == [401, 200, 401, 200])
      try folder.write("tokens.json", "[{")
      // The server's own check may have been first, and it reports the change once.
      _ = try? await access.reload()
      #expect(try await access.reload() == false)
      #expect(try await statuses() == [401, 200, 401, 200])
    }
  }

  @Test("A stream of events ends when its token is revoked, without more news")
  func revokedStream() async throws {
    let folder = try TileFolderUnderTest()
    try folder.write("tokens.json", Self.tokens(["ann", "bob"]))
    var server = try ServerUnderTest()
    server.configuration.access = try await Authentication(
      reading: AccessFiles(tokens: folder.path + "/tokens.json", read: Self.read), now: { 0 })
    let notifications = server.configuration.notifications
    try await server.run { call async throws in
      async let stream = call.with(token: "ann")(.get, "/v1/spaces/hut/events")
      while notifications.streamCount == 0 { await Task.yield() }
      try folder.write("tokens.json", Self.tokens(["bob"]))
      // The server checks every second, and nothing else ends the stream.
      let reply = try await stream
      #expect(reply.status == 200)
      #expect(reply.text.hasPrefix(": open"))
      #expect(!reply.text.contains("news"))
      #expect(try await call.with(token: "ann")(.get, "/v1/spaces/hut/events").status == 401)
    }
  }

  @Test("A stream of events ends with its token, before the next notification")
  func endedStream() async throws {
    let (server, clock, token) = try await IssuerUnderTest().serverWithEndingToken()
    let notifications = server.configuration.notifications
    try await server.run { call async throws in
      async let stream = call.with(token: token)(.get, "/v1/spaces/hut/events")
      while notifications.streamCount == 0 { await Task.yield() }
      clock.now = 50_000
      notifications.publish(space: "hut")
      let reply = try await stream
      #expect(reply.text.hasPrefix(": open"))
      #expect(!reply.text.contains("news"))
    }
  }
}
