import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("The server's rule", .timeLimit(.minutes(5)))
struct SyncServiceTests {
  private let ann = Caller("ann")

  private func service(_ rules: AccessRules = AccessRules()) throws -> (
    SyncService, SQLiteServerStorage
  ) {
    let storage = try SQLiteServerStorage()
    return (SyncService(storage: storage, rules: rules, now: { 1000 }), storage)
  }

  private func insert(_ id: String, operation: String? = nil, in container: String? = nil)
    -> BothySync.SyncOperation
  {
    SyncOperation(
      id: operation ?? "op-\(id)", kind: .insert, record: .note(id), container: container,
      fields: ["title": "t"])
  }

  private func push(_ operations: [BothySync.SyncOperation], oldestOpen: String? = nil) -> SyncRequest {
    SyncRequest(device: "d1", operations: operations, oldestOpen: oldestOpen)
  }

  private func pull(_ cursor: String?, _ scope: SyncScope = .everything, limit: Int = 1000) -> SyncRequest {
    SyncRequest(device: "d2", pulls: [.init(scope, cursor: cursor)], limit: limit)
  }

  private func word(_ verdict: Outcome.Verdict?) -> String {
    switch verdict {
    case .applied(let version, _, _): "applied \(version)"
    case .duplicate(let version, _, _): "duplicate \(version)"
    case .conflict: "conflict"
    case .rejected(let rejection): rejection.code
    case .waiting(let on): "waiting on \(on)"
    case nil: "none"
    }
  }

  private func code(_ request: SyncRequest, _ service: SyncService) async -> SyncServiceError.Code? {
    do {
      _ = try await service.sync(space: "s", user: ann, request)
      return nil
    } catch { return (error as? SyncServiceError)?.code }
  }

  @Test("An operation is applied once, and a repetition receives the first verdict")
  func idempotence() async throws {
    let (service, _) = try service(.withoutNotes)
    var refused = insert("T2")
    refused.fields["note"] = "x"
    for expected in [["applied 1", "invalid"], ["duplicate 1", "invalid"], ["duplicate 1", "invalid"]] {
      let response = try await service.sync(space: "s", user: ann, push([insert("T1"), refused]))
      #expect(response.outcomes.map { word($0.verdict) } == expected)
    }
  }

  @Test("Verdicts before the oldest open operation are forgotten after ten minutes, others aren't")
  func forgetting() async throws {
    let storage = try SQLiteServerStorage()
    let time = VirtualTime()
    let service = SyncService(storage: storage, now: time.reader())
    _ = try await service.sync(
      space: "s", user: ann, push([insert("T1", operation: "a"), insert("T2", operation: "b")]))
    for (wait, remembered) in [(600_000, 2), (1, 1)] {
      time.advance(by: Int64(wait))
      _ = try await service.sync(space: "s", user: ann, push([], oldestOpen: "b"))
      #expect(try await storage.statistics(of: "s").outcomes == remembered)
    }
  }

  /// Promises: Scenario-2
  @Test("A late copy of a request restores nothing that was deleted since")
  func late() async throws {
    let (service, storage) = try service()
    let first = push([insert("T1", operation: "a")])
    _ = try await service.sync(space: "s", user: ann, first)
    let version = try await storage.read(space: "s") {
      try $0.records([.note("T1")])[.note("T1")]?.record.version
    }
    let deletion = SyncOperation(id: "b", kind: .delete, record: .note("T1"), base: version)
    _ = try await service.sync(space: "s", user: ann, push([deletion], oldestOpen: "b"))
    _ = try await service.sync(space: "s", user: ann, push([], oldestOpen: "c"))
    let answer = try await service.sync(space: "s", user: ann, first)
    #expect(answer.outcomes.map { word($0.verdict) } == ["duplicate 1"])
    #expect(try await service.count(space: "s", user: ann, AnyQuery("Note")) == 0)
  }

  @Test("Pages keep to the limit, report whether more follow, and continue by cursor")
  func pages() async throws {
    let (service, _) = try service()
    _ = try await service.sync(space: "s", user: ann, push((1...7).map { insert("T\($0)") }))
    var cursor: String?
    var sizes: [Int] = []
    var more: [Bool] = []
    for _ in 0..<4 {
      let page = try #require(
        try await service.sync(space: "s", user: ann, pull(cursor, limit: 3)).pages.first)
      sizes.append(page.changes.count)
      more.append(page.more)
      #expect(page.reset == (cursor == nil))
      cursor = page.cursor
    }
    #expect(sizes == [3, 3, 1, 0])
    #expect(more == [true, true, false, false])
  }

  @Test("A cursor from another epoch, user or scope, or below the floor, starts over")
  func resets() async throws {
    let (service, storage) = try service()
    _ = try await service.sync(space: "s", user: ann, push([insert("T1")]))
    func cursor() async throws -> String {
      try #require(try await service.sync(space: "s", user: ann, pull(nil)).pages.first).cursor
    }
    func isReset(_ cursor: String, _ user: Caller, _ scope: SyncScope = .everything) async throws
      -> Bool?
    {
      try await service.sync(space: "s", user: user, pull(cursor, scope)).pages.first?.reset
    }
    let old = try await cursor()
    _ = try await service.sync(space: "s", user: ann, push([insert("T2")]))
    let new = try await cursor()
    #expect(try await isReset(new, ann) == false)
    #expect(try await isReset(new, Caller("bob")) == true)
    #expect(try await isReset(new, ann, SyncScope(container: "Note")) == true)
    try await storage.compact(space: "s", upTo: 2)
    #expect(try await isReset(old, ann) == true)
    #expect(try await isReset(new, ann) == false)
    try await storage.startEpoch(space: "s")
    #expect(try await isReset(new, ann) == true)
  }

  @Test("A paged snapshot continues below the floor unless deletions since its start are forgotten")
  func snapshotBelowFloor() async throws {
    let (service, storage) = try service()
    _ = try await service.sync(space: "s", user: ann, push((1...6).map { insert("T\($0)") }))
    try await storage.compact(space: "s", upTo: 6)
    func page(_ cursor: String?) async throws -> SyncResponse.Page {
      try #require(try await service.sync(space: "s", user: ann, pull(cursor, limit: 2)).pages.first)
    }
    let first = try await page(nil)
    #expect(first.reset && first.more)
    let second = try await page(first.cursor)
    #expect(!second.reset && second.changes.map(\.id.id) == ["T3", "T4"])
    _ = try await service.sync(
      space: "s", user: ann,
      push([SyncOperation(id: "d", kind: .delete, record: .note("T1"), base: "1")]))
    try await storage.compact(space: "s", upTo: 7)
    #expect(try await page(second.cursor).reset)
  }

  @Test("A device doesn't receive its own changes of a request, except in a snapshot")
  func reported() async throws {
    let (service, _) = try service()
    let start = try #require(try await service.sync(space: "s", user: ann, pull(nil)).pages.first)
      .cursor
    var request = push([insert("T1")])
    request.pulls = [.init(.everything, cursor: start)]
    for _ in 0..<2 {
      let page = try #require(try await service.sync(space: "s", user: ann, request).pages.first)
      #expect(page.changes.isEmpty)
    }
    request.pulls = [.init(.everything)]
    #expect(try await service.sync(space: "s", user: ann, request).pages.first?.changes.count == 1)
  }

  @Test("A scope covers a container alone or with its children, and no similar name")
  func scopes() async throws {
    let (service, _) = try service()
    let paths = ["trips", "trips/oslo", "trips/oslo/day1", "tripsy", "trips-old", "other"]
    _ = try await service.sync(
      space: "s", user: ann, push(paths.map { insert($0, in: $0) }))
    func found(_ scope: SyncScope) async throws -> [String] {
      try #require(try await service.sync(space: "s", user: ann, pull(nil, scope)).pages.first)
        .changes.map(\.id.id)
    }
    #expect(try await found(SyncScope(container: "trips")) == ["trips"])
    #expect(
      try await found(SyncScope(container: "trips", includesChildren: true)) == [
        "trips", "trips/oslo", "trips/oslo/day1",
      ])
    #expect(try await found(.everything) == paths)
  }

  /// Promises: C-9
  @Test("Devices that had a record receive its tombstone, but snapshots leave it out")
  func tombstones() async throws {
    let (service, _) = try service()
    _ = try await service.sync(space: "s", user: ann, push([insert("T1")]))
    let cursor = try #require(try await service.sync(space: "s", user: ann, pull(nil)).pages.first)
      .cursor
    let deletion = SyncOperation(id: "del", kind: .delete, record: .note("T1"), base: "1")
    _ = try await service.sync(space: "s", user: ann, push([deletion]))
    let page = try #require(try await service.sync(space: "s", user: ann, pull(cursor)).pages.first)
    #expect(page.changes.map(\.isDeleted) == [true])
    #expect(page.changes.map(\.version) == ["2"])
    #expect(
      try await service.sync(space: "s", user: ann, pull(nil)).pages.first?.changes.isEmpty == true)
  }

  @Test("A request that is invalid as a whole is rejected and changes nothing")
  func refusals() async throws {
    let (service, storage) = try service(AccessRules(operationLimit: 2, minimumSchemaVersion: 2))
    var ok = push([insert("T1")])
    #expect(await code(ok, service) == .updateRequired)
    ok.schemaVersion = 2
    var tooMany = ok
    tooMany.operations = [insert("T1"), insert("T2"), insert("T3")]
    var twice = ok
    twice.operations = [insert("T1", operation: "o"), insert("T2", operation: "o")]
    var nameless = ok
    nameless.operations = [insert("T1", operation: "")]
    var cursor = ok
    cursor.pulls = [.init(.everything, cursor: "nonsense")]
    #expect(await code(tooMany, service) == .tooManyOperations)
    #expect(await code(twice, service) == .badRequest)
    #expect(await code(nameless, service) == .badRequest)
    #expect(await code(cursor, service) == .badCursor)
    #expect(try await storage.read(space: "s") { $0.head } == 0)
    #expect(await code(ok, service) == nil)
  }

  @Test("A reference to a missing record is rejected; one to a failed record waits")
  func references() async throws {
    let (service, _) = try service(.family)
    func operation(_ type: String, _ id: String, _ fields: [String: JSONValue]) -> BothySync.SyncOperation {
      SyncOperation(id: "op-\(id)", kind: .insert, record: RecordID(type: type, id: id), fields: fields)
    }
    let response = try await service.sync(
      space: "s", user: ann,
      push([
        operation("Child", "C0", ["name": "c", "parent": "P0"]), operation("Parent", "P1", ["name": 5]),
        operation("Child", "C1", ["name": "c", "parent": "P1"]), operation("Parent", "P2", ["name": "p"]),
        operation("Child", "C2", ["name": "c", "parent": "P2"]),
      ]))
    #expect(
      response.outcomes.map { word($0.verdict) } == [
        "unknownReference", "invalid", "waiting on op-P1", "applied 1", "applied 2",
      ])
  }
}
