import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// The requirements on the seven operations of every storage. Each check receives a new, empty storage.
struct StorageConformance: Sendable {
  struct Check: Sendable, CustomTestStringConvertible {
    let claim: String
    let run: @Sendable (any DataStorage) async throws -> Void
    var testDescription: String { claim }

    init(_ claim: String, _ run: @escaping @Sendable (any DataStorage) async throws -> Void) {
      self.claim = claim
      self.run = run
    }
  }

  static func note(_ id: String, _ title: String?, in container: String? = nil) -> AnyRecord {
    var fields: [String: FieldValue] = [:]
    if let title { fields = ["title": .text(title), "score": .int(0)] }
    return AnyRecord("Note", id: id, fields, container: container)
  }

  static let checks: [Check] = [
    Check("What is persisted is created, or given the fields that are told, and is loaded as it is") {
      storage in
      let made = try await storage.persist(StoredItem(note("T1", "new")))
      #expect(made.record["title"] == .text("new"))
      let changed = try await storage.persist(
        StoredItem(AnyRecord("Note", id: "T1", ["note": .text("more")])))
      #expect(changed.record["title"] == .text("new") && changed.record["note"] == .text("more"))
      let loaded = try await storage.load(container: "Note")
      #expect(loaded.map(\.record.id) == ["T1"])
      #expect(loaded.first?.record.fields == changed.record.fields)
    },
    Check("What is deleted is not loaded; deleting what is not there does nothing") { storage in
      for id in ["T1", "T2"] { try await storage.persist(StoredItem(note(id, "new"))) }
      try await storage.remove(.note("T1"))
      try await storage.remove(.note("T1"))
      try await storage.remove(.note("never"))
      #expect(try await storage.load(container: "Note").map(\.record.id) == ["T2"])
    },
    Check("A container is loaded with those below it and nothing else, in order") { storage in
      for (id, container) in [("c", "trips/oslo"), ("a", "trips"), ("b", "tripsy"), ("d", nil)] {
        try await storage.persist(StoredItem(note(id, id, in: container)))
      }
      #expect(try await storage.load(container: "trips").map(\.record.id) == ["a", "c"])
      #expect(try await storage.load(container: "trips/oslo").map(\.record.id) == ["c"])
      #expect(try await storage.load(container: "nowhere").isEmpty)
    },
    Check("Sharing is changed by itself or with the record, and nothing else changes with it") { storage in
      try await storage.persist(StoredItem(note("T1", "new"), sharing: .users("bob", "cid")))
      #expect(try await storage.load(container: "Note").map(\.sharing) == [.users("bob", "cid")])
      let shared = try await storage.updateSharing(of: .note("T1"), to: .users("cid", "dan"))
      #expect(shared.sharing == .users("cid", "dan") && shared.record["title"] == .text("new"))
      let edited = try await storage.persist(StoredItem(note("T1", "edited")))
      #expect(edited.sharing == .users("cid", "dan"))
      try await storage.updateSharing(of: .note("T1"), to: .nobody)
      #expect(try await storage.load(container: "Note").map(\.sharing) == [.nobody])
    },
    Check("Lists are saved, modified and loaded by name, and can be shared with") { storage in
      let friends = try await storage.save(UserList(id: "L1", name: "friends", members: ["bob"]))
      try await storage.save(UserList(id: "L2", name: "family"))
      #expect(try await storage.loadLists().map(\.name) == ["family", "friends"])
      var changed = friends
      changed.name = "a few"
      changed.members = ["bob", "cid"]
      try await storage.modify(changed)
      let lists = try await storage.loadLists()
      #expect(lists.map(\.name) == ["a few", "family"])
      #expect(lists.first?.members == ["bob", "cid"])
      try await storage.persist(StoredItem(note("T1", "new"), sharing: .lists("L1")))
      #expect(try await storage.load(container: "Note").map(\.sharing) == [.lists("L1")])
    },
    Check("What can't be is refused") { storage in
      await #expect(throws: (any Error).self) {
        try await storage.persist(StoredItem(AnyRecord("Nothing", id: "T1", ["title": .text("t")])))
      }
      await #expect(throws: (any Error).self) {
        try await storage.updateSharing(of: .note("none"), to: .nobody)
      }
    },
  ]
}

/// A storage that implements only the basic operations, so its special writes use the defaults.
private struct PlainStorage: DataStorage {
  let storage: any DataStorage

  func persist(_ item: StoredItem) async throws -> StoredItem { try await storage.persist(item) }
  func remove(_ id: RecordID) async throws { try await storage.remove(id) }
  func load(container: String) async throws -> [StoredItem] { try await storage.load(container: container) }
  func loadLists() async throws -> [UserList] { try await storage.loadLists() }
}

@Suite("Storages", .timeLimit(.minutes(5)))
struct StorageTests {
  private static func ann() throws -> SimulatedDevice {
    try TwoUsers(rules: AccessRules(schema: .notes)).ann
  }

  /// Promises: N-3, N-4, N-6, N-26
  @Test("The store of this device alone conforms", arguments: StorageConformance.checks)
  func local(check: StorageConformance.Check) async throws {
    try await check.run(LocalStorage(at: nil, schema: .notes))
  }

  /// Promises: N-3, N-4, N-6, N-26
  @Test("A server alone conforms", arguments: StorageConformance.checks)
  func server(check: StorageConformance.Check) async throws {
    try await check.run(ServerStorage(Self.ann().remote, schema: .notes))
  }

  /// Promises: N-3, N-4, N-6, N-26
  @Test("A synced store conforms under every pair of policies", arguments: StorageConformance.checks)
  func synced(check: StorageConformance.Check) async throws {
    for fetch in [ReadPolicy.syncThenLocal, .local, .remoteElseLocal] {
      for save in [WritePolicy.localThenRemote, .remoteThenLocal, .local] {
        let world = try TwoUsers(rules: AccessRules(schema: .notes)) {
          ($0.readPolicy, $0.writePolicy) = (fetch, save)
        }
        try await check.run(world.ann.store)
      }
    }
  }

  /// Promises: N-5
  @Test("The special writes as plain ones leave the same state", arguments: StorageConformance.checks)
  func plain(check: StorageConformance.Check) async throws {
    try await check.run(PlainStorage(storage: LocalStorage(at: nil, schema: .notes)))
    try await check.run(PlainStorage(storage: ServerStorage(Self.ann().remote, schema: .notes)))
    let world = try TwoUsers(rules: AccessRules(schema: .notes)) { $0.readPolicy = .syncThenLocal }
    try await check.run(PlainStorage(storage: world.ann.store))
  }

  @Test("Sharing a record that doesn't exist throws, and creates none")
  func sharingNothing() async throws {
    let tags = StoreSchema(types: [TypeSchema("Tag", fields: [FieldSchema("name", .text, optional: true)])])
    let id = RecordID(type: "Tag", id: "none")
    let world = try TwoUsers(rules: AccessRules(schema: tags), schema: tags)
    let server = ServerStorage(world.ann.remote, schema: tags)
    let local = try LocalStorage(at: nil, schema: tags)
    let storages: [any DataStorage] = [
      server, local, PlainStorage(storage: server), PlainStorage(storage: local),
    ]
    for storage in storages {
      let error = await #expect(throws: BothyError.self) {
        try await storage.updateSharing(of: id, to: .users("bob"))
      }
      #expect(error?.code == .notFound)
      #expect(try await storage.load(container: "").isEmpty)
    }
  }

  @Test("A loaded item sends its edits to the server, and keeps those of others")
  func edits() async throws {
    let world = try TwoUsers(rules: AccessRules(schema: .notes))
    let storage = ServerStorage(world.ann.remote, schema: .notes)
    var note = StorageConformance.note("T1", "new")
    note["note"] = "mine"
    try await storage.persist(StoredItem(note, sharing: .users("bob")))
    var item = try #require(try await storage.load(container: "Note").first)
    let others = AnyRecord("Note", id: "T1", ["title": "theirs"], container: "trips")
    try await storage.persist(StoredItem(others, sharing: .users("bob", "cid")))
    item.record["score"] = 5
    item.record["note"] = .null
    let saved = try await storage.persist(item)
    #expect(saved.record.fields == ["title": "theirs", "score": 5])
    #expect(saved.record.container == "trips")
    #expect(saved.sharing == .users("bob", "cid"))
  }

  @Test("A type that the schema lacks is refused before anything is sent")
  func unknownType() async throws {
    let world = try TwoUsers(rules: AccessRules())
    let storage = ServerStorage(world.ann.remote, schema: .notes)
    let error = await #expect(throws: BothyError.self) {
      try await storage.persist(StoredItem(AnyRecord("Nothing", id: "T1", ["title": "t"])))
    }
    #expect(error?.code == .unknownType)
    #expect(try await world.world.serverRecords().isEmpty)
  }

  /// Promises: N-5
  @Test("Both forms of the special writes give the other user one result")
  func bothWays() async throws {
    var seen: [[StoredItem]] = []
    for isPlain in [false, true] {
      let world = try TwoUsers { $0.readPolicy = .syncThenLocal }
      let storage: any DataStorage = isPlain ? PlainStorage(storage: world.ann.store) : world.ann.store
      let list = try await storage.save(UserList(id: "L1", name: "friends"))
      try await storage.persist(StoredItem(StorageConformance.note("T1", "new")))
      try await storage.updateSharing(of: .note("T1"), to: .lists("L1"))
      await world.sync(world.ann)
      var changed = list
      changed.members = ["bob"]
      try await storage.modify(changed)
      try await storage.updateSharing(of: .note("T1"), to: Audience(users: ["cid"], lists: ["L1"]))
      await world.sync(world.ann, world.bob)
      seen.append(
        try await world.bob.store.load(container: "Note").map { item in
          var item = item
          item.record.version = nil
          return item
        })
      #expect(try await world.isEven())
    }
    #expect(seen[0].map(\.record.id) == ["T1"])
    #expect(seen[0] == seen[1])
  }

  /// Promises: N-57
  @Test(
    "A local storage's file continues as a synced one, pending changes included")
  func exchange() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/notes.sqlite"
    let local = try LocalStorage(at: path, schema: .notes)
    try await local.persist(StoredItem(StorageConformance.note("T1", "new"), sharing: .users("bob")))
    try await local.persist(StoredItem(StorageConformance.note("T2", "new")))
    try await local.remove(.note("T2"))
    let before = try await local.load(container: "Note")
    try local.close()

    let world = try TwoUsers()
    let synced = try SyncedStore(
      at: path, schema: .notes,
      remote: InProcessRemote(world.world.service, user: Caller("ann")), configuration: .quiet)
    #expect(try synced.outboxEntries().map(\.id) == [.note("T1")])
    await synced.sync()
    await world.sync(world.bob)
    #expect(try world.bob.noteIDs() == ["T1"])
    #expect(try await synced.load(container: "Note").map(\.record.fields) == before.map(\.record.fields))
    try synced.store.close()

    // The records can also be copied one by one into any other storage.
    let other = try LocalStorage(at: nil, schema: .notes)
    for item in try await ServerStorage(world.ann.remote, schema: .notes).load(container: "Note") {
      try await other.persist(item)
    }
    let moved = try await other.load(container: "Note")
    #expect(moved.map(\.sharing) == before.map(\.sharing))
    #expect(moved.map(\.record.fields) == before.map(\.record.fields))
  }

  /// Promises: N-27, N-28
  @Test("A load syncs its container first and returns local records, even offline")
  func loading() async throws {
    let world = try TwoUsers(rules: AccessRules()) { $0.readPolicy = .syncThenLocal }
    try world.bob.insert("T1", "bob's")
    await world.sync(world.bob)
    #expect(try await world.ann.store.load(container: "Note").map(\.record.id) == ["T1"])
    world.ann.remote.isOffline = true
    try world.ann.insert("T2", "ann's")
    #expect(try await world.ann.store.load(container: "Note").map(\.record.id) == ["T1", "T2"])
    try world.ann.restart(configuration: .quiet)
    #expect(try await world.ann.store.load(container: "Note").count == 2)
  }
}
