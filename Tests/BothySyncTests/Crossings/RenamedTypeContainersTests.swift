import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Containers of a renamed type", .timeLimit(.minutes(5)))
struct RenamedTypeContainersTests {
  private static func schema(_ version: Int, _ name: String) -> StoreSchema {
    StoreSchema(
      version: version,
      types: memo(1, name: name).types + [TypeSchema("Comment", fields: [FieldSchema("text", .text)])])
  }
  private static let rename = [Migration(to: 2, .renameType(from: "Memo", to: "Page"))]

  /// Returns a world in which a comment is in the container of its memo's type, so that both are pulled together.
  private func world() async throws -> (SimulatedWorld, SimulatedDevice, SimulatedDevice) {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema(1, "Memo"))
    let b = try world.device("b", Self.schema(1, "Memo")) { $0.scopes = [SyncScope(container: "Memo")] }
    try a.put("Memo", "1", ["title": .text("one")])
    try a.put("Comment", "c", ["text": .text("nice")], in: "Memo")
    await a.store.sync()
    await b.store.sync()
    #expect(try b.record("Comment", "c")?.container == "Memo")
    return (world, a, b)
  }

  @Test("Records of other types move with the renamed type's container")
  func queriesOfTheContainer() async throws {
    let (_, _, b) = try await world()
    var configuration = SyncOptions.quiet
    configuration.scopes = [SyncScope(container: "Page")]
    try b.restart(schema: Self.schema(2, "Page"), migrations: Self.rename, configuration: configuration)
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Page", container: "Page")) == ["1"])
    #expect(try b.ids(AnyQuery("Comment", container: "Page")) == ["c"])
  }

  @Test("Followed records in a renamed container stay")
  func whatIsFollowedStays() async throws {
    let (world, a, b) = try await world()
    var configuration = SyncOptions.quiet
    configuration.scopes = [SyncScope(container: "Page")]
    try b.restart(schema: Self.schema(2, "Page"), migrations: Self.rename, configuration: configuration)
    for _ in 0..<3 { await b.store.sync() }
    #expect(try b.record("Page", "1") != nil)
    #expect(try b.record("Comment", "c") != nil)
    // Further changes of others don't delete it either.
    try a.put("Comment", "d", ["text": .text("again")], in: "Memo")
    await a.store.sync()
    await b.store.sync()
    #expect(try b.ids(AnyQuery("Comment")) == ["c", "d"])
    _ = world
  }

  @Test("What was followed or purged in a renamed container comes by its new name", arguments: [false, true])
  func requested(isPurged: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema(1, "Memo"))
    let b = try world.device("b", Self.schema(1, "Memo"))
    try a.put("Memo", "1", ["title": .text("one")])
    await a.store.sync()
    await b.store.sync()
    if isPurged {
      try b.store.purge(container: "Memo")
    } else {
      try await b.store.follow([SyncScope(container: "Memo")])
    }
    try b.restart(schema: Self.schema(2, "Page"), migrations: Self.rename)
    try a.put("Memo", "2", ["title": .text("two")])
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Page")) == ["1", "2"])
  }

  @Test("A container that has a type's new name stays another one")
  func takenName() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema(1, "Memo"))
    let b = try world.device("b", Self.schema(1, "Memo"))
    try a.put("Memo", "1", ["title": .text("one")])
    try a.put("Comment", "c", ["text": .text("nice")], in: "Page")
    await a.store.sync()
    await b.store.sync()
    try b.put("Comment", "d", ["text": .text("mine")], in: "Page")
    try b.restart(schema: Self.schema(2, "Page"), migrations: Self.rename)
    #expect(try b.ids(AnyQuery("Comment", container: "Page")).isEmpty)
    #expect(try b.ids(AnyQuery("Page", container: "Page")) == ["1"])
    #expect(await b.store.sync().obstacle == nil)
    #expect(try await world.serverRecords()[RecordID(type: "Comment", id: "d")]?.container == "Page")
    #expect(try await b.store.maintenance.verify())
  }

  @Test("The rename of a local type moves no container of its name")
  func localType() async throws {
    func schema(_ version: Int, _ name: String) -> StoreSchema {
      let local = TypeSchema(name, fields: [FieldSchema("text", .text)], synced: false)
      return StoreSchema(version: version, types: memo(1).types + [local])
    }
    let world = try SimulatedWorld()
    let a = try world.device("a", schema(1, "Drafts"))
    try a.put("Memo", "1", ["title": .text("one")], in: "Drafts")
    await a.store.sync()
    try a.put("Memo", "2", ["title": .text("two")], in: "Drafts")
    try a.restart(
      schema: schema(2, "Sketches"),
      migrations: [Migration(to: 2, .renameType(from: "Drafts", to: "Sketches"))])
    #expect(try a.ids(AnyQuery("Memo", container: "Drafts")) == ["1", "2"])
    #expect(await a.store.sync().pushed == 1)
    #expect(try await world.serverRecords().values.map(\.container) == ["Drafts", "Drafts"])
  }

  @Test("Records of a type that is declared later stay in their containers")
  func declaredLater() async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema(1, "Memo"))
    let b = try world.device("b", memo(2, name: "Page").naming(by: Self.rename))
    try a.put("Comment", "own", ["text": .text("nice")])
    for container in ["Memo", "Page", "bag"] {
      try a.put("Comment", container, ["text": .text("nice")], in: container)
    }
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    try b.restart(schema: Self.schema(2, "Page").naming(by: Self.rename))
    for (id, container) in ["own": "Comment", "Memo": "Page", "Page": ":Page", "bag": "bag"] {
      #expect(try b.record("Comment", id)?.container == container)
    }
  }

  @Test("The container of a renamed type is pulled by its former name too")
  func formerName() async throws {
    let (world, a, b) = try await world()
    // The app goes on with the scopes that it named before.
    try b.restart(schema: Self.schema(2, "Page"), migrations: Self.rename)
    #expect(try b.ids(AnyQuery("Page")) == ["1"])
    #expect(b.store.followedScopes == [SyncScope(container: "Page")])
    try a.put("Memo", "2", ["title": .text("two")])
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Page")) == ["1", "2"])
    try b.store.purge(container: "Memo")
    #expect(try b.ids(AnyQuery("Page")).isEmpty)
    #expect(await b.store.sync(container: "Memo").obstacle == nil)
    #expect(try b.ids(AnyQuery("Page")) == ["1", "2"])
    #expect(try await b.store.subscriptions.isComplete(SyncScope(container: "Memo")))
    try await b.store.subscriptions.add(SyncScope(container: "Memo"))
    #expect(b.store.followedScopes == [SyncScope(container: "Page")])
    try await b.store.subscriptions.remove(SyncScope(container: "Memo"))
    #expect(b.store.followedScopes.isEmpty)
    _ = world
  }

  /// The updates after which no type has the name `Page`. The type's own container was `Memo` on the server from the first
  /// version on.
  enum Freed: CaseIterable, Sendable {
    case renamed, dropped

    var steps: [Migration] {
      let free = self == .renamed ? Migration.Step.renameType(from: "Page", to: "Sheet") : .dropType("Page")
      return RenamedTypeContainersTests.rename + [Migration(to: 3, free)]
    }

    var schema: StoreSchema {
      var schema = RenamedTypeContainersTests.schema(3, "Sheet")
      if self == .dropped { schema.types.removeFirst() }
      return schema
    }

    /// The present name of the container `Memo`.
    var own: String { self == .renamed ? "Sheet" : "Memo" }
  }

  @Test(
    "A container whose name no type has any more is called by it again", arguments: Freed.allCases,
    [false, true])
  func freedName(freed: Freed, isFollowed: Bool) async throws {
    let world = try SimulatedWorld()
    let a = try world.device("a", Self.schema(1, "Memo"))
    let b = try world.device("b", Self.schema(1, "Memo"))
    try a.put("Comment", "c", ["text": .text("nice")], in: "Page")
    try a.put("Comment", "m", ["text": .text("near")], in: "Memo")
    await a.store.sync()
    await b.store.sync()
    try b.restart(schema: Self.schema(2, "Page"), migrations: Self.rename)
    if isFollowed { try await b.store.follow([":Page", "Page"].map { SyncScope(container: $0) }) }
    #expect(await b.store.sync().obstacle == nil)
    try b.restart(schema: freed.schema, migrations: freed.steps)
    #expect(try b.ids(AnyQuery("Comment", container: "Page")) == ["c"])
    #expect(try b.ids(AnyQuery("Comment", container: freed.own)) == ["m"])
    try a.put("Comment", "d", ["text": .text("again")], in: "Page")
    await a.store.sync()
    #expect(await b.store.sync().obstacle == nil)
    #expect(try b.ids(AnyQuery("Comment", container: "Page")) == ["c", "d"])
    if isFollowed { #expect(b.store.followedScopes.map(\.container) == ["Page", freed.own]) }
  }
}
