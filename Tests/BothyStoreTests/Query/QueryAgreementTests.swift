import BothyStore
import BothyTestSupport
import Testing

/// A query has one result wherever it is evaluated.
@Suite(.timeLimit(.minutes(5))) struct QueryAgreementTests {
  @Test("A table and a JSON document give the result of the reference", arguments: RandomQueries.seeds(20))
  func agreement(seed: UInt64) throws {
    var world = RandomQueries(seed: seed)
    let records = world.records(40)
    let store = try LocalStore(inMemory: StoreSchema(types: [world.type]))
    try fill(store, records)
    for round in 0..<40 {
      let query = world.query()
      let expected = try query.evaluate(over: records, schema: world.type).map(\.id)
      let comment: Comment = "seed \(seed), round \(round): \(query)"
      #expect(try store.fetch(query).map(\.id) == expected, comment)
      #expect(try store.count(query) == expected.count, comment)
      #expect(try store.read { try $0.ids(query) } == expected, comment)
      #expect(try documents(store, query, world.type) == expected, comment)
    }
  }

  @Test("Two spellings of a letter are two containers in every evaluation")
  func containers() throws {
    let type = TypeSchema("Item", fields: [])
    let names = ["caf\u{E9}", "cafe\u{301}", "caf\u{E9}/a", "cafe\u{301}/a"]
    let records = names.map { AnyRecord("Item", id: $0, container: $0) }
    let store = try LocalStore(inMemory: StoreSchema(types: [type]))
    try store.write { transaction in for record in records { try transaction.insert(record) } }
    for includesChildren in [false, true] {
      let query = AnyQuery("Item", container: names[0], includesChildren: includesChildren)
      let expected = try query.evaluate(over: records, schema: type).map { Array($0.id.utf8) }
      #expect(expected.count == (includesChildren ? 2 : 1))
      #expect(try store.fetch(query).map { Array($0.id.utf8) } == expected)
    }
  }

  @Test("A query survives its JSON document", arguments: 0..<40)
  func json(seed: UInt64) throws {
    var world = RandomQueries(seed: seed)
    let schema = StoreSchema(types: [world.type])
    for _ in 0..<40 {
      let query = try world.query().checked(for: world.type)
      let text = query.json.canonicalText
      let again = try AnyQuery(json: JSONValue(parsing: text), schema: schema)
      #expect(again.json.canonicalText == text, "seed \(seed)")
      let records = world.records(20)
      #expect(
        try again.evaluate(over: records, schema: world.type)
          == query.evaluate(over: records, schema: world.type), "seed \(seed): \(text)")
    }
  }

  @Test("A condition survives its text form", arguments: 0..<40)
  func text(seed: UInt64) throws {
    var world = RandomQueries(seed: seed)
    let records = world.records(30)
    for _ in 0..<40 {
      let condition = world.condition(depth: 3)
      let again = try WhereParser.parse(condition.description)
      #expect(
        try AnyQuery("Item", where: again).evaluate(over: records, schema: world.type)
          == AnyQuery("Item", where: condition).evaluate(over: records, schema: world.type),
        "seed \(seed): \(condition)")
    }
  }

  @Test("Pages of any size together give the whole result", arguments: RandomQueries.seeds(8))
  func pages(seed: UInt64) async throws {
    var world = RandomQueries(seed: seed)
    let records = world.records(60)
    let store = try LocalStore(inMemory: StoreSchema(types: [world.type]))
    try fill(store, records)
    for _ in 0..<10 {
      var query = world.query()
      if world.random.chance(0.7) {
        query.filter = .all
        query.order.removeAll(where: \.isRank)
      }
      let expected = try query.evaluate(over: records, schema: world.type).map(\.id)
      var found: [String] = []
      for try await record in store.records(query, pageSize: Int.random(in: 1...9, using: &world.random)) {
        found.append(record.id)
      }
      #expect(found == expected, "seed \(seed): \(query)")
    }
  }

  /// Writes rows as a server sends them, so that containers and versions vary.
  private func fill(_ store: LocalStore, _ records: [AnyRecord]) throws {
    try store.write { transaction in
      let table = try transaction.catalog.table("Item")
      let create = """
        CREATE TABLE document (id TEXT NOT NULL, container TEXT NOT NULL, version TEXT, fields TEXT NOT NULL,
          created INTEGER, modified INTEGER, owner TEXT)
        """
      try PreparedStatement(unkept: create, in: transaction.database).run()
      let insert = try PreparedStatement(
        unkept: "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?)", in: transaction.database)
      for record in records {
        if table.schema.isSynced {
          var row = StoredRow(
            values: record.values(for: table.schema), container: record.container, version: record.version)
          row.metadata = record.metadata
          try transaction.put(table, id: record.id, row)
        } else {
          try transaction.insert(record)
        }
        insert.bind(record.id, at: 1)
        insert.bind(record.container, at: 2)
        insert.bind(record.version, at: 3)
        insert.bind(document(record), at: 4)
        insert.bind(record.metadata.createdTime, at: 5)
        insert.bind(record.metadata.modifiedTime, at: 6)
        insert.bind(record.metadata.owner, at: 7)
        try insert.run()
      }
    }
  }

  private func document(_ record: AnyRecord) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    for (name, value) in record.fields {
      writer.key(name)
      value.write(to: &writer)
    }
    writer.endObject()
    return writer.string
  }

  private func documents(_ store: LocalStore, _ query: AnyQuery, _ type: TypeSchema) throws -> [String] {
    let tail = try QueryCompiler(type, DocumentColumns()).tail(query)
    return try store.read { transaction in
      let select = try PreparedStatement(
        unkept: "SELECT id FROM document\(tail.sql)", in: transaction.database)
      select.bind(tail.arguments)
      var ids: [String] = []
      while try select.step() { ids.append(select.text(at: 0) ?? "") }
      return ids
    }
  }
}
