import BothyStore
import BothyTestSupport
import Testing

/// Indexes of several fields, of some of the records, and of values that are unique together.
@Suite("Indexes of several fields or some records", .timeLimit(.minutes(5)))
struct IndexTests {
  private static let fields: [FieldSchema] = [
    FieldSchema("hut", .text, optional: true), FieldSchema("due", .date, optional: true),
    FieldSchema("done", .bool, default: false), FieldSchema("state", .text, optional: true),
    FieldSchema("note", .json, optional: true), FieldSchema("secret", .text, optional: true, sensitive: true),
  ]

  private static func type(_ indexes: IndexSchema..., synced: Bool = true) -> TypeSchema {
    var type = TypeSchema("Repair", fields: synced ? fields : Array(fields.dropLast()), synced: synced)
    type.indexes = indexes
    return type
  }

  private static func schema(_ version: Int = 1, _ types: TypeSchema...) -> StoreSchema {
    StoreSchema(version: version, types: types)
  }

  private func plan(_ condition: String, order: String = "", _ index: IndexSchema) throws -> String {
    let store = try LocalStore(inMemory: Self.schema(1, Self.type(index)))
    return try store.plan(
      AnyQuery("Repair", where: try WhereParser.parse(condition), order: try SortKey.parse(order)))
  }

  @Test("An index of two fields serves a condition with a sort")
  func composite() throws {
    let found = try plan("hut = 'finse'", order: "due", IndexSchema(["hut", "due"]))
    #expect(found.contains("bothy_index(Repair: hut, due) (hut=?)"), "\(found)")
    let sorted = try plan("hut = 'finse' AND due > 2026-01-01", order: "-due", IndexSchema(["hut", "due"]))
    #expect(sorted.contains("(hut=? AND due>?)"), "\(sorted)")
  }

  @Test(
    "An index of some records serves queries with its condition, in any spelling",
    arguments: [
      ("done = false", "done = false"), ("done = false", "done != true"), ("done != true", "done = false"),
      ("NOT done = true", "done = false"), ("done = true", "done = true"),
      ("done = true", "NOT done = false"),
      ("state = 'it''s'", "state = 'it''s'"), ("state IN ('a', 'b')", "state = 'b'"),
      ("state = 'a''\u{301}b'", "state = 'a''\u{301}b'"),
      ("state IS NULL", "state IS NULL"), ("state IS NOT NULL", "state > 'a'"),
      ("state != 'x' AND done = false", "done = false AND NOT state = 'x'"),
      ("done = false OR state = 'x'", "done = false"), ("NOT state < 'm'", "NOT state < 'm'"),
    ])
  func partial(index: String, query: String) throws {
    let found = try plan("hut = 'finse' AND \(query)", IndexSchema(["hut"], where: index))
    #expect(found.contains("bothy_index(Repair: hut WHERE \(index)) (hut=?)"), "\(found)")
  }

  @Test(
    "An index of some records isn't used by queries for others",
    arguments: ["done = true", "done != false", "state = 'x'", "TRUE"])
  func otherRecords(query: String) throws {
    let found = try plan("hut = 'finse' AND \(query)", IndexSchema(["hut"], where: "done = false"))
    #expect(found.contains("SCAN Repair"), "\(found)")
  }

  @Test("A query by an index of some records finds what a scan finds")
  func agreement() throws {
    let plain = try LocalStore(inMemory: Self.schema(1, Self.type()))
    let indexed = try LocalStore(
      inMemory: Self.schema(
        1,
        Self.type(IndexSchema(["hut"], where: "done = false"), IndexSchema(["hut"], where: "NOT state = 'b'"))
      ))
    for store in [plain, indexed] {
      try store.write { transaction in
        for (index, state) in [FieldValue.null, "a", "b"].enumerated() {
          for done in [true, false] {
            try transaction.insert(
              AnyRecord("Repair", id: "\(index)\(done)", ["hut": "x", "done": .bool(done), "state": state]))
          }
        }
        // A row of the server may lack the value.
        let table = try transaction.catalog.table("Repair")
        try transaction.put(
          table, id: "bare", StoredRow(values: ["x", .null, .null, .null, .null, .null], version: "1"))
      }
    }
    for condition in ["done = false", "done != true", "done = true", "state != 'b'", "NOT state = 'b'"] {
      let query = AnyQuery("Repair", where: try WhereParser.parse("hut = 'x' AND \(condition)"))
      #expect(try indexed.fetch(query).map(\.id) == plain.fetch(query).map(\.id), "\(condition)")
    }
  }

  @Test("No two records of a synced type get values that are unique together")
  func uniqueTogether() throws {
    let store = try LocalStore(
      inMemory: Self.schema(1, Self.type(IndexSchema(["hut", "state"], unique: true))))
    try store.write { transaction in
      try transaction.insert(AnyRecord("Repair", id: "a", ["hut": "finse", "state": "new"]))
      try transaction.insert(AnyRecord("Repair", id: "b", ["hut": "finse", "state": "old"]))
      try transaction.insert(AnyRecord("Repair", id: "c", ["hut": "finse"]))
      try transaction.insert(AnyRecord("Repair", id: "d", ["hut": "finse"]))
      do {
        try transaction.insert(AnyRecord("Repair", id: "e", ["hut": "finse", "state": "new"]))
        Issue.record("The second record with these values was taken.")
      } catch let error as BothyError {
        #expect(error.code == .uniqueViolation)
        #expect(error.message.contains("('a') has the same 'hut' and 'state', which are unique together"))
      }
      do {
        try transaction.update(RecordID(type: "Repair", id: "b"), fields: ["state": "new"])
        Issue.record("The update to the same values was taken.")
      } catch let error as BothyError { #expect(error.code == .uniqueViolation) }
      try transaction.update(RecordID(type: "Repair", id: "b"), fields: ["done": .bool(true)])
    }
  }

  @Test("Values that are unique together are refused in a type of this device")
  func uniqueLocally() throws {
    let store = try LocalStore(
      inMemory: Self.schema(1, Self.type(IndexSchema(["hut", "state"], unique: true), synced: false)))
    try store.write { try $0.insert(AnyRecord("Repair", id: "a", ["hut": "finse", "state": "new"])) }
    let error = #expect(throws: BothyError.self) {
      try store.write { try $0.insert(AnyRecord("Repair", id: "b", ["hut": "finse", "state": "new"])) }
    }
    #expect(error?.code == .uniqueViolation)
    #expect(error?.message.contains("Repair.hut, Repair.state, which are unique together") == true)
  }

  @Test("A schema document with indexes reads back as it was written")
  func document() throws {
    let schema = Self.schema(
      1, Self.type(IndexSchema(["hut", "due"], unique: true), IndexSchema(["due"], where: "done = false")))
    #expect(try StoreSchema(json: schema.json.canonicalText) == schema)
    let declared = TypeSchema("Repair", fields: Self.fields)
      .indexed(by: "hut", "due", unique: true).indexed(by: "due", where: "done = false")
    #expect(StoreSchema(types: [declared]) == schema)
  }

  @Test(
    "An index that can't be is refused with its reason",
    arguments: [
      (IndexSchema([]), "1 to 8 fields"), (IndexSchema(["hut", "hut"]), "each once"),
      (IndexSchema(["hat"]), "can't have 'hat'"), (IndexSchema(["note"]), "can't have 'note'"),
      (IndexSchema(["secret"]), "can't have 'secret'"),
      (IndexSchema(["hut"], unique: true, where: "done = false"), "unique and have a condition"),
      (IndexSchema(["hut"], where: "done = 'x'"), "doesn't fit"),
      (IndexSchema(["hut"], where: "done ="), "can't be read"),
      (IndexSchema(["hut"], where: "hut CONTAINS 'x'"), "no index can have"),
      (IndexSchema(["hut"], where: "container = 'x'"), "no index can have"),
    ])
  func refused(index: IndexSchema, phrase: String) {
    let error = #expect(throws: BothyError.self) { try Self.schema(1, Self.type(index)).validate() }
    #expect(error?.code == .invalidSchema)
    #expect(error?.message.contains(phrase) == true, "\(error?.message ?? "")")
  }

  @Test(
    "A second index of the same fields is refused as such",
    arguments: [
      (IndexSchema(["hut", "due"], unique: true), IndexSchema(["hut", "due"])),
      (IndexSchema(["hut"], where: "state = 'x'"), IndexSchema(["hut"], where: "state = 'X'")),
    ])
  func twice(first: IndexSchema, second: IndexSchema) {
    let error = #expect(throws: BothyError.self) { try Self.schema(1, Self.type(first, second)).validate() }
    #expect(error?.message.contains("declared twice") == true, "\(error?.message ?? "")")
  }

  @Test("Indexes come, change and go with the schema, and follow renamed and dropped fields")
  func migration() throws {
    let folder = try TemporaryFolder()
    func open(_ schema: StoreSchema, _ steps: Migration...) throws -> LocalStore {
      try LocalStore(at: folder.database, schema: schema, migrations: steps)
    }
    func indexes(_ store: LocalStore) throws -> Int64 {
      try store.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'bothy_index(%'")
    }
    var store = try open(Self.schema(1, Self.type()))
    try store.write { try $0.insert(AnyRecord("Repair", id: "a", ["hut": "finse"])) }
    #expect(try indexes(store) == 0)
    try store.close()
    store = try open(
      Self.schema(2, Self.type(IndexSchema(["hut", "due"]), IndexSchema(["due"], where: "state = 'x'"))))
    #expect(try indexes(store) == 2)
    #expect(try store.diagnose().isHealthy)
    try store.close()
    var renamed = Self.type(IndexSchema(["cabin", "due"]), IndexSchema(["due"], where: "state = 'y'"))
    renamed.fields[0].name = "cabin"
    store = try open(
      Self.schema(3, renamed), Migration(to: 3, .renameField(type: "Repair", from: "hut", to: "cabin")))
    #expect(
      try store.plan(AnyQuery("Repair", where: WhereParser.parse("cabin = 'x'"))).contains("cabin, due"))
    #expect(try indexes(store) == 2)
    try store.close()
    renamed.fields.removeAll { $0.name == "state" }
    renamed.indexes.removeLast()
    store = try open(Self.schema(4, renamed), Migration(to: 4, .dropField(type: "Repair", field: "state")))
    #expect(try indexes(store) == 1)
    #expect(try store.diagnose().isHealthy)
    #expect(try store.record(RecordID(type: "Repair", id: "a"))?["cabin"] == "finse")
    try store.close()
  }

  @Test("A server's schema has an index of the first field, by its wire name")
  func wire() throws {
    var type = Self.type(IndexSchema(["hut", "due"]), IndexSchema(["due"], where: "state = 'x'"))
    type.fields[0].wire = "cabin"
    type.fields[3].wire = "status"
    let wire = try #require(Self.schema(1, type).asOnTheWire["Repair"])
    #expect(wire.indexes == [IndexSchema(["cabin", "due"]), IndexSchema(["due"], where: "status = 'x'")])
    #expect(wire.fields.filter(\.isIndexed).map(\.name) == ["cabin", "due"])
  }
}
