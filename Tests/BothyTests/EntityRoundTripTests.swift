import Bothy
import Foundation
import Testing

@Suite("An @Entity struct and the store", .timeLimit(.minutes(5))) struct EntityRoundTripTests {
  @Test("An entity reads back as it was written, with fields of every kind") func everyKind() throws {
    let store = try Self.store()
    let todo = Todo(title: "target")
    let full = Everything.full(todo), bare = Everything.bare(todo)
    try store.write {
      try $0.insert(todo)
      try $0.insert(full)
      try $0.insert(bare)
    }
    #expect(try store.fetch(Everything.self, id: full.id) == full)
    #expect(try store.fetch(Everything.self, id: bare.id) == bare)
    #expect(try store.fetch(Everything.self, id: bare.id)?.maybePlace == nil)
  }

  @Test("An entity is found by its place") func places() throws {
    let store = try LocalStore(inMemory: StoreSchema(Trip.self))
    let here = Coordinate(latitude: -16.8, longitude: 180)
    try store.write { transaction in
      for (name, longitude) in [("east", -179.999), ("west", 179.99), ("away", 10)] {
        try transaction.insert(Trip(name: name, start: Coordinate(latitude: -16.8, longitude: longitude)))
      }
      try transaction.insert(Trip(name: "nowhere"))
    }
    func names(_ query: RecordQuery<Trip>) throws -> [String] { try store.fetch(query).map(\.name) }
    let all = RecordQuery<Trip>()
    #expect(try names(all.where { $0.start.isWithin(metres: 500, of: here) }) == ["east"])
    let box = GeoBox(west: 179, south: -20, east: -179, north: -10)
    #expect(try names(all.where { $0.start.isIn(box) }.order { $0.name.ascending }) == ["east", "west"])
    #expect(try names(all.nearest(to: here) { $0.start }.limit(2)) == ["east", "west"])
    #expect(try names(all.order { $0.start.nearest(to: here) }) == ["east", "west", "away", "nowhere"])
    #expect(try names(all.where { $0.name != "east" }.nearest(to: here) { $0.start }.limit(1)) == ["west"])
  }

  @Test("An entity is unchanged as a dynamic record") func records() throws {
    let todo = Todo(title: "target")
    for entity in [Everything.full(todo), .bare(todo)] {
      let record = AnyRecord(entity)
      #expect(record.type == "Everything" && record.id == entity.id)
      #expect(try record.entity() == entity)
    }
    #expect(AnyRecord(Everything.bare(todo))["maybePlace"] == .null)
  }

  @Test("An entity as JSON keeps its mark, and JSON without one is read") func codable() throws {
    let store = try LocalStore(inMemory: StoreSchema(Stop.self))
    try store.write { try $0.insert(Stop(name: "pier")) }
    let stop = try #require(try store.fetch(RecordQuery<Stop>()).first)
    let json = try JSONEncoder().encode(stop)
    #expect(String(decoding: json, as: UTF8.self).contains("\"readMark\":0"))
    #expect(try JSONDecoder().decode(Stop.self, from: json) == stop)
    let bare = Data(#"{"id":"s1","name":"quay"}"#.utf8)
    #expect(try JSONDecoder().decode(Stop.self, from: bare) == Stop(id: "s1", name: "quay"))
  }

  @Test("An entity has the values of an update, nil included") func update() throws {
    let store = try Self.store()
    var todo = Todo(title: "a", due: Date(timeIntervalSince1970: 1_000), priority: .high)
    todo.created = Date(timeIntervalSince1970: 5)
    try store.write { try $0.insert(todo) }
    todo.title = "b"
    todo.due = nil
    todo.views += 1
    try store.write { try $0.update(todo) }
    #expect(try store.fetch(Todo.self, id: todo.id) == todo)
    let changed = try store.write { try $0.update(Todo.self, id: todo.id) { $0.done = true } }
    #expect(changed.done && changed.title == "b")
  }

  @Test("Initial values are the defaults of records inserted without the struct") func defaults()
    throws
  {
    let store = try Self.store()
    try store.write {
      try $0.insert(
        AnyRecord("Defaults", id: "d", ["token": .text(UUID().uuidString.lowercased()), "stamp": .date(0)]))
    }
    let read = try #require(try store.fetch(Defaults.self, id: "d"))
    let made = Defaults(id: "d", token: read.token, stamp: read.stamp)
    #expect(read == made)
    #expect(read.mood == .busy && read.text == "as \"new\"" && read.count == -3)
  }

  @Test("A value that differs each time isn't a default of the schema") func changingValues() {
    let schema = Defaults.schema
    #expect(schema["token"]?.defaultValue == nil && schema["stamp"]?.defaultValue == nil)
    #expect(schema["epoch"]?.defaultValue == .date(0))
    #expect(schema["lifetime"]?.defaultValue == .int(691_200))
    #expect(Todo.schema["created"]?.defaultValue == nil)
  }

  @Test("A property that isn't stored has its initial value after a read") func transient() throws {
    let store = try Self.store()
    var todo = Todo(title: "a", isSelected: true)
    todo.created = Date(timeIntervalSince1970: 0)
    try store.write { try $0.insert(todo) }
    #expect(try store.fetch(Todo.self, id: todo.id)?.isSelected == false)
    #expect(Todo.schema["isSelected"] == nil)
  }

  @Test("An entity can refer to its own type") func selfReference() throws {
    let store = try Self.store()
    let root = TodoList(name: "root")
    let child = TodoList(name: "child", parent: Reference(root))
    try store.write {
      try $0.insert(root)
      try $0.insert(child)
    }
    #expect(try store.fetch(TodoList.self, id: child.id)?.parent?.id == root.id)
    try store.write { _ = try $0.delete(TodoList.self, id: root.id) }
    #expect(try store.fetch(TodoList.self, id: child.id)?.parent == nil)
  }

  @Test("An error names the field that is missing or of another kind") func decodeErrors() throws {
    let missing = AnyRecord("todo", ["done": .bool(true)])
    let error = #expect(throws: BothyError.self) { _ = try missing.entity(Todo.self) }
    #expect(error?.code == .invalidValue)
    let strange = AnyRecord(
      "journey",
      [
        "mode": .text("balloon"), "from": .text("a"), "to": .text("b"), "fields": .text(""),
        "isLocked": .bool(false), "isShared": .bool(false),
      ])
    #expect(try strange.entity(Travel.Trip.self).mode == .ferry)
  }

  @Test("An entity is found by a query on its typed fields") func queries() {
    let query = RecordQuery<Todo>().where { $0.done == false && $0.due < Date(timeIntervalSince1970: 9) }
      .order { $0.due.descending }
    #expect(query.recordQuery.type == "todo")
    #expect(query.recordQuery.order == [SortKey("due_at", ascending: false)])
    #expect(Todo.fields.id.fieldName == "id")
    #expect(Todo.fields.priority.fieldName == "priority")
    #expect(Travel.Trip.fields.fields.fieldName == "fields")
  }

  private static func store() throws -> LocalStore {
    try LocalStore(inMemory: StoreSchema(TodoList.self, Todo.self, Everything.self, Defaults.self))
  }
}

extension Everything {
  fileprivate static func bare(_ todo: Todo) -> Everything {
    Everything(
      flag: false, count: .min, wide: .max, ratio: -0.5, text: "", date: Date(timeIntervalSince1970: -1.5),
      uuid: UUID(), data: Data(), place: Coordinate(latitude: -90, longitude: 180), mood: .calm,
      address: Address(street: "ø"), blob: Blob(sha256: String(repeating: "0", count: 64), size: 0),
      todo: Reference(todo), todos: [])
  }

  fileprivate static func full(_ todo: Todo) -> Everything {
    var value = bare(todo)
    value.id = UUIDv7.make()
    value.todos = [Reference(todo), Reference(id: "elsewhere")]
    value.maybeFlag = true
    value.maybeCount = 0
    value.maybeWide = -1
    value.maybeRatio = 1e300
    value.maybeText = "🏔️ \u{0} '"
    value.maybeDate = Date(timeIntervalSince1970: 1_700_000_000.125)
    value.maybeUUID = UUID()
    value.maybeData = Data([0, 255])
    value.maybePlace = Coordinate(latitude: 0, longitude: 0)
    value.maybeMood = .busy
    value.maybeAddress = Address(street: "High Street", number: 7)
    value.maybeBlob = Blob(sha256: String(repeating: "f", count: 64), size: 9, contentType: "image/png")
    value.maybeTodo = Reference(todo)
    value.maybeTodos = []
    return value
  }
}
