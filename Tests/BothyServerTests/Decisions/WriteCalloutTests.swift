import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The call-out to a team's back end: its requests, and the answers that decide.
@Suite("The call-out about writes", .timeLimit(.minutes(5)))
struct WriteCalloutTests {
  private func proposal(_ writes: [ProposedWrite]) -> WriteProposal {
    WriteProposal(
      space: "hut", user: Caller("ann", groups: ["staff"]), time: 1000, writes: writes)
  }

  private func insert(_ number: Int = 1) -> ProposedWrite {
    let id = RecordID(type: "Todo", id: "\(number)")
    let fields: [String: JSONValue] = ["title": "Oil", "note": .null]
    let after = ServerRecord(
      id: id, version: "", modified: 1000, created: 1000, owner: "ann", fields: FieldsDocument(fields))
    return ProposedWrite(
      operation: "op-\(number)", kind: .insert, record: id, fields: fields, after: after)
  }

  private func deletion(_ number: Int = 2) -> ProposedWrite {
    let id = RecordID(type: "Todo", id: "\(number)")
    var before = ServerRecord(
      id: id, container: "trips/oslo", version: "7", modified: 900, fields: FieldsDocument(["title": "x"]))
    before.sharing = .users("bob")
    return ProposedWrite(operation: "op-\(number)", kind: .delete, record: id, before: before)
  }

  // MARK: requests

  @Test("A request is the writes as JSON, signed over id, time and body")
  func request() async throws {
    let backEnd = BackEndUnderTest()
    let decisions = try await backEnd.callout().decisions(on: proposal([insert()]))
    #expect(decisions == [.accept])
    let request = try #require(backEnd.requests.first)
    #expect(request.url == "https://team.example/decide" && request.timeout == .seconds(2))
    let body =
      #"{"space":"hut","principal":"ann","groups":["staff"],"time":1000,"operations":[{"id":"op-1","kind":"insert","#
      + #""type":"Todo","record":"1","fields":{"note":null,"title":"Oil"},"after":{"container":"Todo","modified":1000,"#
      + #""created":1000,"owner":"ann","fields":{"title":"Oil"}}}]}"#
    #expect(String(decoding: request.body, as: UTF8.self) == body)
    let id = try #require(request.headers["webhook-id"])
    #expect(request.headers["webhook-timestamp"] == "1795000000")
    let keys = [Array("0123456789abcdef0123456789abcdef".utf8)]
    let signature = RequestSignature.field(id: id, time: 1_795_000_000, body: request.body, keys: keys)
    #expect(request.headers["webhook-signature"] == signature)
    #expect(request.headers["Content-Type"] == "application/json")
  }

  @Test("A request names group, sharing and sensitive fields, and the record before")
  func members() async throws {
    var share = insert(3)
    (share.kind, share.sharing, share.group) = (.update, SharingChange(remove: .users("bob")), "g")
    share.sensitiveFields = ["pin", "code"]
    share.before = share.after
    let backEnd = BackEndUnderTest()
    _ = try await backEnd.callout().decisions(on: proposal([deletion(), share]))
    let body = try JSONValue(parsing: try #require(backEnd.requests.first).body)
    let operations = try #require(body["operations"]?.arrayValue)
    #expect(
      operations[0] == [
        "id": "op-2", "kind": "delete", "type": "Todo", "record": "2",
        "before": [
          "container": "trips/oslo", "version": "7", "modified": 900, "sharing": ["principals": ["bob"]],
          "fields": ["title": "x"],
        ],
      ])
    #expect(operations[1]["sharing"] == ["remove": ["principals": ["bob"]]])
    #expect(operations[1]["group"] == "g" && operations[1]["sensitive"] == ["code", "pin"])
    #expect(operations[1]["before"]?["version"] == nil)
  }

  @Test("Many or large writes are asked about in several requests, in order")
  func parts() async throws {
    let writes = (1...5).map { insert($0) }
    for (operations, size, expected) in [
      (2, 1 << 20, [2, 2, 1]), (100, 1, [1, 1, 1, 1, 1]), (5, 1 << 20, [5]),
    ] {
      let backEnd = BackEndUnderTest()
      var limits = WriteCallout.Limits()
      (limits.operations, limits.requestSize) = (operations, size)
      let decisions = try await backEnd.callout(limits).decisions(on: proposal(writes))
      #expect(decisions == Array(repeating: .accept, count: 5))
      let ids = try backEnd.requests.map(BackEndUnderTest.ids)
      #expect(ids.map(\.count) == expected && ids.joined().elementsEqual(writes.map(\.operation)))
    }
  }

  @Test("After a request without decisions the others are left undecided and unasked")
  func endsEarly() async throws {
    let backEnd = BackEndUnderTest { request in
      try BackEndUnderTest.ids(of: request).contains("op-3")
        ? BackEndUnderTest.text("", status: 500) : BackEndUnderTest.accepting(request)
    }
    var limits = WriteCallout.Limits()
    limits.operations = 2
    let writes = (1...6).map { insert($0) }
    let decisions = try await backEnd.callout(limits).decisions(on: proposal(writes))
    #expect(decisions.map { $0.outage != nil } == [false, false, true, true, true, true])
    #expect(backEnd.requests.count == 2)
  }

  @Test(
    "An address without TLS and a short secret are refused",
    arguments: [
      "http://team.example/decide", "ftp://team.example/", "https://", "team.example",
      "http://localhost:x@team.example/", "http://localhost.example/",
    ])
  func addresses(url: String) {
    let secret = [UInt8](repeating: 1, count: 32)
    #expect(throws: BothyError.self) {
      try WriteCallout(url: url, secret: secret) { _ in BackEndUnderTest.text("") }
    }
    #expect(throws: BothyError.self) {
      try WriteCallout(url: "https://team.example", secret: Array(secret.prefix(23))) { _ in
        BackEndUnderTest.text("")
      }
    }
    for own in ["http://localhost:8000/decide", "http://127.0.0.1/", "http://[::1]:9000/x"] {
      #expect(throws: Never.self) {
        try WriteCallout(url: own, secret: secret) { _ in BackEndUnderTest.text("") }
      }
    }
  }

  // MARK: answers

  @Test("Decisions are found by id, in any order")
  func decisions() async throws {
    let backEnd = BackEndUnderTest { _ in
      BackEndUnderTest.text(
        """
        {"decisions": [
          {"id": "op-3", "decision": "amend", "replace": {"title": "only"}},
          {"id": "op-2", "decision": "refuse", "code": "late", "message": "Too late.",
           "fields": [{"field": "title", "code": "late", "message": "Too late for it."}]},
          {"id": "op-4", "decision": "refuse", "code": "no", "message": "No."},
          {"decision": "amend", "set": {"stamp": 1, "note": null}, "id": "op-1"}
        ]}
        """)
    }
    let writes = [insert(), deletion(), insert(3), insert(4)]
    let found = try await backEnd.callout().decisions(on: proposal(writes))
    let problem = Rejection.FieldError(field: "title", code: "late", message: "Too late for it.")
    #expect(
      found == [
        .amend(setting: ["stamp": 1, "note": .null]), .refuse("late", "Too late.", fields: [problem]),
        .amend(replacingAllBy: ["title": "only"]), .refuse("no", "No."),
      ])
  }

  private static let marker = "nobody-else-may-read-this"

  private static let unusable: [(status: Int, body: String)] = {
    let first = #"{"id":"op-1","decision":"accept"}"#
    let second = #"{"id":"op-2","decision":"accept"}"#
    let good = #"{"decisions":[\#(first),\#(second)]}"#
    func with(_ entry: String) -> (Int, String) { (200, #"{"decisions":[\#(first),\#(entry)]}"#) }
    let deep = String(repeating: "[", count: 100)
    return [
      (201, good), (204, ""), (302, good), (401, good), (500, good), (503, marker),
      (200, ""), (200, marker), (200, "<html>\(marker)</html>"), (200, "[]"), (200, "{}"), (200, good + "x"),
      (200, #"{"decisions":{}}"#), (200, #"{"decisions":[]}"#), (200, #"{"decisions":[\#(first)]}"#),
      (200, #"{"decisions":[\#(first),\#(second)],"\#(marker)":1}"#),
      (200, #"{"decisions":[\#(first)],"decisions":[\#(second)]}"#),
      with(#"{"id":"op-3","decision":"accept"}"#), with(first), with(second + "," + first),
      with(second + #",{"id":"op-3","decision":"accept"}"#), with(#"{"id":"op-2"}"#),
      with(#"{"decision":"accept"}"#), with(#"{"id":"op-2","decision":"\#(marker)"}"#),
      with(#"{"id":"op-2","decision":"accept","code":"x"}"#),
      with(#"{"id":"op-2","decision":"accept","\#(marker)":1}"#),
      with(#"{"id":"op-2","id":"op-2","decision":"accept"}"#),
      with(#"{"id":"op-2","decision":"refuse","code":"no"}"#),
      with(#"{"id":"op-2","decision":"refuse","code":"serverError","message":"m"}"#),
      with(#"{"id":"op-2","decision":"refuse","code":"no","message":""}"#),
      with(#"{"id":"op-2","decision":"refuse","code":"no","message":"m","fields":[{"field":"a"}]}"#),
      with(#"{"id":"op-2","decision":"refuse","code":"no","message":"m","set":{}}"#),
      with(#"{"id":"op-2","decision":"amend","set":{}}"#),
      (200, #"{"decisions":[{"id":"op-1","decision":"amend"},\#(second)]}"#),
      (200, #"{"decisions":[{"id":"op-1","decision":"amend","set":{},"replace":{}},\#(second)]}"#),
      (200, #"{"decisions":[{"id":"op-1","decision":"amend","set":[]},\#(second)]}"#),
      (200, #"{"decisions":[{"id":"op-1","decision":"amend","set":{"a":\#(deep)}},\#(second)]}"#),
      (200, good + String(repeating: " ", count: 5000)),
    ]
  }()

  /// Promises: A-29
  @Test("An answer that isn't exactly one decision for each write decides nothing")
  func lies() async throws {
    var limits = WriteCallout.Limits()
    limits.answerSize = 4096
    for (status, body) in Self.unusable {
      let backEnd = BackEndUnderTest { _ in BackEndUnderTest.text(body, status: status) }
      let found = try await backEnd.callout(limits).decisions(on: proposal([insert(), deletion()]))
      #expect(found.count == 2 && found.allSatisfy { $0.outage != nil }, "\(status) \(body.prefix(120))")
      let reasons = found.compactMap(\.outage)
      #expect(!reasons.contains { $0.contains(Self.marker) }, "a log has nothing of the answer")
    }
    let large = BackEndUnderTest { _ in throw OutboundResponse.TooLarge() }
    let found = try await large.callout(limits).decisions(on: proposal([insert()]))
    #expect(found.first?.outage?.contains("4096 bytes") == true)
  }
}
