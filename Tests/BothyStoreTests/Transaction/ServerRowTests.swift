import BothyStore
import Testing

/// Rows from a server, in any order.
@Suite(.timeLimit(.minutes(5))) struct ServerRowTests {
  private func row(_ tags: [String], version: String) -> StoredRow {
    StoredRow(
      values: [.text("note"), .bool(false), .null, .null, .list(tags)], version: version)
  }

  private func links(_ store: LocalStore) throws -> [String] {
    try store.read { transaction in
      let select = try PreparedStatement(
        "SELECT target FROM bothy_link ORDER BY target", in: transaction.database)
      defer { select.reset() }
      var targets: [String] = []
      while try select.step() { targets.append(select.text(at: 0) ?? "") }
      return targets
    }
  }

  @Test("An older version changes neither a newer row nor its indexed references")
  func older() throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.write(origin: .remote) { transaction in
      let table = try transaction.catalog.table("Todo")
      try transaction.put(table, id: "a", row(["new"], version: "7"))
      try transaction.put(table, id: "a", row(["old", "new"], version: "6"))
    }
    #expect(try store.fetch(Todo.self, id: "a")?.tags.map(\.id) == ["new"])
    #expect(try links(store) == ["new"])
    #expect(try store.diagnose().isHealthy)
  }

  @Test("A newer version replaces the indexed references of an older row")
  func newer() throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.write(origin: .remote) { transaction in
      let table = try transaction.catalog.table("Todo")
      try transaction.put(table, id: "a", row(["old", "both"], version: "6"))
      try transaction.put(table, id: "a", row(["both", "new"], version: "7"))
    }
    #expect(try links(store) == ["both", "new"])
    #expect(try store.diagnose().isHealthy)
  }

  @Test("A newer version replaces a row of a type called Excluded")
  func excluded() throws {
    let store = try LocalStore(
      inMemory: StoreSchema(types: [TypeSchema("Excluded", fields: [.field("reason", String.self)])]))
    try store.write(origin: .remote) { transaction in
      let table = try transaction.catalog.table("Excluded")
      for version in ["6", "7"] {
        try transaction.put(
          table, id: "a", StoredRow(values: [.text("of \(version)")], version: version))
      }
    }
    let record = try store.record(RecordID(type: "Excluded", id: "a"))
    #expect(record?["reason"] == "of 7" && record?.version == "7")
  }

  @Test("An older version of a newer row sends no event")
  func events() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    var events = store.events.makeAsyncIterator()
    for (tags, version) in [(["new"], "7"), (["old"], "6"), (["last"], "8")] {
      try await store.write(origin: .remote) { [row = row(tags, version: version)] transaction in
        try transaction.put(transaction.catalog.table("Todo"), id: "a", row)
      }
    }
    #expect(await events.next()?.map(\.kind) == [.inserted])
    #expect(await events.next()?.map(\.kind) == [.updated])
    try store.close()
    #expect(await events.next() == nil)
  }
}
