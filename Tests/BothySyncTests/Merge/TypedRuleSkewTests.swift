import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Synchronization
import Testing

/// Typed rules of an old app on records of newer apps. No result of a rule loses a value that the type doesn't know.
@Suite("Typed merge rules and what they can't see", .timeLimit(.minutes(5)))
struct TypedRuleSkewTests {
  private typealias Rule = @Sendable (Conflict<Poster>) async throws -> Resolution<Poster>
  private static let id = RecordID(type: "Poster", id: "P1")

  private struct Fleet {
    let world: SimulatedWorld
    let newer: SimulatedDevice
    let older: SimulatedDevice

    /// The fields of P1 on the server, or nil if it doesn't exist.
    func server() async throws -> [String: JSONValue]? {
      try await world.serverRecords()[TypedRuleSkewTests.id]?.fields.members()
    }

    /// Changes P1 in the newer app and sends the change.
    func editNewer(_ fields: [String: FieldValue]) async throws {
      try newer.change { _ = try $0.update(TypedRuleSkewTests.id, fields: fields) }
      await newer.store.sync()
    }

    func editOlder(_ change: (inout Poster) -> Void) throws {
      try older.change { _ = try $0.update(Poster.self, id: "P1") { change(&$0) } }
    }
  }

  /// A newer and an older app that have P1; the older one's rule is typed.
  private func fleet(_ rule: @escaping Rule) async throws -> Fleet {
    var configuration = SyncOptions.quiet
    configuration.merging.set(for: Poster.self, rule)
    let world = try SimulatedWorld()
    let fleet = Fleet(
      world: world, newer: try world.addDevice("newer", schema: .newPosters),
      older: try world.addDevice("older", schema: .posters, configuration: configuration))
    try fleet.newer.put(
      AnyRecord(
        "Poster", id: "P1",
        [
          "title": "a", "stars": "many", "look": .json(#"{"frame":"oak","size":1}"#), "spot": "hall",
          "shape": "round",
        ]))
    for device in [fleet.newer, fleet.older] { await device.store.sync() }
    return fleet
  }

  private func expectEven(_ fleet: Fleet) async throws {
    await fleet.newer.store.sync()
    let digest = try await fleet.world.serverDigest().digest
    for device in [fleet.newer, fleet.older] { #expect(try device.store.digest().digest == digest) }
    #expect(try fleet.older.store.outboxEntries().isEmpty)
  }

  @Test("A merged value keeps the server's values that the type can't read")
  func carried() async throws {
    let rules: [Rule] = [
      { conflict in conflict.local.map { .merged($0) } ?? .remote },
      { conflict in conflict.suggestion.map { .merged($0) } ?? .remote },
      { conflict in
        guard var poster = conflict.remote else { return .remote }
        poster.title = "mine"
        return .merged(poster)
      },
      { _ in .merged(Poster("mine")) },
    ]
    for rule in rules {
      let fleet = try await fleet(rule)
      try await fleet.editNewer(["title": "b", "stars": "few", "shape": "square"])
      try fleet.editOlder { $0.title = "mine" }
      await fleet.older.store.sync()
      let server = try #require(try await fleet.server())
      #expect(server["stars"] == "few" && server["shape"] == "square")
      #expect(server["title"] != "a")
      try await expectEven(fleet)
    }
  }

  @Test("Unknown JSON members of a field stay where they were not changed")
  func nested() async throws {
    let fleet = try await fleet { conflict in conflict.local.map { .merged($0) } ?? .remote }
    try await fleet.editNewer(["look": .json(#"{"frame":"ash","size":1}"#)])
    try fleet.editOlder { $0.title = "mine" }
    await fleet.older.store.sync()
    #expect(try await fleet.server()?["look"] == ["frame": "ash", "size": 1])
    try await expectEven(fleet)
  }

  @Test("A field that the rule gives another value replaces an unreadable value")
  func written() async throws {
    let fleet = try await fleet { conflict in
      guard var poster = conflict.remote else { return .remote }
      (poster.stars, poster.place, poster.look) = (5, "stairs", .init(size: 2))
      return .merged(poster)
    }
    try await fleet.editNewer(["title": "b"])
    try fleet.editOlder { $0.title = "mine" }
    await fleet.older.store.sync()
    #expect(
      try await fleet.server() == [
        "title": "b", "score": 0, "stars": 5, "colour": "red", "look": ["size": 2], "place": "stairs",
        "shape": "round",
      ])
    #expect(try fleet.older.store.outboxEntries().isEmpty)
  }

  @Test("A placeholder for an unreadable field overwrites no other device's value")
  func filledIn() async throws {
    let fleet = try await fleet { conflict in conflict.local.map { .merged($0) } ?? .remote }
    let other = try fleet.world.addDevice("other", schema: .posters)
    await other.store.sync()
    try other.change { _ = try $0.update(Poster.self, id: "P1") { $0.stars = 5 } }
    await other.store.sync()
    try fleet.editOlder { $0.title = "mine" }
    await fleet.older.store.sync()
    #expect(try await fleet.server()?["title"] == "mine")
    #expect(try await fleet.server()?["stars"] == 5)
    #expect(try await fleet.older.store.store.fetch(Poster.self, id: "P1")?.stars == 5)
  }

  @Test("A value under an alias is seen, and stays where it was not changed")
  func aliases() async throws {
    for takesMine in [true, false] {
      let seen = Mutex<[String?]>([])
      let fleet = try await fleet { conflict in
        seen.withLock { $0 += [conflict.base?.place, conflict.local?.place, conflict.remote?.place] }
        guard var poster = conflict.local else { return .remote }
        if !takesMine { poster.place = conflict.remote?.place }
        return .merged(poster)
      }
      try await fleet.editNewer(["spot": "attic"])
      try fleet.editOlder { ($0.title, $0.place) = ("mine", "stairs") }
      await fleet.older.store.sync()
      #expect(seen.withLock { $0 } == ["hall", "stairs", "attic"])
      let server = try #require(try await fleet.server())
      #expect(server["place"] == (takesMine ? "stairs" : nil))
      #expect(server["spot"] == (takesMine ? nil : "attic"))
      #expect(server["title"] == "mine")
    }
  }

  @Test("A record that the server deleted is recreated with values the type can't read")
  func remade() async throws {
    let fleet = try await fleet { conflict in conflict.local.map { .merged($0) } ?? .remote }
    try fleet.newer.change { _ = try $0.delete(Self.id) }
    await fleet.newer.store.sync()
    try fleet.editOlder { $0.title = "mine" }
    await fleet.older.store.sync()
    let server = try #require(try await fleet.server())
    #expect(server["title"] == "mine" && server["stars"] == "many" && server["shape"] == "round")
    try await expectEven(fleet)
  }

  @Test("A rule sees the default of an unknown case, which its result keeps")
  func unknownCase() async throws {
    let rules: [Rule] = [
      { conflict in conflict.local.map { .merged($0) } ?? .remote },
      { conflict in conflict.suggestion.map { .merged($0) } ?? .remote },
    ]
    for rule in rules {
      let seen = Mutex<[Poster.Colour?]>([])
      let fleet = try await fleet { conflict in
        seen.withLock { $0 += [conflict.local?.colour, conflict.remote?.colour] }
        return try await rule(conflict)
      }
      try await fleet.editNewer(["colour": "green"])
      try fleet.editOlder { $0.title = "mine" }
      #expect(await fleet.older.store.sync().rejected.isEmpty)
      #expect(seen.withLock { $0 } == [.red, .red])
      let server = try await fleet.server()
      #expect(server?["title"] == "mine" && server?["colour"] == "green")
      try await expectEven(fleet)
    }
  }

  @Test("A value that no field can hold decides nothing")
  func impossible() async throws {
    let fleet = try await fleet { conflict in
      guard var poster = conflict.local else { return .remote }
      poster.weight = .nan
      return .merged(poster)
    }
    try await fleet.editNewer(["title": "b"])
    try fleet.editOlder { $0.title = "mine" }
    #expect(await fleet.older.store.sync().rejected.map(\.code) == ["mergeFailed"])
    #expect(try fleet.older.store.isPending(Self.id))
    #expect(try await fleet.server()?["title"] == "b")
  }

  @Test("A rule sees no secret, and a secret that it returns is not sent")
  func secrets() async throws {
    let taken = Mutex<[String?]>([])
    var rules = AccessRules()
    rules.receiveSecrets = { _, _, secrets in taken.withLock { $0.append(secrets.values["pin"]) } }
    let seen = Mutex<[String?]>([])
    var configuration = SyncOptions.quiet
    configuration.merging.set(for: Poster.self) { conflict in
      seen.withLock { $0 += [conflict.local?.pin, conflict.remote?.pin, conflict.suggestion?.pin] }
      guard var poster = conflict.local else { return .remote }
      poster.pin = "of the rule"
      return .merged(poster)
    }
    let world = try SimulatedWorld(rules: rules)
    let b = try world.addDevice("b", schema: .posters)
    let a = try world.addDevice("a", schema: .posters, configuration: configuration)
    try b.change { try $0.insert(Poster(id: "P1", "start")) }
    for device in [b, a] { await device.store.sync() }
    try b.change { _ = try $0.update(Poster.self, id: "P1") { $0.title = "b" } }
    await b.store.sync()
    try a.change { _ = try $0.update(Poster.self, id: "P1") { ($0.title, $0.pin) = ("a", "1234") } }
    await a.store.sync()
    #expect(seen.withLock { $0 } == [nil, nil, nil])
    #expect(taken.withLock { $0.last } == "1234")
    #expect(taken.withLock { !$0.contains("of the rule") })
    let server = try await world.serverRecords()[Self.id]?.fields.members()
    #expect(server?["title"] == "a" && server?["pin"] == nil)
    #expect(try a.store.outboxEntries().isEmpty)
  }
}
