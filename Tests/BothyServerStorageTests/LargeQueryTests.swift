import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Synchronization
import Testing

/// Queries without an index over many or large records, which a server doesn't have in memory at a time.
@Suite("Queries of large types", .timeLimit(.minutes(5)))
struct LargeQueryTests {
  private static let schema = StoreSchema(types: [
    TypeSchema(
      "Task",
      fields: [
        FieldSchema("title", .text, optional: true, fullText: true),
        FieldSchema("body", .text, optional: true),
      ])
  ])

  /// Writes records with the numbers from 10 on as their ids and the beginnings of their bodies, in another order.
  ///
  /// - Parameter fillers: the number of other words in a title, as a multiple of the record's number.
  private static func fill(
    _ storage: any ServerStorage, _ count: Int, bodySize: Int, fillers: Int = 0
  ) async throws {
    let body = String(repeating: "x", count: bodySize)
    for first in stride(from: 0, to: count, by: 10) {
      let entries = (first..<first + 10).map { index -> StoredRecord in
        let number = 10 + index * 7 % count
        let title = "bread" + String(repeating: " dough", count: fillers * number)
        let fields: [String: JSONValue] = ["title": .string(title), "body": .string("\(number)" + body)]
        return StoredRecord(
          position: Int64(index + 1),
          record: ServerRecord(
            id: RecordID(type: "Task", id: "t\(number)"), container: "Task", version: "\(index + 1)",
            modified: 1, owner: "ann", fields: FieldsDocument(fields)))
      }
      try await storage.write(space: "s") { try $0.put(entries) }
    }
  }

  private static func ids(_ numbers: Range<Int>) -> [String] { numbers.map { "t\($0)" } }

  /// Asks for records whose sort keys alone are more than memory takes.
  private static func check(_ storage: any ServerStorage) async throws {
    var query = AnyQuery("Task", where: .matches("bread"), order: [SortKey("body")])
    let all = query
    let found = try await storage.read(space: "s") { try $0.query(all, schema: Self.schema) }
    #expect(found.map(\.record.id.id) == Self.ids(10..<50))
    #expect(found.allSatisfy { $0.record.fields.bytes.count > 900_000 })
    (query.offset, query.limit) = (30, 5)
    let some = query
    let part = try await storage.read(space: "s") { try $0.query(some, schema: Self.schema) }
    #expect(part.map(\.record.id.id) == Self.ids(40..<45))
    let count = try await storage.read(space: "s") { try $0.count(some, schema: Self.schema) }
    #expect(count == 40)
    // The titles with the relevance are gone from the records that have no room.
    let relevance = AnyQuery(
      "Task", where: .matches("bread"), order: [SortKey(SortKey.rank, ascending: false)])
    let ranked = try await storage.read(space: "s") { try $0.query(relevance, schema: Self.schema) }
    #expect(ranked.map(\.record.id.id) == Self.ids(10..<50))
  }

  @Test("Full text finds large records in the order of long texts")
  func sqlite() async throws {
    let storage = try SQLiteServerStorage()
    try await Self.fill(storage, 40, bodySize: 900_000, fillers: 10)
    try await Self.check(storage)
  }

  /// Runs `body` with a storage. `taken` returns the statements since its last call that begin with a word.
  private static func traced(
    _ body: (PostgresServerStorage, _ taken: (String) -> [String]) async throws -> Void
  ) async throws {
    let schema = RealPostgres.newSchema()
    try await RealPostgres.open(schema).close()
    let seen = Mutex<[String]>([])
    var configuration = RealPostgres.configuration(schema, connections: 2)
    configuration.trace = { sql in seen.withLock { $0.append(sql) } }
    let storage = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
    defer { storage.close() }
    try await body(storage) { word in
      seen.withLock { all in
        defer { all = [] }
        return all.filter { $0.hasPrefix(word) }
      }
    }
  }

  @Test(
    "Full text in PostgreSQL finds large records in the order of long texts",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func postgres() async throws {
    try await Self.traced { storage, taken in
      try await Self.fill(storage, 40, bodySize: 900_000, fillers: 10)
      try await Self.check(storage)
      _ = taken("")
      let query = AnyQuery("Task", where: .matches("bread"), order: [SortKey("body")])
      _ = try await storage.read(space: "s") { try $0.query(query, schema: Self.schema).count }
      // The first reading keeps the keys of some of them.
      let cursors = taken("DECLARE")
      #expect(cursors.count == 2)
    }
  }

  @Test(
    "A query in PostgreSQL reads in pieces, and no more than it needs",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func pieces() async throws {
    try await Self.traced { storage, taken in
      try await Self.fill(storage, 90, bodySize: 10)
      let conditions: [ConditionTree] = [.all, .matches("bread")]
      for condition in conditions {
        let query = AnyQuery("Task", where: condition, order: [SortKey("body")])
        _ = taken("")
        let found = try await storage.read(space: "s") { try $0.query(query, schema: Self.schema) }
        #expect(found.map(\.record.id.id) == Self.ids(10..<100))
        let pieces = taken("FETCH")
        #expect(pieces == ["FETCH 64 FROM visit0", "FETCH 128 FROM visit0"])
      }
      let query = AnyQuery("Task", order: [SortKey("body")])
      let first = try await storage.read(space: "s") { storage in
        var ids: [String] = []
        try storage.query(query, schema: Self.schema) {
          ids.append($0.record.id.id)
          return ids.count < 3
        }
        return ids
      }
      #expect(first == Self.ids(10..<13))
      let pieces = taken("FETCH")
      #expect(pieces == ["FETCH 64 FROM visit0"])
    }
  }
}
