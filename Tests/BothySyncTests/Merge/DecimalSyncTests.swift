import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// Decimals and days between devices, also beside an app and a server that know them as text.
@Suite("Decimals and days are synced", .timeLimit(.minutes(5)))
struct DecimalSyncTests {
  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Bill",
      fields: [
        .field("title", String.self), .field("total", Decimal.self, default: 0, merge: .counter),
        .field("due", CalendarDate?.self),
      ])
  ])
  private static let plain = StoreSchema(types: [
    TypeSchema(
      "Bill",
      fields: [
        FieldSchema("title", .text), FieldSchema("total", .text, default: "a0"),
        FieldSchema("due", .text, optional: true),
      ])
  ])

  private func amount(_ text: String) throws -> FieldValue {
    let number = try #require(Decimal(string: text))
    return FieldValue(number)
  }

  private func bill(_ id: String, _ total: FieldValue) -> AnyRecord {
    AnyRecord("Bill", id: id, ["title": "hut", "total": total, "due": "2026-03-09"])
  }

  @Test("Amounts that two devices add to one field are all counted, exactly")
  func counter() async throws {
    let pair = try Pair(schema: Self.schema, policy: .fieldByField)
    let id = RecordID(type: "Bill", id: "B1")
    try pair.a.put(bill("B1", amount("10.10")))
    #expect(try await pair.isEven())
    let (more, less) = (try amount("11.20"), try amount("7.85"))
    try pair.a.change { _ = try $0.update(id, fields: ["total": more]) }
    try pair.b.change { _ = try $0.update(id, fields: ["total": less]) }
    #expect(try await pair.isEven())
    #expect(try pair.a.record("Bill", "B1")?["total"] == amount("8.95"))
    #expect(try pair.b.record("Bill", "B1")?["due"] == "2026-03-09")
    #expect(try await pair.server("B1", type: "Bill")?["total"] == "a8.95")
  }

  @Test("Without decimals an app keeps them, and a server orders them", arguments: [true, false])
  func neighbours(hasSchema: Bool) async throws {
    let world = try SimulatedWorld(rules: hasSchema ? AccessRules(schema: Self.plain) : AccessRules())
    let newer = try world.addDevice("newer", schema: Self.schema)
    let older = try world.addDevice("older", schema: Self.plain)
    for (index, text) in ["9", "-12.5", "100", "-0.01", "12.5"].enumerated() {
      try newer.put(bill("\(index)", amount(text)))
    }
    await newer.store.sync()
    await older.store.sync()
    try older.change { _ = try $0.update(RecordID(type: "Bill", id: "2"), fields: ["title": "tent"]) }
    await older.store.sync()
    await newer.store.sync()
    #expect(try newer.record("Bill", "2")?["title"] == "tent")
    #expect(try newer.record("Bill", "2")?["total"] == amount("100"))
    func ids(_ filter: ConditionTree) async throws -> [String] {
      let query = AnyQuery("Bill", where: filter, order: [SortKey("total")])
      return try await world.service.query(space: "test", user: Caller("ann"), query).map(\.id.id)
    }
    #expect(try await ids(.all) == ["1", "3", "0", "4", "2"])
    #expect(try await ids(.compare(field: "total", .greater, amount("9"))) == ["4", "2"])
    #expect(try await ids(.compare(field: "total", .less, amount("-1"))) == ["1"])
  }

  @Test(
    "A server with the schema keeps numbers of other clients as decimals",
    arguments: ["12.50", "12.5", "b12.5"])
  func otherClient(text: String) async throws {
    let world = try SimulatedWorld(rules: AccessRules(schema: Self.schema))
    let (ann, id) = (Caller("ann"), RecordID(type: "Bill", id: "B1"))
    for value: JSONValue in [.string(text), .double(12.5)] {
      let number = value == .double(12.5) ? "2" : "1"
      let record = RecordID(type: id.type, id: id.id + number)
      let verdict = try await world.service.perform(
        space: "test", user: ann,
        SyncOperation(id: number, kind: .insert, record: record, fields: ["title": "hut", "total": value]))
      #expect(verdict.isApplied)
    }
    let query = AnyQuery("Bill", where: try WhereParser.parse("total = 12.50"))
    let found = try await world.service.query(space: "test", user: ann, query)
    #expect(try found.compactMap { try $0.fields.members()["total"] } == ["b12.5", "b12.5"])
  }
}
