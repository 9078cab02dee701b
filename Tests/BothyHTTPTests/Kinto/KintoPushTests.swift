import BothyHTTP
import BothyKinto
import BothyStore
import BothySync
import Synchronization
import Testing

@Suite("Pushing to Kinto", .timeLimit(.minutes(5)))
struct KintoPushTests {
  private let path = "/buckets/hut/collections/Todo/records/t1"

  private func operation(_ kind: ChangeKind, base: String? = nil, fields: [String: JSONValue] = [:])
    -> SyncOperation
  {
    SyncOperation(
      id: "op1", kind: kind, record: RecordID(type: "Todo", id: "t1"),
      container: kind == .insert ? "trips/oslo" : nil,
      base: base, fields: fields, modified: 500)
  }

  private func push(_ operations: [SyncOperation], to kinto: ScriptedKinto) async throws -> [Outcome] {
    try await KintoRemote(kinto).exchange(SyncRequest(device: "d1", operations: operations)).outcomes
  }

  @Test("An insert is a conditional PUT with container, edit time and mark")
  func insert() async throws {
    let kinto = ScriptedKinto { call in
      var stored = call.data?.objectValue ?? [:]
      stored["id"] = "t1"
      stored["last_modified"] = 1000
      return .data(.object(stored), at: 1000, status: 201)
    }
    let fields: [String: JSONValue] = ["title": "Milk", "note": .null, "id_": 1, "_x": 2, "schema": 3]
    let outcomes = try await push([operation(.insert, fields: fields)], to: kinto)
    let call = try #require(kinto.calls.first)
    #expect(call.text == "PUT \(path)")
    #expect(call.headers["if-none-match"] == "*")
    #expect(
      call.data == [
        "title": "Milk", "id_": 1, "_f__x": 2, "_f_schema": 3, "_container": "trips/oslo", "_modified": 500,
        "_created": 500, "_by_d1": "op1",
      ])
    #expect(outcomes == [Outcome(operation: "op1", .applied(version: "1000", modified: 500, record: nil))])
  }

  @Test("An update is a PATCH of its base with the changed and cleared fields")
  func update() async throws {
    let kinto = ScriptedKinto { _ in .data(["title": "Milk"], at: 1001) }
    let outcomes = try await push(
      [operation(.update, base: "1000", fields: ["title": "Milk", "note": .null, "deep": ["a": 1]])],
      to: kinto)
    let call = try #require(kinto.calls.first)
    #expect(call.text == "PATCH \(path)")
    #expect(call.headers["if-match"] == "\"1000\"")
    #expect(
      call.data == ["title": "Milk", "note": .null, "deep": ["a": 1], "_modified": 500, "_by_d1": "op1"])
    #expect(outcomes == [Outcome(operation: "op1", .applied(version: "1001", modified: 500, record: nil))])
  }

  @Test("Sharing and lists are rejected with a reason, and other operations are sent")
  func sharing() async throws {
    let kinto = ScriptedKinto { _ in .data(["title": "Milk"], at: 1001) }
    var shared = operation(.update, base: "1000", fields: ["title": "Milk"])
    shared.id = "op2"
    shared.sharing = SharingChange(add: .users("bob"))
    let list = UserList(name: "friends")
    let made = SyncOperation(id: "op3", kind: .insert, record: list.recordID, fields: list.fields)
    let plain = operation(.update, base: "1000", fields: ["title": "Milk"])
    let outcomes = try await push([shared, plain, made], to: kinto)
    #expect(refusals(outcomes) == ["op2 unsupported", "op3 unsupported"])
    #expect(kinto.calls.map(\.text) == ["PATCH \(path)"])
  }

  @Test("Operations of a group are rejected together, because Kinto can't apply them together")
  func atomic() async throws {
    let kinto = ScriptedKinto { _ in .data(["title": "Milk"], at: 1001) }
    let group = SyncOperation.Group(id: "g", size: 2)
    var first = operation(.update, base: "1000", fields: ["title": "Milk"])
    first.group = group
    var second = SyncOperation(
      id: "op2", kind: .insert, record: RecordID(type: "Todo", id: "b"), fields: ["title": "Tea"])
    second.group = group
    #expect(refusals(try await push([first, second], to: kinto)) == ["op1 unsupported", "op2 unsupported"])
    #expect(kinto.calls.isEmpty)
  }

  private func refusals(_ outcomes: [Outcome]) -> [String] {
    outcomes.compactMap { outcome in
      guard case .rejected(let rejection) = outcome.verdict else { return nil }
      return "\(outcome.operation) \(rejection.code)"
    }
  }

  @Test("A deletion is a DELETE of its base, and a foreign base matches nothing")
  func delete() async throws {
    let kinto = ScriptedKinto { _ in .data(["id": "t1", "last_modified": 1002, "deleted": true], at: 1002) }
    _ = try await push([operation(.delete, base: "1000")], to: kinto)
    _ = try await push([operation(.delete, base: "epoch.7")], to: kinto)
    #expect(kinto.calls.map(\.text) == ["DELETE \(path)", "DELETE \(path)"])
    #expect(kinto.calls.map { $0.headers["if-match"] } == ["\"1000\"", "\"1\""])
  }

  /// Promises: H-30, H-31
  @Test(
    "A stale base is a conflict, unless the record has the operation's own mark",
    arguments: [ChangeKind.insert, .update])
  func stale(_ kind: ChangeKind) async throws {
    let theirs: JSONValue = [
      "id": "t1", "last_modified": 2000, "title": "theirs", "_by_d2": "op1", "_by_d1": "op0",
    ]
    let kinto = ScriptedKinto { _ in .stale(theirs) }
    let conflict = try await push([operation(kind, base: "1000", fields: ["title": "mine"])], to: kinto)
    let record = ServerRecord(
      id: RecordID(type: "Todo", id: "t1"), version: "2000", modified: 2000,
      fields: FieldsDocument(["title": "theirs"]))
    #expect(conflict == [Outcome(operation: "op1", .conflict(current: record))])
    kinto.setScript { _ in
      .stale(["id": "t1", "last_modified": 2000, "title": "theirs", "_by_d2": "op5", "_by_d1": "op1"])
    }
    let again = try await push([operation(kind, base: "1000", fields: ["title": "mine"])], to: kinto)
    #expect(again == [Outcome(operation: "op1", .duplicate(version: "1999", modified: 2000, record: nil))])
  }

  /// Promises: H-32
  @Test("An update or deletion of a missing record is a conflict without a record")
  func gone() async throws {
    let kinto = ScriptedKinto { _ in .error(404, 110) }
    for kind in [ChangeKind.update, .delete] {
      let outcomes = try await push([operation(kind, base: "1000")], to: kinto)
      #expect(outcomes == [Outcome(operation: "op1", .conflict(current: nil))])
    }
  }

  @Test("An update or a deletion in a missing collection stays in doubt")
  func goneCollection() async throws {
    let kinto = ScriptedKinto { _ in .error(404, 111) }
    for kind in [ChangeKind.update, .delete] {
      #expect(try await push([operation(kind, base: "1000")], to: kinto).isEmpty)
    }
  }

  @Test("A rejection names the field, and only that operation is rejected")
  func refusal() async throws {
    let kinto = ScriptedKinto { call in
      guard call.path.hasSuffix("bad") else {
        return .data(["id": "x", "last_modified": 5, "n": 1], at: 5, status: 201)
      }
      return .init(
        status: 400,
        body: [
          "code": 400, "errno": 107, "message": "title in body: required",
          "details": [["location": "body", "name": "title", "description": "required"]],
        ])
    }
    let operations = ["good", "bad", "fine"].map {
      SyncOperation(id: $0, kind: .insert, record: RecordID(type: "Todo", id: $0), fields: ["n": 1])
    }
    let outcomes = try await push(operations, to: kinto)
    guard case .rejected(let rejection) = outcomes[1].verdict else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(rejection.fields.map(\.field) == ["title"])
    #expect(rejection.message.contains("title in body: required"))
    for index in [0, 2] {
      #expect(outcomes[index].verdict == .applied(version: "5", modified: 5, record: nil))
    }
  }

  @Test("Operations are sent in batches of the server's size, in their order")
  func batches() async throws {
    let kinto = ScriptedKinto { _ in .data(["id": "x", "last_modified": 5], at: 5, status: 201) }
    kinto.setSettings(["batch_max_requests": 4, "readonly": false])
    let operations = (0..<10).map {
      SyncOperation(id: "o\($0)", kind: .insert, record: RecordID(type: "Todo", id: "t\($0)"))
    }
    let outcomes = try await push(operations, to: kinto)
    #expect(kinto.batches == [4, 4, 2])
    #expect(outcomes.map(\.operation) == operations.map(\.id))
    #expect(
      kinto.calls.map { $0.path.split(separator: "/").last } == operations.map { Substring($0.record.id) })
  }

  @Test("A batch that a 409 undid is sent again, one operation at a time")
  func undone() async throws {
    let first = Mutex(true)
    let kinto = ScriptedKinto { call in
      let isFirst = first.withLock { first in
        defer { if call.path.hasSuffix("t1") { first = false } }
        return first
      }
      if isFirst && call.path.hasSuffix("t1") { return .error(409, 122) }
      return .data(["id": "x", "last_modified": isFirst ? 5 : 9], at: isFirst ? 5 : 9, status: 201)
    }
    let operations = (0..<3).map {
      SyncOperation(id: "o\($0)", kind: .insert, record: RecordID(type: "Todo", id: "t\($0)"))
    }
    let outcomes = try await push(operations, to: kinto)
    #expect(kinto.batches == [3])
    #expect(kinto.calls.count == 6)
    #expect(outcomes.allSatisfy { $0.verdict == .applied(version: "9", modified: 9, record: nil) })
  }

  @Test("Missing buckets and collections are created before the inserts are repeated")
  func making() async throws {
    let made = Mutex<Set<String>>([])
    let kinto = ScriptedKinto { call in
      let made = made.withLock { made in
        if call.method == "PUT" && !call.path.contains("/records/") { made.insert(call.path) }
        return made
      }
      guard call.path.contains("/records/") else {
        return .data(["id": "x", "last_modified": 1], at: 1, status: 201)
      }
      if !made.contains("/buckets/hut") { return .error(403, 121) }
      return .data(["id": "x", "last_modified": 5], at: 5, status: 201)
    }
    let operations = ["Todo", "List"].map {
      SyncOperation(id: $0, kind: .insert, record: RecordID(type: $0, id: "t"))
    }
    let outcomes = try await push(operations, to: kinto)
    #expect(Set(outcomes.map(\.operation)) == ["Todo", "List"])
    #expect(outcomes.allSatisfy { $0.verdict == .applied(version: "5", modified: 5, record: nil) })
    let collections = kinto.calls.filter { $0.method == "PUT" && !$0.path.contains("/records/") }
    #expect(
      collections.map(\.path) == [
        "/buckets/hut", "/buckets/hut/collections/List", "/buckets/hut/collections/Todo",
      ])
    #expect(collections.allSatisfy { $0.headers["if-none-match"] == "*" })
    #expect(collections[1].data?["bothy"]?["epoch"]?.stringValue != nil)
  }

  @Test("Operations in a foreign space are rejected as forbidden, one by one")
  func forbidden() async throws {
    let kinto = ScriptedKinto { call in
      call.path == "/buckets/hut" ? .stale(["id": "hut", "last_modified": 1]) : .error(403, 121)
    }
    let outcomes = try await push([operation(.insert)], to: kinto)
    guard case .rejected(let rejection) = outcomes[0].verdict else {
      Issue.record("\(outcomes)")
      return
    }
    #expect(rejection.code == "forbidden")
  }

  @Test("A lost connection between batches returns the known outcomes alone")
  func interrupted() async throws {
    let kinto = ScriptedKinto { _ in .data(["id": "x", "last_modified": 5], at: 5, status: 201) }
    kinto.setSettings(["batch_max_requests": 2, "readonly": false])
    let network = FaultyTransport(kinto)
    let sent = Mutex(0)
    network.setScript { request in
      guard request.url.hasSuffix("/batch") else { return .none }
      return sent.withLock { sent in
        sent += 1
        return sent == 2 ? .lostAnswer : .none
      }
    }
    let remote = KintoRemote(url: "https://kinto.test/v1/", space: "hut", transport: network)
    let operations = (0..<6).map {
      SyncOperation(id: "o\($0)", kind: .insert, record: RecordID(type: "Todo", id: "t\($0)"))
    }
    let response = try await remote.exchange(
      SyncRequest(device: "d1", operations: operations, pulls: [.init(.everything)]))
    #expect(response.outcomes.map(\.operation) == ["o0", "o1"])
    #expect(response.pages.isEmpty)
  }

  @Test("The following pull reports a write that replaced this one as a conflict")
  func overwritten() async throws {
    let kinto = ScriptedKinto { call in
      switch call.method {
      case "PATCH": .data(["n": 1], at: 1001)
      case _ where call.path.contains("/records?"):
        .data(
          [
            ["id": "t1", "last_modified": 1002, "n": 2, "_by_d2": "other"],
            ["id": "t2", "last_modified": 1003, "n": 1, "_by_d1": "op2", "_by_d2": "later"],
          ], at: 1003)
      default: .data([["id": "Todo", "last_modified": 1, "bothy": ["epoch": "e"]]], at: 1)
      }
    }
    let both = [
      operation(.update, base: "1000", fields: ["n": 1]),
      SyncOperation(
        id: "op2", kind: .update, record: RecordID(type: "Todo", id: "t2"), base: "1000", fields: ["n": 1]),
    ]
    let response = try await KintoRemote(kinto).exchange(
      SyncRequest(device: "d1", operations: both, pulls: [.init(.everything)]))
    guard case .conflict(let current?) = response.outcomes[0].verdict else {
      Issue.record("\(response.outcomes)")
      return
    }
    #expect(current.version == "1002")
    #expect(response.outcomes[1].verdict == .applied(version: "1001", modified: 1001, record: nil))
  }
}
