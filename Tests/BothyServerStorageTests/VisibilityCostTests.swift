import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Synchronization
import Testing

/// The rows that reads cost a user who sees few of many records, in thousands of SQLite's steps.
@Suite("The cost of reading among hidden records", .timeLimit(.minutes(5)))
struct VisibilityCostTests {
  /// The hidden records. A scan of them costs more than ten steps for each.
  private static let hidden = 20_000
  private static let container = SyncScope(container: "Private")
  private static let tree = SyncScope(container: "Private", includesChildren: true)

  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Private", fields: [FieldSchema("title", .text)],
      permissions: Permissions(read: .shared, update: .shared, delete: .owner)),
    TypeSchema("Open", fields: [FieldSchema("title", .text)]),
  ])

  /// A storage that counts thousands of steps of its reads.
  private struct CountingStorage: ServerStorage {
    let base: SQLiteServerStorage
    let steps = Steps()

    var identity: String { base.identity }

    func write<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
    ) async throws -> Result { try await base.write(space: space, body) }

    func read<Result: Sendable>(
      space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
    ) async throws -> Result {
      try await base.read(space: space, eachThousand: { steps.count() }, body)
    }
  }

  private final class Steps: Sendable {
    private let thousands = Mutex(0)
    func count() { thousands.withLock { $0 += 1 } }
    func take() -> Int {
      thousands.withLock { thousands in
        defer { thousands = 0 }
        return thousands
      }
    }
  }

  private func world() async throws -> (SyncService, CountingStorage) {
    let storage = CountingStorage(base: try SQLiteServerStorage())
    let service = SyncService(storage: storage, rules: AccessRules(schema: Self.schema), now: { 1000 })
    for start in stride(from: 0, to: Self.hidden, by: 1000) {
      let entries = (start..<start + 1000).map { number -> StoredRecord in
        let isBobs = number % 2000 == 7
        return ServerStorageConformance.visible(
          Int64(number + 1), "r\(number)", type: number % 1000 == 3 ? "Open" : "Private",
          in: number % 1000 == 3 ? "Open" : "Private", owner: isBobs ? "bob" : "ann\(number % 50)",
          audience: number % 4000 == 5 ? .users("bob") : number % 4000 == 6 ? .lists("L") : .nobody)
      }
      try await storage.write(space: "s") { try $0.put(entries) }
    }
    try await storage.write(space: "s") { try $0.setMembers(["bob"], of: "L", ownedBy: "ann") }
    _ = storage.steps.take()
    return (service, storage)
  }

  @Test("A member who sees twenty of many records pulls, counts and compares these alone")
  func few() async throws {
    let (service, storage) = try await world()
    let bob = Caller("bob")
    func pull(_ scope: SyncScope) async throws -> SyncResponse.Page {
      let request = SyncRequest(device: "d", pulls: [.init(scope)])
      return try #require(try await service.sync(space: "s", user: bob, request).pages.first)
    }
    func expectFew(_ read: String) {
      let thousands = storage.steps.take()
      #expect(thousands <= 3, "\(read): \(thousands)")
    }
    let all = try await pull(.everything)
    #expect(all.changes.count == 40 && !all.more)
    expectFew("a pull of everything")
    for scope in [Self.container, Self.tree] {
      let page = try await pull(scope)
      #expect(page.changes.count == 20 && !page.more)
      expectFew("a pull of \(scope)")
    }
    let query = AnyQuery("Private", where: .compare(field: "title", .equal, .text("t")))
    #expect(try await service.query(space: "s", user: bob, query).count == 20)
    expectFew("a query")
    #expect(try await service.count(space: "s", user: bob, query) == 20)
    expectFew("a count")
    #expect(try await service.digest(space: "s", user: bob, .everything).count == 40)
    expectFew("a digest")
    #expect(try await service.containers(space: "s", user: bob, .everything).map(\.count) == [20, 20])
    expectFew("a list of containers")
    _ = try await service.validator(space: "s", user: bob, .everything)
    expectFew("a validator")
  }

  @Test("A condition costs a member the records of its projects")
  func members() async throws {
    let condition = "EXISTS(Member WHERE project = record.project AND user = principal.name)"
    let schema = StoreSchema(types: [
      TypeSchema(
        "Doc", fields: [FieldSchema("project", .text, indexed: true)],
        permissions: Permissions().where(read: condition)),
      TypeSchema(
        "Member", fields: [FieldSchema("user", .text, indexed: true), FieldSchema("project", .text)]),
    ])
    let storage = CountingStorage(base: try SQLiteServerStorage())
    let service = SyncService(storage: storage, rules: AccessRules(schema: schema), now: { 1000 })
    func record(_ type: String, _ id: String, _ fields: [String: JSONValue]) -> ServerRecord {
      ServerRecord(
        id: RecordID(type: type, id: id), container: type, version: "", modified: 1, created: 1, owner: "ann",
        fields: FieldsDocument(fields))
    }
    for start in stride(from: 0, to: Self.hidden, by: 1000) {
      let docs = (start..<start + 1000).map { record("Doc", "d\($0)", ["project": .string("P\($0 / 20)")]) }
      _ = try await service.restore(docs, into: "s")
    }
    _ = try await service.restore([record("Member", "m", ["user": "bob", "project": "P70"])], into: "s")
    let bob = Caller("bob")
    _ = storage.steps.take()
    for scope in [SyncScope.everything, SyncScope(container: "Doc")] {
      let request = SyncRequest(device: "d", pulls: [.init(scope)])
      let page = try await service.sync(space: "s", user: bob, request).pages.first
      #expect(page?.changes.filter { $0.id.type == "Doc" }.count == 20 && page?.more == false)
      let thousands = storage.steps.take()
      #expect(thousands <= 3, "a pull of \(scope): \(thousands)")
    }
    #expect(try await service.query(space: "s", user: bob, AnyQuery("Doc")).count == 20)
    #expect(try await service.digest(space: "s", user: bob, .everything).count == 21)
    let thousands = storage.steps.take()
    #expect(thousands <= 5, "a query and a digest: \(thousands)")
  }

  @Test("Memberships that have ended cost a member nothing")
  func ended() async throws {
    let schema = StoreSchema(types: [
      TypeSchema(
        "Doc", fields: [FieldSchema("project", .text, indexed: true)],
        permissions: Permissions().where(
          read: "EXISTS(Member WHERE project = record.project AND user = principal.name AND open = true)")),
      TypeSchema(
        "Member",
        fields: [
          FieldSchema("user", .text, indexed: true), FieldSchema("project", .text),
          FieldSchema("open", .bool),
        ]),
    ])
    let storage = CountingStorage(base: try SQLiteServerStorage())
    let service = SyncService(storage: storage, rules: AccessRules(schema: schema), now: { 1000 })
    func member(_ number: Int, isOpen: Bool) -> ServerRecord {
      ServerRecord(
        id: RecordID(type: "Member", id: "m\(number)"), container: "Member", version: "", modified: 1,
        created: 1, owner: "ann",
        fields: FieldsDocument(["user": "bob", "project": .string("P\(number)"), "open": .bool(isOpen)]))
    }
    for start in stride(from: 0, to: 5000, by: 1000) {
      _ = try await service.restore((start..<start + 1000).map { member($0, isOpen: false) }, into: "s")
    }
    let doc = ServerRecord(
      id: RecordID(type: "Doc", id: "d"), container: "Doc", version: "", modified: 1, created: 1,
      owner: "ann",
      fields: FieldsDocument(["project": "P5000"]))
    _ = try await service.restore([member(5000, isOpen: true), doc], into: "s")
    _ = storage.steps.take()
    #expect(try await service.query(space: "s", user: Caller("bob"), AnyQuery("Doc")).map(\.id.id) == ["d"])
    let thousands = storage.steps.take()
    #expect(thousands <= 3, "a query: \(thousands)")
  }

  @Test("A scan of all records costs far more steps")
  func scan() async throws {
    let (_, storage) = try await world()
    let count = try await storage.read(space: "s") { storage in
      try storage.changes(after: 0, in: .everything, limit: Self.hidden).count
    }
    #expect(count == Self.hidden)
    #expect(storage.steps.take() > 50)
  }

  @Test("An older file gets its indexes from the records")
  func older() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let first = try SQLiteServerStorage(at: path)
    let wide = Set((0...VisibilityKey.indexedAudience).map { "user\($0)" })
    let entries = [
      ServerStorageConformance.visible(1, "own", owner: "bob"), ServerStorageConformance.visible(2, "hidden"),
      ServerStorageConformance.visible(3, "shared", audience: Audience(users: ["bob"], lists: ["L"])),
      ServerStorageConformance.visible(4, "wide", audience: Audience(users: wide)),
    ]
    try await first.write(space: "s") { storage in
      try storage.put(entries)
      try storage.put([VisibilityNotice(position: 5, user: "bob", record: .note("hidden"))])
    }
    try first.close()
    try SQLiteServerStorageTests.setVersion(2, of: path)
    let second = try SQLiteServerStorage(at: path)
    try await ServerStorageConformance.checkIndexed(second)
    try second.close()
  }
}
