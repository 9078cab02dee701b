import BothyLegacy
import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("References across the network", .timeLimit(.minutes(5)))
struct ReferenceTests {
  private static func id(_ type: String, _ id: String) -> RecordID { RecordID(type: type, id: id) }

  /// Returns a pair. A has fetched the types in `known`.
  ///
  /// The server has P1 with the children C1 and C2 and the friends P3 and P2, in that order, and D1, whose owner is P1.
  private func family(_ known: [String] = []) async throws -> Pair {
    let pair = try Pair(schema: .family, rules: .family)
    for id in ["P1", "P2", "P3"] { try pair.b.put(.parent(id)) }
    for id in ["C1", "C2"] { try pair.b.put(.child(id, of: "P1")) }
    try pair.b.put(.pet("D1", of: "P1"))
    try pair.b.change { transaction in
      _ = try transaction.update(
        Self.id("Parent", "P1"), fields: ["friends": .list(["P3", "P2"]), "best": "C2"])
    }
    await pair.b.store.sync()
    for type in known {
      _ = try await pair.a.store.fetchResult(AnyQuery(type), options: .reading(.remote))
    }
    pair.a.remote.forgetRequests()
    return pair
  }

  /// Promises: X-11
  @Test(
    "A record known only by its id is in no result and no count")
  func placeholders() async throws {
    let pair = try await family(["Child"])
    for policy in [ReadPolicy.local, .localThenRemote] {
      let options = RequestOptions.reading(policy)
      #expect(try await pair.a.store.fetchResult(AnyQuery("Parent"), options: options).records.isEmpty)
      #expect(try await pair.a.store.count(AnyQuery("Parent"), options: options) == 0)
    }
    #expect(try pair.a.record("Parent", "P1") == nil)
    #expect(try pair.a.store.state(of: Self.id("Parent", "P1")) == .synced)
    _ = try await pair.a.store.fetchResult(
      AnyQuery("Parent", where: .compare(field: "id", .equal, "P1")), options: .reading(.remote))
    #expect(try await pair.a.store.count(AnyQuery("Parent"), options: .reading(.local)) == 1)
    #expect(try pair.a.store.diagnose().findings.isEmpty)
  }

  /// Promises: S-12, S-13
  @Test("References resolve in their order, in one request a type, as the policy requires")
  func resolve() async throws {
    let pair = try await family(["Child"])
    let ids = [
      Self.id("Child", "C2"), Self.id("Parent", "P3"), Self.id("Child", "C1"), Self.id("Parent", "P1"),
    ]
    let found = try await pair.a.store.resolve(ids, options: .reading(.localElseRemote))
    #expect(found.map(\.recordID) == ids)
    #expect(pair.a.remote.reads == 1)
    _ = try await pair.a.store.resolve(ids, options: .reading(.local))
    #expect(pair.a.remote.reads == 1)
    _ = try await pair.a.store.resolve(ids, options: .reading(.remote))
    #expect(pair.a.remote.reads == 3)
    pair.a.remote.isOffline = true
    #expect(try await pair.a.store.resolve(ids, options: .reading(.remoteElseLocal)).count == 4)
    let offline = await #expect(throws: BothyError.self) {
      try await pair.a.store.resolve(ids, options: .reading(.remote))
    }
    #expect(offline?.code == .unreachable)
    let nobody = Self.id("Parent", "nobody")
    pair.a.remote.isOffline = false
    let missing = await #expect(throws: BothyError.self) { try await pair.a.store.resolve(ids + [nobody]) }
    #expect(missing?.code == .relatedRecordUnavailable && missing?.record == nobody)
  }

  /// Promises: H-15, S-12
  @Test("Resolving references keeps unsent edits and deletions of their targets")
  func pendingTargets() async throws {
    let pair = try await family(["Child"])
    let (one, two) = (Self.id("Child", "C1"), Self.id("Child", "C2"))
    try pair.a.change { _ = try $0.update(one, fields: ["name": "mine"]) }
    for policy in [ReadPolicy.remote, .localElseRemote] {
      let found = try await pair.a.store.resolve([one, two], options: .reading(policy))
      #expect(found.map { $0["name"] } == ["mine", "C2"])
    }
    #expect(try pair.a.store.outboxEntries().map(\.id) == [one])
    try pair.a.change { _ = try $0.delete(two) }
    let gone = await #expect(throws: BothyError.self) {
      try await pair.a.store.resolve([two], options: .reading(.remote))
    }
    #expect(gone?.code == .relatedRecordUnavailable)
    try await pair.a.store.prefetch(
      AnyQuery("Parent"), including: [ReferencePath().records(of: "Child", by: "parent")],
      options: .reading(.remote))
    #expect(try pair.a.record("Child", "C1")?["name"] == "mine")
    #expect(try pair.a.record("Child", "C2") == nil)
    #expect(try await pair.isEven())
    #expect(try await pair.server("C1", type: "Child")?["name"] == "mine")
  }

  @Test("A reference to a record that the server no longer has finds none")
  func goneTarget() async throws {
    let pair = try await family(["Child"])
    let (gone, kept) = (Self.id("Child", "C1"), Self.id("Child", "C2"))
    try pair.b.change { _ = try $0.delete(gone) }
    await pair.b.store.sync()
    #expect(try await pair.a.store.resolve([kept], options: .reading(.remote)).map(\.recordID) == [kept])
    #expect(try await pair.a.store.resolve([gone]).map(\.recordID) == [gone])
    let error = await #expect(throws: BothyError.self) {
      try await pair.a.store.resolve([kept, gone], options: .reading(.remoteElseLocal))
    }
    #expect(error?.code == .relatedRecordUnavailable && error?.record == gone)
    #expect(try pair.a.record("Child", "C1") == nil)
  }

  /// Promises: S-81, S-82
  @Test("A prefetch fetches its paths in a request per step, and reports missing records")
  func prefetch() async throws {
    let pair = try await family()
    let children = ReferencePath().records(of: "Child", by: "parent")
    let owners = AnyQuery("Pet")
    let reached = try await pair.a.store.prefetch(
      owners,
      including: ["owner.best", "owner.friends", ReferencePath("owner").records(of: "Child", by: "parent")],
      options: .reading(.remoteElseLocal))
    #expect(reached.isComplete)
    #expect(
      Set(reached.records.map(\.description))
        == ["Pet/D1", "Parent/P1", "Parent/P2", "Parent/P3", "Child/C1", "Child/C2"])
    pair.a.remote.isOffline = true
    let offline = try await pair.a.store.prefetch(owners, including: ["owner.friends"])
    #expect(offline.isComplete && offline.records.count == 4)
    try pair.a.store.purge(Self.id("Parent", "P2"))
    pair.a.remote.forgetRequests()
    let checked = try await pair.a.store.prefetch(
      owners, including: ["owner.friends"], options: .reading(.local))
    #expect(checked.missing == [Self.id("Parent", "P2")])
    #expect(pair.a.remote.reads == 0)
    let again = try await pair.a.store.prefetch(AnyQuery("Parent"), including: [children])
    #expect(again.records.contains(Self.id("Child", "C1")))
  }

  /// Promises: S-81
  @Test("Without paths all references are followed to the given depth, at most three")
  func depth() async throws {
    let chain = StoreSchema(types: [
      TypeSchema(
        "Link", fields: [FieldSchema("next", .reference(to: "Link", onDelete: .nullify), optional: true)])
    ])
    let pair = try Pair(schema: chain)
    for number in 0..<6 {
      try pair.b.put(AnyRecord("Link", id: "L\(number)", ["next": .text("L\(number + 1)")]))
    }
    await pair.b.store.sync()
    let first = AnyQuery("Link", where: .compare(field: "id", .equal, "L0"))
    for depth in 0...3 {
      try pair.a.store.purge()
      let reached = try await pair.a.store.prefetch(first, depth: depth)
      #expect(reached.records.count == depth + 1)
    }
    let tooDeep = await #expect(throws: BothyError.self) { try await pair.a.store.prefetch(first, depth: 4) }
    #expect(tooDeep?.code == .invalidQuery)
    await #expect(throws: BothyError.self) {
      try await pair.a.store.prefetch(first, including: ["next.next.next.next"])
    }
    await #expect(throws: BothyError.self) { try await pair.a.store.prefetch(first, including: ["nowhere"]) }
  }

  /// Promises: X-16, H-63
  @Test("A list of references is stored, sent and changed as an ordered whole")
  func order() async throws {
    let pair = try await family(["Parent"])
    let one = Self.id("Parent", "P1")
    #expect(try pair.a.record("Parent", "P1")?["friends"] == .list(["P3", "P2"]))
    try pair.a.change { _ = try $0.update(one, fields: ["friends": .list(["P2", "P3"])]) }
    #expect(try await pair.isEven())
    #expect(try await pair.server("P1", type: "Parent")?["friends"] == ["P2", "P3"])
    #expect(try pair.b.record("Parent", "P1")?["friends"] == .list(["P2", "P3"]))
  }

  /// Promises: X-15
  @Test("A deletion follows the delete rules and adds an entry per changed record")
  func deleteRules() async throws {
    let pair = try await family(["Parent", "Child", "Pet"])
    pair.a.remote.isOffline = true
    try await pair.a.store.delete(Self.id("Parent", "P1"))
    #expect(
      try pair.a.store.outboxEntries().map { "\($0.id) \($0.change)" } == [
        "Child/C1 delete", "Child/C2 delete", "Parent/P1 delete", "Pet/D1 update",
      ])
    #expect(try pair.a.record("Pet", "D1")?["owner"] == .null)
    try pair.a.change { _ = try $0.delete(Self.id("Parent", "P3")) }
    pair.a.remote.isOffline = false
    #expect(try await pair.isEven())
    #expect(try await Set(pair.world.serverRecords().keys.map(\.description)) == ["Parent/P2", "Pet/D1"])
  }
}
