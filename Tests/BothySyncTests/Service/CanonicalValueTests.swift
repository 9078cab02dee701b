import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Values that raw clients write in a form other than that of Bothy's devices.
@Suite("Values in other forms", .timeLimit(.minutes(5)))
struct CanonicalValueTests {
  private let schema = StoreSchema(types: [
    TypeSchema(
      "Thing",
      fields: [
        FieldSchema("name", .text, optional: true), FieldSchema("key", .uuid, optional: true),
        FieldSchema("due", .date, optional: true),
        FieldSchema("size", .double, optional: true), FieldSchema("count", .int, optional: true),
        FieldSchema("place", .coordinate, optional: true), FieldSchema("bytes", .data, optional: true),
      ])
  ])

  @Test("The server canonicalizes values, so that queries find them and digests are equal")
  func canonical() async throws {
    let world = try SimulatedWorld(rules: AccessRules(schema: schema))
    let id = RecordID(type: "Thing", id: "t")
    let sent: [String: JSONValue] = [
      "key": "0197F3C2-0000-7000-8000-00000000ABCD", "due": "2026-01-01T00:00:00Z",
      "size": .int(9_007_199_254_740_993), "count": .double(1e18),
      "place": .object(["lat": .int(1), "lon": .double(2.0), "alt": .int(3)]), "bytes": "YR==",
    ]
    let verdict = try await world.service.perform(
      space: "test", user: Caller("ann"),
      BothySync.SyncOperation(id: "x", kind: .insert, record: id, fields: sent))
    guard case .applied = verdict else {
      Issue.record("\(verdict)")
      return
    }
    let device = try world.addDevice("a", schema: schema)
    await device.store.sync()
    let server = try await world.serverDigest()
    #expect(try device.store.digest().digest == server.digest)
    let query = AnyQuery(
      "Thing",
      where: .compare(field: "key", .equal, .text("0197f3c2-0000-7000-8000-00000000abcd")))
    let found = try await world.service.query(space: "test", user: Caller("ann"), query)
    #expect(found.count == 1)
    let due = try found.first?.fields.members()["due"]
    #expect(due == JSONValue.int(1_767_225_600_000))
  }

  @Test("A rejection names some of many problems and stays small")
  func manyProblems() async throws {
    let world = try SimulatedWorld(rules: AccessRules(schema: schema))
    var fields: [String: JSONValue] = [:]
    for number in 0..<10_000 { fields["nothing\(number)"] = .int(1) }
    fields[String(repeating: "x", count: 100_000)] = .int(1)
    let verdict = try await world.service.perform(
      space: "test", user: Caller("ann"),
      BothySync.SyncOperation(
        id: "x", kind: .insert, record: RecordID(type: "Thing", id: "t"), fields: fields))
    guard case .rejected(let rejection) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(rejection.fields.count == 20)
    #expect(rejection.message.utf8.count < 4000)
    #expect(rejection.message.hasSuffix("And 9981 other problems."))
  }

  @Test("A query with too many conditions or sort keys is rejected with a remedy")
  func largeQueries() async throws {
    let world = try SimulatedWorld(rules: AccessRules(schema: schema))
    func request(_ query: AnyQuery) async throws -> [ServerRecord] {
      try await world.service.query(space: "test", user: Caller("ann"), query)
    }
    let condition = ConditionTree.compare(field: "count", .greater, .int(1))
    let fits = AnyQuery("Thing", where: .or(Array(repeating: condition, count: 100)))
    #expect(try await request(fits).isEmpty)
    let tooMany = AnyQuery("Thing", where: .not(.or([fits.filter, condition])))
    let error = await #expect(throws: BothyError.self) { _ = try await request(tooMany) }
    #expect(error?.code == .invalidQuery)
    #expect(error?.message.contains("'in'") ?? false)
    var keys = AnyQuery("Thing")
    keys.order = Array(repeating: SortKey("count"), count: 9)
    let sorted = keys
    await #expect(throws: BothyError.self) { _ = try await request(sorted) }
    func contains(_ length: Int) -> AnyQuery {
      let text = String(repeating: "a", count: length)
      return AnyQuery("Thing", where: .not(.and([.contains(field: "name", text, ignoringCase: true)])))
    }
    #expect(try await request(contains(1024)).isEmpty)
    let long = await #expect(throws: BothyError.self) { _ = try await request(contains(1025)) }
    #expect(long?.message.contains("a part of the text") ?? false)
    let search = AnyQuery("Thing", where: .matches(String(repeating: "東", count: 342)))
    let wide = await #expect(throws: BothyError.self) { _ = try await request(search) }
    #expect(wide?.message.contains("a part of the text") ?? false)
    let many = AnyQuery("Thing", where: .oneOf(field: "count", (0..<5000).map { .int($0) }))
    #expect(try await request(many).isEmpty)
  }
}
