import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// Limits of the cost of one request to a server.
@Suite("Bounds of a request", .timeLimit(.minutes(15)))
struct BoundTests {
  private let ann = Caller("ann")

  private func rules(answerSize: Int = 10_000) -> AccessRules {
    var rules = AccessRules()
    rules.answerSize = answerSize
    return rules
  }

  /// Returns a server with records of a little over a thousand bytes each, spread over containers.
  private func service(
    _ rules: AccessRules, records: Int, containers: Int = 1
  ) async throws -> (SyncService, SQLiteServerStorage) {
    let storage = try SQLiteServerStorage()
    let text = String(repeating: "x", count: 1000)
    try await storage.write(space: "s") { transaction in
      try transaction.put(
        (1...records).map { number in
          let record = ServerRecord(
            id: .note("n\(number)"), container: "c\(number % containers)", version: String(number),
            modified: 1, fields: FieldsDocument(["title": .string(text)]))
          return StoredRecord(position: Int64(number), record: record)
        })
    }
    return (SyncService(storage: storage, rules: rules, now: { 1000 }), storage)
  }

  private func bytes(_ pages: [SyncResponse.Page]) -> Int {
    pages.flatMap(\.changes).reduce(0) { $0 + $1.fields.bytes.count }
  }

  @Test("A request to pull from more than 64 places is rejected")
  func pulls() async throws {
    let (service, _) = try await service(rules(), records: 1)
    let pull = SyncRequest.Pull(.everything)
    let fits = SyncRequest(device: "d", pulls: Array(repeating: pull, count: 64))
    #expect(try await service.sync(space: "s", user: ann, fits).pages.count == 64)
    let tooMany = SyncRequest(device: "d", pulls: Array(repeating: pull, count: 65))
    await #expect { try await service.sync(space: "s", user: ann, tooMany) } throws: {
      ($0 as? SyncServiceError)?.code == .tooManyPulls
    }
  }

  @Test(
    "A device's id that is empty, long or has a zero byte is refused",
    arguments: ["", "a\u{0}b", String(repeating: "d", count: 129)])
  func device(name: String) async throws {
    let (service, _) = try await service(rules(), records: 1)
    await #expect {
      try await service.sync(space: "s", user: ann, SyncRequest(device: name))
    } throws: {
      ($0 as? SyncServiceError)?.code == .badRequest
    }
  }

  @Test("A cursor that is longer than a server's own is refused")
  func longCursors() async throws {
    let (service, _) = try await service(rules(), records: 1)
    func cursor(after cursor: String?) async throws -> String? {
      let request = SyncRequest(device: "d", pulls: [.init(.everything, cursor: cursor)])
      return try await service.sync(space: "s", user: ann, request).pages.first?.cursor
    }
    let own = try #require(try await cursor(after: nil))
    #expect(try await cursor(after: own + "-a") == own)
    let error = await #expect(throws: SyncServiceError.self) {
      try await cursor(after: own + String(repeating: "-a", count: 40_000))
    }
    #expect(error?.code == .badCursor && error?.message.utf8.count ?? 0 < 1000)
  }

  @Test("All pages of a response together have bounded bytes, and cursors bring the rest")
  func pages() async throws {
    let (service, _) = try await service(rules(), records: 60, containers: 6)
    var open = (0..<6).map { SyncRequest.Pull(SyncScope(container: "c\($0)")) }
    var found: [RecordID] = []
    for _ in 0..<60 where !open.isEmpty {
      let answer = try await service.sync(
        space: "s", user: ann, SyncRequest(device: "d", pulls: open))
      #expect(bytes(answer.pages) < 12_000)
      #expect(answer.pages.contains { !$0.changes.isEmpty || !$0.more }, "each answer brings something")
      found += answer.pages.flatMap(\.changes).map(\.id)
      open = answer.pages.filter(\.more).map { .init($0.scope, cursor: $0.cursor) }
    }
    #expect(open.isEmpty && found.count == 60 && Set(found).count == 60)
  }

  @Test("A record larger than a response is sent by itself")
  func large() async throws {
    let (service, _) = try await service(rules(answerSize: 10), records: 3)
    var cursor: String?
    for more in [true, true, false] {
      let page = try #require(
        try await service.sync(
          space: "s", user: ann, SyncRequest(device: "d", pulls: [.init(.everything, cursor: cursor)])
        ).pages.first)
      #expect(page.changes.count == 1 && page.more == more)
      cursor = page.cursor
    }
  }

  @Test("A query's response has bounded bytes and reports whether more follow")
  func queries() async throws {
    let (service, _) = try await service(rules(), records: 25)
    var query = AnyQuery("Note", order: [SortKey("id")])
    var found: [RecordID] = []
    for _ in 0..<25 {
      let answer = try await service.queryAnswer(space: "s", user: ann, query)
      found += answer.records.map(\.id)
      #expect(answer.records.count <= 10)
      guard answer.more else { break }
      query.offset = found.count
    }
    #expect(found.count == 25 && Set(found).count == 25)
  }

  @Test("Conflicts return bounded bytes, and operations without room wait")
  func conflicts() async throws {
    let (service, _) = try await service(rules(), records: 30)
    let operations = (1...30).map {
      SyncOperation(id: "o\($0)", kind: .update, record: .note("n\($0)"), base: "no", fields: ["a": 1])
    }
    let answer = try await service.sync(
      space: "s", user: ann, SyncRequest(device: "d", operations: operations))
    let waiting = answer.outcomes.filter { if case .waiting = $0.verdict { true } else { false } }
    #expect(waiting.count >= 15 && waiting.count < 30)
  }

  @Test("Applied operations whose records have no room are answered when they are sent again")
  func amendments() async throws {
    let rule = ScriptedRule { _ in .amend(setting: ["stamp": 7]) }
    let service = SyncService(
      storage: try SQLiteServerStorage(), rules: rules(answerSize: 1000).with(rule), now: { 1000 })
    func outcomes(_ operations: [BothySync.SyncOperation]) async throws -> [Outcome] {
      try await service.sync(
        space: "s", user: ann, SyncRequest(device: "d", operations: operations)
      ).outcomes
    }
    func record(_ verdict: Outcome.Verdict?) -> ServerRecord? {
      switch verdict {
      case .applied(_, _, let record)?, .duplicate(_, _, let record)?: record
      case .conflict?, .rejected?, .waiting?, nil: nil
      }
    }
    let text = JSONValue.string(String(repeating: "x", count: 600))
    let inserts = (1...6).map { number in
      SyncOperation(
        id: "o\(number)", kind: .insert, record: .note("n\(number)"), fields: ["title": text],
        group: number < 5 ? nil : SyncOperation.Group(id: "g", size: 2))
    }
    var open = inserts
    var answered: [[String]] = []
    while !open.isEmpty, answered.count < 6 {
      let found = try await outcomes(open)
      for outcome in found {
        #expect(try record(outcome.verdict)?.fields.members() == ["stamp": 7, "title": text])
      }
      answered.append(found.map(\.operation))
      open.removeFirst(found.count)
    }
    #expect(answered == [["o1", "o2"], ["o3", "o4"], ["o5", "o6"]])
    let edit = SyncOperation(id: "e", kind: .update, record: .note("n1"), base: "1", fields: ["title": "t"])
    #expect(record(try await outcomes([edit]).first?.verdict)?.version == "7")
    let late = try await outcomes([inserts[0]]).first?.verdict
    #expect(late == .duplicate(version: "1", modified: 1000, record: nil))
  }

  @Test("A transaction is rejected whole if its records are too large together")
  func largeTransactions() async throws {
    var rules = rules()
    rules.pushSize = 3000
    let (service, storage) = try await service(rules, records: 1)
    let text = JSONValue.string(String(repeating: "x", count: 1000))
    func insert(_ ids: [String], of group: String) async throws -> [Outcome.Verdict] {
      let operations = ids.map { id in
        SyncOperation(
          id: "\(group)-\(id)", kind: .insert, record: .note(id), fields: ["title": text],
          group: SyncOperation.Group(id: group, size: ids.count))
      }
      return try await service.sync(
        space: "s", user: ann, SyncRequest(device: "d", operations: operations)
      ).outcomes.map(\.verdict)
    }
    #expect(try await insert(["a", "b"], of: "g").map(\.isApplied) == [true, true])
    let refused = try await insert(["c", "d", "e"], of: "h")
    #expect(refused.count == 3)
    for verdict in refused {
      guard case .rejected(let rejection) = verdict else {
        Issue.record("\(verdict)")
        continue
      }
      #expect(rejection.code == "tooLarge" && rejection.message.contains("--push-size"))
    }
    #expect(try await storage.statistics(of: "s").records == 3)
  }

  @Test("A transaction of large stored records is judged first in its request, and rejected")
  func largeStoredRecords() async throws {
    var rules = rules()
    rules.pushSize = 3000
    let (service, storage) = try await service(rules, records: 9)
    func update(_ numbers: ClosedRange<Int>, group: String?) -> [BothySync.SyncOperation] {
      numbers.map { number in
        SyncOperation(
          id: "o\(number)", kind: .update, record: .note("n\(number)"), base: String(number),
          fields: ["title": "t"], group: group.map { SyncOperation.Group(id: $0, size: numbers.count) })
      }
    }
    func verdicts(_ operations: [BothySync.SyncOperation]) async throws -> [Outcome.Verdict] {
      try await service.sync(
        space: "s", user: ann, SyncRequest(device: "d", operations: operations)
      ).outcomes.map(\.verdict)
    }
    let large = update(2...5, group: "g")
    #expect(try await verdicts(update(1...1, group: nil) + large).map(\.isApplied) == [true])
    func head() async throws -> Int64 { try await storage.read(space: "s") { $0.head } }
    let before = try await head()
    let refused = try await verdicts(large)
    #expect(refused.count == 4)
    for verdict in refused {
      guard case .rejected(let rejection) = verdict else {
        Issue.record("\(verdict)")
        continue
      }
      #expect(rejection.code == "tooLarge")
    }
    #expect(try await head() == before)
    #expect(try await verdicts(update(7...8, group: "h")).map(\.isApplied) == [true, true])
  }

  @Test("A device sends the changes again for which a request had no room")
  func smallRequests() async throws {
    var rules = AccessRules()
    rules.pushSize = 1
    let pair = try Pair(rules: rules)
    let ids = (1...6).map { "T\($0)" }
    for id in ids { try pair.a.insert(id, "oil") }
    #expect(await pair.a.store.sync().pushed == 6)
    for id in ids { try pair.a.retitle(id, "lamp") }
    let report = await pair.a.store.sync()
    #expect(report.pushed == 6 && report.obstacle == nil)
    #expect(pair.a.remote.requests.filter { !$0.operations.isEmpty }.count >= 7)
    #expect(try await pair.isEven())
  }

  @Test("A conflict without room in a response is still one for a late copy")
  func lateConflict() async throws {
    let (service, storage) = try await service(rules(answerSize: 1), records: 2)
    func answer(_ operations: [BothySync.SyncOperation]) async throws -> [Outcome.Verdict] {
      try await service.sync(
        space: "s", user: ann, SyncRequest(device: "d", operations: operations)
      ).outcomes.map(\.verdict)
    }
    let inserts = [1, 2].map { SyncOperation(id: "o\($0)", kind: .insert, record: .note("n\($0)")) }
    #expect(try await answer(inserts).last == .waiting(on: "o1"))
    _ = try await answer([SyncOperation(id: "o3", kind: .delete, record: .note("n2"), base: "2")])
    guard case .conflict(let current?) = try await answer([inserts[1]]).first else {
      Issue.record("it is no conflict")
      return
    }
    #expect(current.isDeleted)
    #expect(try await storage.statistics(of: "s").records == 1)
  }

  @Test("Changes of a small tree among many records are complete, page by page")
  func trees() async throws {
    let storage = try SQLiteServerStorage()
    try await storage.write(space: "s") { transaction in
      try transaction.put(
        (1...20_000).map { number in
          let container = number % 500 == 0 ? "a/b" : number % 500 == 1 ? "a" : number % 500 == 2 ? "ab" : "z"
          let record = ServerRecord(
            id: .note("n\(number)"), container: container, version: String(number), modified: 1)
          return StoredRecord(position: Int64(number), record: record)
        })
    }
    let tree = SyncScope(container: "a", includesChildren: true)
    let expected = (1...20_000).filter { $0 % 500 < 2 }.map(Int64.init)
    for limit in [1, 7, 1000] {
      var found: [Int64] = []
      while case let page = try await storage.read(
        space: "s", { [last = found.last ?? 0] in try $0.changes(after: last, in: tree, limit: limit) }),
        !page.isEmpty
      {
        #expect(page.count <= limit)
        found += page.map(\.position)
      }
      #expect(found == expected)
    }
  }

  @Test("A device with more scopes than a request allows sends several requests")
  func manyScopes() async throws {
    let world = try SimulatedWorld(rules: AccessRules())
    let writer = try world.addDevice(schema: .notes)
    for number in 0..<150 {
      try writer.put(AnyRecord("Note", id: "n\(number)", ["title": "t"], container: "c\(number)"))
    }
    #expect(await writer.store.sync().pushed == 150)
    var configuration = SyncOptions.quiet
    configuration.scopes = (0..<150).map { SyncScope(container: "c\($0)") }
    let reader = try world.addDevice(schema: .notes, configuration: configuration)
    let report = await reader.store.sync()
    #expect(report.pulled == 150 && report.obstacle == nil)
    #expect(reader.remote.requests.map(\.pulls.count).max() == 64)
    try reader.put(AnyRecord("Note", id: "m3", ["title": "new"], container: "c3"))
    #expect(await reader.store.sync().pushed == 1)
    #expect(reader.remote.requests.allSatisfy { $0.pulls.count <= 64 })
  }

  // MARK: searches

  private func withFile(_ body: (SQLiteServerStorage) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let storage = try SQLiteServerStorage(at: folder.file("ledger.sqlite"))
    try await body(storage)
    try storage.close()
  }

  private func fill(_ storage: SQLiteServerStorage, records: Int) async throws {
    try await storage.write(space: "s") { transaction in
      try transaction.put(
        (1...records).map {
          let record = ServerRecord(
            id: .note("n\($0)"), version: String($0), modified: 1,
            fields: FieldsDocument(["title": .string(String(repeating: "abc", count: 600))]))
          return StoredRecord(position: Int64($0), record: record)
        })
    }
  }

  /// A query that takes at least twenty seconds of a processor unless it is cancelled.
  private var endless: AnyQuery {
    AnyQuery(
      "Note", where: .or((0..<100).map { .contains(field: "title", "none\($0)", ignoringCase: true) }))
  }

  /// Promises: A-40
  @Test("Queries end with their time limit, and delay neither pulls nor health checks")
  func time() async throws {
    try await withFile { storage in
      try await fill(storage, records: 20_000)
      var rules = AccessRules()
      rules.queryTime = .milliseconds(400)
      let limited = SyncService(storage: storage, rules: rules, now: { 1 })
      rules.queryTime = .seconds(1000)
      let patient = SyncService(storage: storage, rules: rules, now: { 1 })
      let query = endless
      let ended = Received<SyncServiceError.Code?>()
      @Sendable func count(_ service: SyncService) async {
        do {
          _ = try await service.count(space: "s", user: Caller("ann"), query)
          ended.append(nil)
        } catch { ended.append((error as? SyncServiceError)?.code) }
      }
      await withTaskGroup(of: Void.self) { tasks in
        for _ in 0..<8 { tasks.addTask { await count(limited) } }
      }
      #expect(ended.values == Array(repeating: .tooExpensive, count: 8))
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for _ in 0..<8 { tasks.addTask { await count(patient) } }
        let pull = SyncRequest(device: "d", pulls: [.init(.everything)], limit: 10)
        _ = try await patient.sync(space: "s", user: ann, pull)
        try await storage.check()
        #expect(ended.values.count == 8, "the pull and the check have waited for no query")
        tasks.cancelAll()
      }
    }
  }

  @Test("A query ends when the task that awaits it is cancelled")
  func cancelled() async throws {
    try await withFile { storage in
      try await fill(storage, records: 20_000)
      let service = SyncService(storage: storage, now: { 1 })
      let query = endless
      let task = Task { try await service.count(space: "s", user: Caller("ann"), query) }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }
}
