import BothyHTTP
import BothyKinto
import BothyStore
import BothySync
import Testing

@Suite("Queries to Kinto", .timeLimit(.minutes(5)))
struct KintoQueryTests {
  private let records: JSONValue = [
    ["id": "a", "last_modified": 10, "title": "Milk", "n": 3, "done": false],
    ["id": "b", "last_modified": 20, "title": "milk", "n": 1, "done": true],
    ["id": "c", "last_modified": 30, "title": "Rice", "_container": "trips"],
  ]

  private func kinto() -> ScriptedKinto {
    ScriptedKinto { call in
      if call.path.contains("/records/") {
        let id = call.path.split(separator: "/").last.map(String.init)
        guard let found = records.arrayValue?.first(where: { $0["id"]?.stringValue == id }) else {
          return .error(404, 110)
        }
        return .data(found, at: 1)
      }
      if call.method == "HEAD" { return .init(headers: ["Total-Objects": "3"]) }
      return .data(records, at: 30)
    }
  }

  private func ids(_ query: AnyQuery, _ kinto: ScriptedKinto? = nil) async throws -> [String] {
    try await KintoRemote(kinto ?? self.kinto()).query(query).map(\.id.id)
  }

  @Test("The client checks Kinto's loose results again, so that they are exact")
  func judged() async throws {
    #expect(try await ids(AnyQuery("Todo", where: .compare(field: "n", .greater, .int(1)))) == ["a"])
    #expect(
      try await ids(AnyQuery("Todo", where: .compare(field: "title", .equal, .text("milk")))) == ["b"])
    #expect(try await ids(AnyQuery("Todo", order: [SortKey("n")])) == ["c", "b", "a"])
    #expect(try await ids(AnyQuery("Todo", order: [SortKey("n", ascending: false)], limit: 1)) == ["a"])
    #expect(try await ids(AnyQuery("Todo", container: "trips")) == ["c"])
    #expect(
      try await ids(AnyQuery("Todo", where: .not(.compare(field: "done", .equal, .bool(true))))) == [
        "a", "c",
      ])
  }

  @Test("The client measures distances by the store's rule")
  func places() async throws {
    let kinto = ScriptedKinto { _ in
      .data(
        [
          ["id": "a", "last_modified": 10, "at": ["lat": 0.0, "lon": 179.9]],
          ["id": "b", "last_modified": 20, "at": ["lat": 0.0, "lon": -179.95]],
          ["id": "c", "last_modified": 30, "at": ["lat": 200.0, "lon": 0.0]],
          ["id": "d", "last_modified": 40],
        ], at: 40)
    }
    let here = Coordinate(latitude: 0, longitude: 180)
    let nearest = SortKey("at", distanceFrom: here)
    #expect(
      try await ids(AnyQuery("Todo", where: .near(field: "at", centre: here, metres: 6000)), kinto) == [
        "b"
      ])
    #expect(try await ids(AnyQuery("Todo", order: [nearest]), kinto) == ["b", "a", "c", "d"])
    #expect(try await ids(AnyQuery("Todo", order: [nearest], limit: 1), kinto) == ["b"])
    let query = AnyQuery(
      "Todo", order: [SortKey("at", distanceFrom: Coordinate(latitude: 91, longitude: 0))])
    let error = await #expect(throws: RemoteError.self) { try await ids(query, kinto) }
    #expect(error?.code == "invalidQuery")
  }

  @Test("The server filters by equality, with quotes that keep text as text")
  func filters() async throws {
    let kinto = kinto()
    let condition = ConditionTree.and([
      .compare(field: "title", .equal, .text("1")), .compare(field: "done", .equal, .bool(true)),
      .or([.compare(field: "n", .equal, .int(1))]), .compare(field: "min_age", .equal, .int(1)),
    ])
    _ = try await ids(AnyQuery("Todo", where: condition), kinto)
    let path = try #require(kinto.calls.first?.path)
    #expect(path.hasSuffix("&eq_title=%221%22&eq_done=true"))
  }

  @Test("Dates and UUIDs that other clients write in another form are found")
  func otherForms() async throws {
    let id = "0190f5c1-7d2a-7c3e-9b1f-2f6a5d4c3b2a"
    let kinto = ScriptedKinto { call in
      // Kinto compares JSON, and so finds none of these.
      call.path.contains("eq_")
        ? .data([], at: 20)
        : .data(
          [
            ["id": "a", "last_modified": 10, "due": "1970-01-01T00:00:01Z"],
            ["id": "b", "last_modified": 20, "key": .string(id.uppercased())],
          ], at: 20)
    }
    let schema = StoreSchema(types: [
      TypeSchema(
        "Todo",
        fields: [FieldSchema("due", .date, optional: true), FieldSchema("key", .uuid, optional: true)])
    ])
    let remote = KintoRemote(url: "https://kinto.test", space: "hut", transport: kinto, schema: schema)
    let due = AnyQuery("Todo", where: .compare(field: "due", .equal, .date(1000)))
    #expect(try await remote.query(due).map(\.id.id) == ["a"])
    let key = AnyQuery("Todo", where: .compare(field: "key", .equal, .text(id)))
    #expect(try await remote.query(key).map(\.id.id) == ["b"])
  }

  @Test("Records by id are requested alone, in batches")
  func byID() async throws {
    let kinto = kinto()
    #expect(
      try await ids(
        AnyQuery("Todo", where: .oneOf(field: "id", ["b", "a", "x"].map { .text($0) })), kinto) == [
          "a", "b",
        ])
    #expect(kinto.batches == [3])
    #expect(kinto.calls.allSatisfy { $0.path.contains("/records/") })
  }

  @Test("The number of all records of a type comes from the server")
  func count() async throws {
    let kinto = kinto()
    #expect(try await KintoRemote(kinto).count(AnyQuery("Todo")) == 3)
    #expect(kinto.calls.map(\.method) == ["HEAD"])
    #expect(try await KintoRemote(kinto).count(AnyQuery("Todo", container: "trips")) == 1)
  }

  @Test("Further pages of a result are not read again while the type is unchanged")
  func pages() async throws {
    let kinto = kinto()
    let remote = KintoRemote(kinto)
    #expect(try await remote.query(AnyQuery("Todo", limit: 2)).map(\.id.id) == ["a", "b"])
    kinto.forgetCalls()
    #expect(try await remote.query(AnyQuery("Todo", limit: 2, offset: 2)).map(\.id.id) == ["c"])
    #expect(kinto.calls.map(\.path) == ["/buckets/hut/collections/Todo/records?_limit=1"])
  }
}
