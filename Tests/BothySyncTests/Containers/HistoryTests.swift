import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The server's history of changes, with their authors, fields and times.
@Suite("Change history", .timeLimit(.minutes(5)))
struct HistoryTests {
  private func world(_ rules: AccessRules = AccessRules()) throws -> (
    SimulatedWorld, ann: SimulatedDevice, bob: SimulatedDevice
  ) {
    let world = try SimulatedWorld(rules: rules)
    let ann = try world.addDevice("ann", schema: .notes, user: Caller("ann"))
    let bob = try world.addDevice("bob", schema: .notes, user: Caller("bob"))
    return (world, ann, bob)
  }

  /// Promises: N-7
  @Test("History has the author, fields and time of each change in a container's tree")
  func entries() async throws {
    let (world, ann, bob) = try world()
    let start = world.time.now
    try ann.change { try $0.insert(Note(id: "T1", "a", note: "n"), in: "trips/oslo/day1") }
    try ann.change { try $0.insert(Note(id: "X", "x"), in: "other") }
    await ann.store.sync()
    await bob.store.sync()
    world.time.advance(by: 1000)
    try bob.edit("T1") {
      $0.title = "b"
      $0.note = nil
    }
    await bob.store.sync()
    world.time.advance(by: 1000)
    try await bob.store.move(.note("T1"), to: "trips/rome")
    await bob.store.sync()
    await ann.store.sync()
    try ann.remove("T1")
    await ann.store.sync()
    let all = try await ann.store.maintenance.history(of: .note("T1"))
    #expect(all.entries.map(\.kind) == [.delete, .update, .update, .insert])
    #expect(all.entries.map(\.user) == ["ann", "bob", "bob", "ann"])
    #expect(all.entries.map { $0.time - start } == [2000, 2000, 1000, 0])
    #expect(all.entries.map(\.fields) == [[], [], ["note", "title"], ["note", "score", "title"]])
    #expect(all.entries[1].movedFrom == "trips/oslo/day1" && all.entries[1].container == "trips/rome")
    #expect(all.next == nil)
    let oslo = SyncScope(container: "trips/oslo", includesChildren: true)
    #expect(try await bob.store.maintenance.history(of: oslo).entries.map(\.kind) == [.update, .insert])
    let trips = SyncScope(container: "trips", includesChildren: true)
    #expect(try await bob.store.maintenance.history(of: trips).entries == all.entries)
    #expect(try await bob.store.maintenance.history().entries.count == 5)
  }

  @Test("A change with very many names of fields has the first of them")
  func manyNames() async throws {
    let service = SyncService(storage: try SQLiteServerStorage(), now: { 1000 })
    let names = (0..<3000).map { "field\(10_000 + $0)" }
    let insert = SyncOperation(
      id: "o", kind: .insert, record: .note("T1"),
      fields: Dictionary(uniqueKeysWithValues: names.map { ($0, JSONValue.int(1)) }))
    #expect(try await service.perform(space: "s", user: Caller("ann"), insert).isApplied)
    let found = try await service.history(space: "s", user: Caller("ann"), HistoryQuery())
    let kept = try #require(found.entries.first).fields
    #expect(kept == Array(names.prefix(kept.count)))
    #expect((1000...1638).contains(kept.count))
  }

  @Test("History is paged, newest first")
  func pages() async throws {
    let (world, ann, _) = try world()
    defer { withExtendedLifetime(world) {} }
    for number in 0..<7 { try ann.insert("T\(number)", "n") }
    await ann.store.sync()
    var ids: [String] = []
    var before: Int64?
    repeat {
      let page = try await ann.store.maintenance.history(before: before, limit: 3)
      #expect(page.entries.count <= 3)
      ids += page.entries.map(\.record.id)
      before = page.next
    } while before != nil
    #expect(ids == (0..<7).reversed().map { "T\($0)" })
  }

  @Test("History hides changes of records that the user can't see")
  func visibility() async throws {
    var type = Note.schema
    type.permissions = Permissions(read: .owner)
    let (world, ann, bob) = try world(AccessRules(schema: StoreSchema(types: [type])))
    defer { withExtendedLifetime(world) {} }
    try ann.insert("T1", "secret")
    await ann.store.sync()
    #expect(try await ann.store.maintenance.history().entries.count == 1)
    #expect(try await bob.store.maintenance.history().entries.isEmpty)
    try ann.remove("T1")
    await ann.store.sync()
    #expect(try await bob.store.maintenance.history().entries.isEmpty)
  }

  @Test("History keeps at least the given number of changes, and few more", arguments: [0, 100])
  func bound(limit: Int) async throws {
    var rules = AccessRules()
    rules.historyLimit = limit
    let (world, ann, _) = try world(rules)
    for round in 0..<8 {
      try ann.change { transaction in
        for number in 0..<100 { try transaction.insert(Note(id: "T\(round)-\(number)", "n")) }
      }
      await ann.store.sync()
    }
    let kept = try await world.storage.read(space: "test") { try $0.history(HistoryQuery(limit: 1000)).count }
    #expect(limit == 0 ? kept == 0 : (limit...limit + 256).contains(kept))
  }
}
