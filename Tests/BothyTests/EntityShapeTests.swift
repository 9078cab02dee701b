import Bothy
import Foundation
import Testing

@Suite("What @Entity makes of a struct", .timeLimit(.minutes(5))) struct EntityShapeTests {
  @Test("The schema has every stored property, in order, with its options") func schema() {
    let expected = TypeSchema(
      "todo",
      fields: [
        FieldSchema("title", .text, fullText: true),
        FieldSchema("done", .bool, default: .bool(false)),
        FieldSchema("due_at", .date, optional: true, indexed: true),
        FieldSchema("list", .reference(to: "TodoList", onDelete: .cascade), optional: true),
        FieldSchema("views", .int, default: .int(0), merge: .counter),
        FieldSchema("priority", .int, default: .int(1)),
        FieldSchema("secret", .text, optional: true, sensitive: true),
        FieldSchema("created", .date),
      ])
    #expect(Todo.schema == expected)
    #expect(TodoList.schema["name"]?.isUnique == true)
    #expect(TodoList.schema["favourites"]?.kind == .references(to: "todo", onDelete: .nullify))
  }

  @Test("Options with other fields make indexes of several fields") func indexes() {
    #expect(
      Night.schema.indexes == [
        IndexSchema(["hut", "beds"], where: "beds > 1"), IndexSchema(["hut", "day_number"], unique: true),
      ])
    #expect(Night.schema["hut"]?.isIndexed == false && Night.schema["hut"]?.isUnique == false)
  }

  @Test("The attribute's arguments give the type's name, scope, write mode and permissions") func arguments()
  {
    #expect(Todo.typeName == "todo" && TodoList.typeName == "TodoList")
    #expect(!Defaults.schema.isSynced && Todo.schema.isSynced)
    #expect(Account.schema.writeMode == .remoteOnly)
    #expect(Account.schema.permissions == Permissions(read: .owner, delete: .nobody))
    #expect(Todo.schema.permissions == nil)
  }

  @Test("Ids have unique defaults and sort by age") func ids() {
    let ids = (0..<3).map { Todo(title: "\($0)").id }
    #expect(Set(ids).count == 3 && ids.allSatisfy { $0.count == 36 })
    #expect(Todo(id: "mine", title: "").id == "mine")
    #expect(Tag("Hills").id.count == 36)
  }

  @Test("A public struct has an initialiser without its less visible properties") func publicStruct() {
    let account = Account(id: "a@b.no", email: "a@b.no", score: 3)
    #expect(account.score == 3 && account.note == nil && !account.default)
    #expect(account.countedAttempts() == 0)
    #expect(Account.schema.fields.map(\.name) == ["email", "score", "note", "attempts", "default"])
  }

  @Test("A struct with its own initialiser gets no other") func ownInitialiser() throws {
    let tag = Tag("Hills")
    #expect(tag.name == "hills")
    #expect(try AnyRecord(tag).entity(Tag.self).name == "hills")
  }

  @Test("Names of the enclosing scope and of the expansion don't collide") func names() throws {
    let trip = Travel.Trip(from: "Mallaig", to: "Armadale", fields: "x", isShared: true, encode: .night)
    #expect(trip.mode == .ferry && !trip.isLocked)
    #expect(try AnyRecord(trip).entity() == trip)
    #expect(Travel.Port(name: "Oban").name == "Oban" && Travel.Port.typeName == "Port")
  }

  @Test("A closure that isn't stored is a parameter of the initialiser") func closure() {
    #expect(Alarm(title: "a", ring: { $0 + "!" }).ring("Up") == "Up!")
    #expect(Alarm(title: "b").ring("Up") == "Up")
    #expect(Alarm.schema.fields.map(\.name) == ["title", "made"])
    #expect(Alarm.schema["made"]?.defaultValue == nil)
  }

  @Test("A struct without fields is an entity too") func empty() throws {
    let store = try LocalStore(inMemory: StoreSchema(Empty.self, Later.self))
    try store.write { try $0.insert(Empty(id: "e")) }
    #expect(try store.fetch(Empty.self, id: "e") != nil)
    #expect(Later.schema["code"]?.isUnique == true)
  }
}
