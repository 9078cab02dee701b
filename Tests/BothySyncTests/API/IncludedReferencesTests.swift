import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("References", .timeLimit(.minutes(5)))
struct IncludedReferencesTests {
  private static let schema = StoreSchema(types: [
    TypeSchema("Author", fields: [FieldSchema("name", .text)]),
    TypeSchema(
      "Post",
      fields: [
        FieldSchema("author", .reference(to: "Author", onDelete: .nullify), optional: true),
        FieldSchema("readers", .references(to: "Author", onDelete: .nullify)),
      ]),
  ])

  @Test("References included in a query arrive with it from the network, and only then")
  func included() async throws {
    let world = try SimulatedWorld()
    let writer = try world.addDevice(schema: Self.schema)
    try await writer.store.store.write { transaction in
      for id in ["ada", "ben", "cy", "dee"] {
        try transaction.insert(AnyRecord("Author", id: id, ["name": .text(id)]))
      }
      try transaction.insert(AnyRecord("Post", id: "1", ["author": "ada", "readers": .list(["ben", "cy"])]))
      try transaction.insert(AnyRecord("Post", id: "2", ["readers": .list([])]))
    }
    _ = await writer.store.sync()
    let reader = try world.addDevice(schema: Self.schema)
    let online = RequestOptions(readPolicy: .remoteElseLocal)
    let bare = try await reader.store.fetchResult(AnyQuery("Post"), options: online)
    #expect(bare.records.count == 2)
    #expect(try await reader.store.store.count(AnyQuery("Author")) == 0)

    let posts = AnyQuery("Post", where: .all, include: ["author", "readers"])
    _ = try await reader.store.fetchResult(posts, options: online)
    let authors = try await reader.store.store.fetch(AnyQuery("Author")).map(\.id)
    #expect(authors == ["ada", "ben", "cy"])
  }

  @Test("References that only their owner can read don't shorten another user's page")
  func ownersPages() async throws {
    var schema = StoreSchema(types: [TypeSchema("Diary", fields: [FieldSchema("n", .int)])])
    schema.types[0].permissions = Permissions(read: .owner)
    let world = try SimulatedWorld(rules: AccessRules(schema: schema))
    for (name, numbers) in [("ada", 0..<30), ("ben", 30..<60)] {
      let device = try world.addDevice(name, schema: schema, user: Caller(name))
      try await device.store.store.write { transaction in
        for number in numbers { try transaction.insert(AnyRecord("Diary", ["n": .int(Int64(number))])) }
      }
      _ = await device.store.sync()
    }
    let query = AnyQuery("Diary", order: [SortKey("n")], limit: 10, offset: 5)
    let page = try await world.service.query(space: "test", user: Caller("ben"), query)
    #expect(try page.map { try $0.fields.members()["n"]?.intValue } == Array(35..<45))
  }
}
