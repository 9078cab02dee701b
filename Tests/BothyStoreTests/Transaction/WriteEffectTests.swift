import BothyStore
import Testing

/// The effects of a write in the file and in events, beyond the values of its record.
@Suite("Effects of writes", .timeLimit(.minutes(5))) struct WriteEffectTests {
  private func container(of id: String, in store: LocalStore) throws -> String? {
    try store.record(RecordID(type: "Todo", id: id))?.container
  }

  @Test("A cascade removes records that refer before those that they refer to")
  func cascadeOrder() async throws {
    let store = try LocalStore(
      inMemory: StoreSchema(types: [
        TypeSchema(
          "Node", fields: [FieldSchema("parent", .reference(to: "Node", onDelete: .cascade), optional: true)])
      ]))
    try await store.write { transaction in
      try transaction.insert(AnyRecord("Node", id: "a"))
      try transaction.insert(AnyRecord("Node", id: "b", ["parent": "a"]))
      try transaction.insert(AnyRecord("Node", id: "c", ["parent": "b"]))
    }
    var events = store.events.makeAsyncIterator()
    try await store.write { _ = try $0.delete(RecordID(type: "Node", id: "a")) }
    let removed = await events.next() ?? []
    #expect(removed.map(\.record.id) == ["c", "b", "a"])
  }

  @Test("An update without a difference is not reported")
  func sameValues() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    try await store.write { try $0.insert(Todo("a", "same")) }
    var events = store.events.makeAsyncIterator()
    try await store.write { try $0.update(Todo("a", "same")) }
    try await store.write { try $0.insert(Todo("b")) }
    let first = await events.next() ?? []
    #expect(first == [RecordChange(RecordID(type: "Todo", id: "b"), .inserted, by: .local)])
  }

  @Test("An update replaces the indexed references of the old list")
  func references() throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.write { try $0.insert(Todo("a", tags: ["old", "both"])) }
    try store.write { try $0.update(Todo("a", tags: ["both", "new"])) }
    #expect(try store.count("SELECT count(*) FROM bothy_link") == 2)
    #expect(try store.count("SELECT count(*) FROM bothy_link WHERE target = 'old'") == 0)
    #expect(try store.diagnose().isHealthy)
  }

  @Test("Saving a known record moves it to the given container")
  func moving() throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.write { try $0.save(Todo("a", "one"), in: "trips/oslo") }
    try store.write { try $0.save(Todo("a", "two")) }
    #expect(try container(of: "a", in: store) == "trips/oslo")
    try store.write { try $0.save(Todo("a", "two"), in: "trips/bergen") }
    #expect(try container(of: "a", in: store) == "trips/bergen")
    #expect(try store.fetch(Todo.self, id: "a")?.title == "two")
  }

  @Test("A sensitive value goes to the secret store and leaves null in the row")
  func secret() throws {
    let store = try LocalStore(
      inMemory: StoreSchema(types: [
        TypeSchema(
          "User",
          fields: [
            FieldSchema("name", .text), FieldSchema("password", .text, optional: true, sensitive: true),
          ])
      ]))
    let id = RecordID(type: "User", id: "u")
    let key = SecretKey(id, field: "password")
    try store.write { try $0.insert(AnyRecord("User", id: "u", ["name": "ann", "password": "first"])) }
    #expect(try store.record(id)?.fields == ["name": "ann"])
    #expect(try store.secrets.secret(key) == "first")
    try store.write { _ = try $0.update(id, fields: ["password": "second"]) }
    #expect(try store.record(id)?.fields == ["name": "ann"])
    #expect(try store.secrets.secret(key) == "second")
  }
}
