import BothyStore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WriteTransactionTests {
  let store: LocalStore

  init() throws { store = try LocalStore(inMemory: todoSchema) }

  struct Refusal: Error {}

  @Test("A transaction that throws changes nothing and passes its own error on")
  func rollsBack() throws {
    try store.write { try $0.insert(Todo("a", "kept", tags: ["x"])) }
    #expect(throws: Refusal.self) {
      try store.write { transaction in
        try transaction.insert(Todo("b", tags: ["y"]))
        try transaction.update(Todo.self, id: "a") { $0.title = "lost" }
        try transaction.delete(Todo.self, id: "a")
        throw Refusal()
      }
    }
    #expect(try store.fetch(Todo.self, id: "a") == Todo("a", "kept", tags: ["x"]))
    #expect(try store.fetch(Todo.self, id: "b") == nil)
    #expect(try store.count("SELECT count(*) FROM bothy_link") == 1)
  }

  @Test("Reads in a transaction see its own writes")
  func readsOwnWrites() throws {
    try store.write { transaction in
      try transaction.insert(Todo("a", "one"))
      #expect(try transaction.fetch(Todo.self, id: "a")?.title == "one")
      #expect(try transaction.exists(RecordID(type: "Todo", id: "a")))
      #expect(try transaction.delete(Todo.self, id: "a"))
      #expect(try transaction.delete(Todo.self, id: "a") == false)
    }
  }

  @Test("Every field reads back as it was written")
  func roundTrip() throws {
    var todo = Todo("å/ø", "quote ' and \u{0} null", done: true, tags: ["b", "a", "b"])
    todo.place = Coordinate(latitude: -33.9, longitude: 151.2)
    todo.parent = Reference(id: "elsewhere")
    try store.write { try $0.insert(todo) }
    #expect(try store.fetch(Todo.self, id: "å/ø") == todo)
    #expect(try store.record(RecordID(type: "Todo", id: "å/ø"))?.entity(Todo.self) == todo)
  }

  @Test("A taken id is refused, and the transaction may continue")
  func duplicates() throws {
    try store.write { transaction in
      try transaction.insert(Todo("a", "first"))
      expect(.alreadyExists) { try transaction.insert(Todo("a", "second")) }
      expect(.alreadyExists) { try transaction.insert(AnyRecord("Todo", id: "a", ["title": "third"])) }
      try transaction.insert(Todo("b"))
    }
    #expect(try store.fetch(Todo.self, id: "a")?.title == "first")
    #expect(try store.fetch(Todo.self, id: "b") != nil)
  }

  @Test("An update of a missing record is refused")
  func missing() throws {
    expect(.notFound) { try store.write { try $0.update(Todo("a")) } }
    expect(.notFound) { try store.write { try $0.update(Tag("a", "x")) } }
    expect(.notFound) { try store.write { _ = try $0.update(Todo.self, id: "a") { _ in } } }
    expect(.notFound) { try store.write { _ = try $0.update(RecordID(type: "Todo", id: "a"), fields: [:]) } }
  }

  @Test("Save inserts, then updates")
  func save() throws {
    try store.write { try $0.save(Todo("a", "one")) }
    try store.write { try $0.save(Todo("a", "two")) }
    #expect(try store.fetch(Todo.self, id: "a")?.title == "two")
  }

  @Test("The index keeps unique fields of local types, and a refused update changes nothing")
  func uniqueLocal() throws {
    try store.write { transaction in
      try transaction.insert(Tag("a", "x"))
      try transaction.insert(Tag("b", "y"))
    }
    expect(.uniqueViolation) { try store.write { try $0.insert(Tag("c", "x")) } }
    expect(.uniqueViolation) { try store.write { try $0.update(Tag("b", "x")) } }
    #expect(try store.fetch(Tag.self, id: "b")?.name == "y")
  }

  @Test("A taken value of a local type can be caught inside the transaction")
  func uniqueLocalCaught() throws {
    try store.write { transaction in
      try transaction.insert(Tag("a", "x"))
      try transaction.insert(Tag("b", "y"))
      expect(.uniqueViolation) { try transaction.insert(Tag("c", "x")) }
      expect(.uniqueViolation) { try transaction.update(Tag("b", "x")) }
      expect(.uniqueViolation) { try transaction.save(AnyRecord("Tag", id: "b", ["name": "x"])) }
      try transaction.insert(Tag("d", "z"))
    }
    #expect(try store.fetch(Tag.all).map(\.id) == ["a", "b", "d"])
  }

  @Test("Unique fields of synced types are checked in the app's writes, not the server's")
  func uniqueSynced() throws {
    let schema = StoreSchema(types: [
      TypeSchema("User", fields: [FieldSchema("mail", .text, optional: true, unique: true)])
    ])
    let store = try LocalStore(inMemory: schema)
    try store.write { transaction in
      try transaction.insert(AnyRecord("User", id: "a", ["mail": "x"]))
      try transaction.insert(AnyRecord("User", id: "b"))
      try transaction.insert(AnyRecord("User", id: "c"))
      expect(.uniqueViolation) { try transaction.insert(AnyRecord("User", id: "d", ["mail": "x"])) }
      expect(.uniqueViolation) {
        try transaction.update(RecordID(type: "User", id: "b"), fields: ["mail": "x"])
      }
      try transaction.update(RecordID(type: "User", id: "a"), fields: ["mail": "x"])
      let table = try transaction.catalog.table("User")
      try transaction.put(table, id: "d", StoredRow(values: ["x"], version: "1"))
    }
    #expect(try store.record(RecordID(type: "User", id: "d"))?["mail"] == "x")
  }

  @Test("A failed update leaves the index of list references unchanged")
  func linksSurviveFailure() throws {
    let schema = StoreSchema(types: [
      TypeSchema(
        "List",
        fields: [
          FieldSchema("name", .text, unique: true),
          FieldSchema("items", .references(to: "Item", onDelete: .deny)),
        ], synced: false), TypeSchema("Item", fields: []),
    ])
    let store = try LocalStore(inMemory: schema)
    try store.write { transaction in
      try transaction.insert(AnyRecord("Item", id: "i"))
      try transaction.insert(AnyRecord("List", id: "a", ["name": "a", "items": .list(["i"])]))
      try transaction.insert(AnyRecord("List", id: "b", ["name": "b", "items": .list([])]))
      expect(.uniqueViolation) {
        try transaction.update(RecordID(type: "List", id: "a"), fields: ["name": "b", "items": .list([])])
      }
    }
    expect(.denied) { try store.write { _ = try $0.delete(RecordID(type: "Item", id: "i")) } }
  }

  @Test("Dynamic records are checked against the schema")
  func dynamicChecks() throws {
    try store.write { transaction in
      expect(.unknownType) { try transaction.insert(AnyRecord("Nothing", id: "a")) }
      expect(.unknownField) {
        try transaction.insert(AnyRecord("Todo", id: "a", ["title": "x", "colour": "red"]))
      }
      expect(.invalidValue) { try transaction.insert(AnyRecord("Todo", id: "a")) }
      expect(.invalidValue) { try transaction.insert(AnyRecord("Todo", id: "a", ["title": 1])) }
      try transaction.insert(AnyRecord("Todo", id: "a", ["title": "x"]))
      let id = RecordID(type: "Todo", id: "a")
      expect(.unknownField) { try transaction.update(id, fields: ["colour": "red"]) }
      expect(.invalidValue) { try transaction.update(id, fields: ["title": nil]) }
      #expect(try transaction.update(id, fields: ["title": "y"])["title"] == "y")
    }
    #expect(try store.fetch(Todo.self, id: "a") == Todo("a", "y"))
  }

  @Test("A dynamic record's UUID is stored in lower case", arguments: [false, true])
  func dynamicUUID(isSynced: Bool) throws {
    let token = FieldSchema("token", .uuid, optional: true, unique: true)
    let store = try LocalStore(
      inMemory: StoreSchema(types: [TypeSchema("User", fields: [token], synced: isSynced)]))
    let (upper, lower) = (
      "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"
    )
    try store.write { transaction in
      try transaction.insert(AnyRecord("User", id: "a", ["token": .text(upper)]))
      expect(.uniqueViolation) { try transaction.insert(AnyRecord("User", id: "b", ["token": .text(lower)])) }
      try transaction.insert(AnyRecord("User", id: "b"))
      expect(.uniqueViolation) {
        try transaction.update(RecordID(type: "User", id: "b"), fields: ["token": .text(upper)])
      }
    }
    let found = try store.fetch(
      AnyQuery("User", where: ConditionTree.compare(field: "token", .equal, .text(upper))))
    #expect(found.map { $0["token"] } == [.text(lower)])
  }

  @Test("A record's container is its type's by default")
  func containers() throws {
    try store.write { transaction in
      try transaction.insert(Todo("a"))
      try transaction.insert(Todo("b"), in: "trips/oslo")
    }
    #expect(try store.record(RecordID(type: "Todo", id: "a"))?.container == "Todo")
    #expect(try store.record(RecordID(type: "Todo", id: "b"))?.container == "trips/oslo")
  }

  @Test("A closed store throws")
  func closed() throws {
    try store.close()
    #expect(throws: BothyError.self) { try store.write { try $0.insert(Todo("a")) } }
    #expect(throws: BothyError.self) { try store.fetch(Todo.self, id: "a") }
  }
}
