import BothyServer
import BothyStore
import BothySync
import BothySyncService
import HTTPTypes
import Testing

@Suite("Sync and pages of changes", .timeLimit(.minutes(5)))
struct SyncRouteTests {
  private let sync = "/v1/spaces/hut/sync"

  private func request(_ operations: [SyncOperation] = [], cursor: String? = nil) -> String {
    let request = SyncRequest(
      device: "d", operations: operations, pulls: [.init(.everything, cursor: cursor)])
    return String(decoding: request.encoded(), as: UTF8.self)
  }

  private func insert(_ number: Int) -> BothySync.SyncOperation {
    SyncOperation(
      id: "o\(number)", kind: .insert, record: RecordID(type: "Todo", id: "\(number)"),
      fields: ["n": .int(Int64(number))])
  }

  @Test("Operations run once, and another device's page has them")
  func exchange() async throws {
    try await ServerUnderTest().run { call in
      let first = try await call(.post, sync, request([insert(1), insert(2)]))
      #expect(first.status == 200)
      let response = try SyncResponse(decoding: first.bytes)
      #expect(response.serverTime == 1000)
      #expect(response.outcomes.count == 2)
      let again = try SyncResponse(decoding: try await call(.post, sync, request([insert(1)])).bytes)
      guard case .duplicate = again.outcomes[0].verdict else {
        Issue.record("\(again.outcomes)")
        return
      }
      let other = SyncRequest(device: "other", pulls: [.init(.everything)])
      let reply = try await call(.post, sync, String(decoding: other.encoded(), as: UTF8.self))
      let page = try #require(try SyncResponse(decoding: reply.bytes).pages.first)
      #expect(page.changes.map(\.id.id) == ["1", "2"])
    }
  }

  @Test("A sync that changes the space is news, a repeated or empty one isn't")
  func news() async throws {
    let server = try ServerUnderTest()
    let notifications = server.configuration.notifications
    try await server.run { call in
      _ = try await call(.post, sync, request())
      #expect(notifications.publishedCount == 0)
      _ = try await call(.post, sync, request([insert(1)]))
      #expect(notifications.publishedCount == 1)
      _ = try await call(.post, sync, request([insert(1)]))
      #expect(notifications.publishedCount == 1)
    }
  }

  @Test("Pages follow one another by their cursors to the end")
  func changes() async throws {
    try await ServerUnderTest().run { call in
      _ = try await call(.post, sync, request((1...5).map(insert)))
      var seen: [String] = []
      var address = "/v1/spaces/hut/changes?limit=2"
      var more = true
      while more {
        let reply = try await call(.get, address)
        #expect(reply.status == 200)
        let page = try JSONReader.read(reply.bytes) { try SyncResponse.Page(from: &$0) }
        seen += page.changes.map(\.id.id)
        address = "/v1/spaces/hut/changes?limit=2&cursor=\(page.cursor)"
        more = page.more
      }
      #expect(seen == ["1", "2", "3", "4", "5"])
      #expect(try await call(.get, "/v1/spaces/hut/changes?container=Other").text.contains(#""changes":[]"#))
    }
  }

  @Test("A cursor of another epoch starts a complete snapshot")
  func foreignEpoch() async throws {
    let storage = try SQLiteServerStorage()
    try await ServerUnderTest(storage: storage).run { call in
      let first = try SyncResponse(decoding: try await call(.post, sync, request([insert(1)])).bytes)
      let cursor = first.pages[0].cursor
      let next = try SyncResponse(decoding: try await call(.post, sync, request(cursor: cursor)).bytes)
      #expect(next.pages[0].reset == false)
      #expect(next.pages[0].changes.isEmpty)
      try await storage.startEpoch(space: "hut")
      let reset = try SyncResponse(decoding: try await call(.post, sync, request(cursor: cursor)).bytes)
      #expect(reset.pages[0].reset)
      #expect(reset.pages[0].changes.count == 1)
    }
  }

  @Test(
    "Malformed requests are 400 with the position of the byte",
    arguments: [
      ("", "byte 0"), ("{", "byte 1"), (#"{"device":1}"#, "byte 10"), (#"{"device":"d","x":1}"#, "'x'"),
      (#"{"device":"d"} {}"#, "byte 15"), ("\u{7f}", "byte 0"), (#"{"device":"\ud800"}"#, "surrogate"),
      (#"{"device":"d","operations":[{"id":"1"}]}"#, "needs"), ("[]", "byte 0"),
      (#"{"device":"d","operations":[{"id":"1","kind":"burn","type":"a","record":"b"}]}"#, "burn"),
      (String(repeating: "[", count: 10_000), "byte 0"),
      (#"{"device":"d","operations":\#(String(repeating: "[", count: 100))"#, "byte"), ("{}", "device"),
    ])
  func malformed(body: String, hint: String) async throws {
    try await ServerUnderTest().run { call in
      let reply = try await call(.post, sync, body)
      #expect(reply.status == 400)
      #expect(try reply.code() == "malformed")
      #expect(reply.text.contains(hint), "\(reply.text)")
    }
  }

  @Test("An invalid cursor is 400 badCursor, in a body and in an address")
  func badCursor() async throws {
    try await ServerUnderTest().run { call in
      let posted = try await call(.post, sync, request(cursor: "nonsense"))
      #expect(posted.status == 400)
      #expect(try posted.code() == "badCursor")
      let got = try await call(.get, "/v1/spaces/hut/changes?cursor=nonsense")
      #expect(got.status == 400)
      #expect(try got.code() == "badCursor")
    }
  }

  @Test("Too many operations are 413, an old schema 422 updateRequired, equal ids 400")
  func limits() async throws {
    let rules = AccessRules(operationLimit: 2, minimumSchemaVersion: 1)
    try await ServerUnderTest(rules: rules).run { call in
      let many = try await call(.post, sync, request((1...3).map(insert)))
      #expect(many.status == 413)
      #expect(try many.code() == "tooManyOperations")
      let old = try await call(.post, sync, #"{"device":"d","schema":0}"#)
      #expect(old.status == 422)
      #expect(try old.code() == "updateRequired")
      #expect(try await call(.post, sync, request([insert(1), insert(1)])).status == 400)
      #expect(try await call(.get, "/v1/spaces/hut/changes").status == 200)
    }
  }

  @Test(
    "Parameters of the wrong kind are 400",
    arguments: [
      "limit=0", "limit=-1", "limit=x", "limit=99999999999999999999", "children=yes", "container=%zz",
    ])
  func parameters(query: String) async throws {
    try await ServerUnderTest().run { call in
      let reply = try await call(.get, "/v1/spaces/hut/changes?\(query)")
      #expect(reply.status == 400)
    }
  }
}
