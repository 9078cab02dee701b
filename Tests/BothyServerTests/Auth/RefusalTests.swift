import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

@Suite("Refusals: their log, and limits by user and space", .timeLimit(.minutes(5)))
struct RefusalTests {
  private static let tokens = """
    [{"token":"secret-a","principal":"ann","spaces":["hut","barn"]},
     {"token":"secret-b","principal":"bob","spaces":["hut"]}]
    """

  /// Promises: A-36
  @Test("Each refusal of access logs user, place and reason, and never a token")
  func audit() async throws {
    let log = LogUnderTest()
    let rules = AccessRules(schema: try todoSchema(Permissions(update: .owner)))
    var server = try ServerUnderTest(rules: rules, tokens: Self.tokens)
    server.configuration.auditLogger = log.logger()
    let id = try #require(HTTPField.Name("X-Request-Id"))
    try await server.run { call async throws in
      let (ann, bob) = (call.with(token: "secret-a"), call.with(token: "secret-b"))
      let address = "/v1/spaces/hut/records/Todo/1"
      let made = try await ann(.put, address, #"{"fields":{"title":"private words"}}"#)
      #expect(log.lines.isEmpty)
      _ = try await call(.get, address, nil, [id: "r1"])
      _ = try await call.with(token: "secret-wrong")(.get, address, nil, [id: "r2"])
      _ = try await bob(.get, "/v1/spaces/barn/changes", nil, [id: "r3"])
      _ = try await bob(.get, "/v1/spaces/a%0Afake%20line/changes", nil, [id: "r4"])
      _ = try await bob(.put, address, #"{"fields":{"title":"x"}}"#, [id: "r5", .ifMatch: made.tag ?? ""])
      let operation = SyncOperation(
        id: "o", kind: .update, record: RecordID(type: "Todo", id: "1"), base: "1",
        fields: ["title": "private too"])
      let request = SyncRequest(device: "d", operations: [operation])
      _ = try await bob(
        .post, "/v1/spaces/hut/sync", String(decoding: request.encoded(), as: UTF8.self), [id: "r6"])
    }
    let lines = log.lines
    #expect(lines.map { $0.metadata["request"] } == ["r1", "r2", "r3", "r4", "r5", "r6"])
    #expect(
      lines.map { $0.metadata["reason"] }
        == ["missing", "unknown", "space", "space", "forbidden", "permissions"])
    #expect(lines.map { $0.metadata["status"] } == ["401", "401", "403", "403", "403", nil])
    #expect(lines.map { $0.metadata["principal"] } == [nil, nil, "bob", "bob", "bob", "bob"])
    #expect(lines.map { $0.metadata["space"] } == [nil, nil, "barn", #"a\u{a}fake line"#, "hut", "hut"])
    #expect(lines[2].metadata["route"] == "/v1/spaces/{space}/changes")
    #expect(lines[5].metadata["operations"] == "1")
    #expect(!log.text.contains("secret") && !log.text.contains("private") && !log.text.contains("\u{a}fake"))
  }

  @Test("A space has its own limit for all its users together")
  func spaces() async throws {
    let limits = ServerConfiguration.Limits(spaceRequestsPerSecond: 0.001, spaceRequestBurst: 3)
    try await ServerUnderTest(tokens: Self.tokens, limits: limits).run { call async throws in
      let (ann, bob) = (call.with(token: "secret-a"), call.with(token: "secret-b"))
      #expect(try await ann(.get, "/v1/spaces/hut/changes").status == 200)
      #expect(try await bob(.get, "/v1/spaces/hut/changes").status == 200)
      #expect(try await ann(.get, "/v1/spaces/hut/changes").status == 200)
      for caller in [ann, bob] {
        let refused = try await caller(.get, "/v1/spaces/hut/changes")
        #expect(refused.status == 429)
        #expect(Int(refused.headers[.retryAfter] ?? "") ?? 0 > 0)
      }
      #expect(try await ann(.get, "/v1/spaces/barn/changes").status == 200)
      // A user that can't enter a space doesn't use it up either.
      #expect(try await bob(.get, "/v1/spaces/barn/changes").status == 403)
    }
  }

  @Test("A bucket refills at its rate, reports the wait, and ignores backward time")
  func bucket() throws {
    let limiter = try #require(RateLimiter<String>(rate: 0.5, burst: 2, capacity: 3))
    #expect(limiter.delay(for: "a", at: .seconds(1)) == nil)
    #expect(limiter.delay(for: "a", at: .seconds(1)) == nil)
    #expect(limiter.delay(for: "a", at: .seconds(1)) == 2)
    #expect(limiter.delay(for: "a", at: .seconds(2)) == 1)
    #expect(limiter.delay(for: "a", at: .seconds(3)) == nil)
    #expect(limiter.delay(for: "a", at: .seconds(2)) == 2)
    #expect(limiter.delay(for: "a", at: .seconds(4)) == 1)
    let (none, zero) = (RateLimiter<String>(rate: nil, burst: 2), RateLimiter<String>(rate: 0, burst: 2))
    #expect(none == nil && zero == nil)
  }

  @Test("A pause of any length admits one burst, and no more")
  func pauses() throws {
    let limiter = try #require(RateLimiter<String>(rate: 1, burst: 3))
    for now in [Duration.seconds(1), .seconds(5), .seconds(3605), .seconds(90_000)] {
      let admitted = (0..<10).count { _ in limiter.delay(for: "a", at: now) == nil }
      #expect(admitted == 3, "at \(now)")
    }
  }

  @Test("Memory is bounded: new keys beyond the capacity share one bucket")
  func crowd() throws {
    let limiter = try #require(RateLimiter<Int>(rate: 0.001, burst: 2, capacity: 100))
    for key in 0..<100 { #expect(limiter.delay(for: key, at: .seconds(1)) == nil) }
    let admitted = (100..<10_000).count { limiter.delay(for: $0, at: .seconds(1)) == nil }
    #expect(admitted == 2)
    #expect(limiter.count == 100)
    #expect(limiter.delay(for: 0, at: .seconds(2)) == nil)
    #expect(limiter.delay(for: 0, at: .seconds(2)) != nil)
    // Two hours later all buckets are full, and are deleted when room is needed.
    #expect(limiter.delay(for: 20_000, at: .seconds(7200)) == nil)
    #expect(limiter.count == 1)
  }

  @Test(
    "Members of a token's group see its records until they leave the group"
  )
  func groups() async throws {
    let permissions = Permissions(read: .shared, update: .shared, delete: .owner)
    let issuer = IssuerUnderTest()
    var server = try ServerUnderTest(rules: AccessRules(schema: todoSchema(permissions)))
    server.configuration.access = try await issuer.access()
    let ann = try await issuer.hs256()
    let member = try await issuer.hs256(.init(sub: "bob", groups: ["staff", "crew"]))
    let former = try await issuer.hs256(.init(sub: "bob", groups: ["crew"]))
    let fake = try await issuer.hs256(.init(sub: "staff"))
    try await server.run { call async throws in
      let space = "/v1/spaces/hut"
      let (ann, member, former) = (call.with(token: ann), call.with(token: member), call.with(token: former))
      for id in ["byName", "byList"] {
        _ = try await ann(.put, "\(space)/records/Todo/\(id)", #"{"fields":{"title":"t"}}"#)
      }
      _ = try await ann(.post, "\(space)/lists", #"{"id":"L","name":"l","members":["group:staff"]}"#)
      // A device that pulled before receives records that become visible without a change of their own.
      let empty = try await member(.get, "\(space)/changes").json()
      #expect(empty["changes"]?.arrayValue?.isEmpty == true)
      _ = try await ann(
        .post, "\(space)/records/Todo/byName/share", #"{"add":{"principals":["group:staff"]}}"#)
      _ = try await ann(.post, "\(space)/records/Todo/byList/share", #"{"add":{"lists":["L"]}}"#)
      let cursor = empty["cursor"]?.stringValue ?? ""
      let page = try await member(.get, "\(space)/changes?cursor=\(cursor)").json()
      #expect(page["changes"]?.arrayValue?.count == 2)
      for id in ["byName", "byList"] {
        #expect(try await member(.get, "\(space)/records/Todo/\(id)").status == 200)
        #expect(try await former(.get, "\(space)/records/Todo/\(id)").status == 404)
        #expect(try await call.with(token: fake)(.get, "\(space)/records/Todo/\(id)").status == 404)
      }
      // With other groups the cursor continues, and names the types whose visible records have changed.
      let seen = page["cursor"]?.stringValue ?? ""
      let lost = try await former(.get, "\(space)/changes?cursor=\(seen)").json()
      #expect(lost["types"] == ["Todo"] && lost["changes"]?.arrayValue?.isEmpty == true)
      // The member leaves the list, and its device receives that.
      _ = try await ann(.put, "\(space)/lists/L", #"{"name":"l","members":[]}"#, [.ifMatch: "*"])
      let after = try await member(.get, "\(space)/changes?cursor=\(seen)").json()
      #expect(after["outOfScope"]?.arrayValue?.first?["id"] == "byList")
      #expect(try await member(.get, "\(space)/records/Todo/byList").status == 404)
    }
  }
}
