import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Lists of users, and types written on the server only", .faultsStrike, .timeLimit(.minutes(5)))
struct ListTests {
  private static let online = RequestOptions(readPolicy: .remote)
  private static let offline = RequestOptions(readPolicy: .local)

  /// Promises: N-4, N-6, N-29
  @Test("A list is created and changed on the server at once, then stored here")
  func straightThrough() async throws {
    let world = try TwoUsers()
    var list = try await world.ann.store.sharing.create(UserList(name: "friends", members: ["bob"]))
    #expect(list.version != nil)
    #expect(try await world.ann.store.sharing.lists(options: Self.offline) == [list])
    list.members.append("cid")
    list = try await world.ann.store.sharing.update(list)
    #expect(try await world.ann.store.sharing.lists(options: Self.offline) == [list])
    #expect(try await world.ann.store.sharing.lists(options: Self.online) == [list])
    #expect(try world.ann.store.outboxEntries().isEmpty)
    try await world.ann.store.sharing.delete(list)
    #expect(try await world.ann.store.sharing.lists(options: Self.offline).isEmpty)
    #expect(try await world.ann.store.sharing.lists(options: Self.online).isEmpty)
  }

  /// Promises: N-29, N-30, C-19
  @Test("Offline a list can be read but not written, and nothing is queued")
  func offline() async throws {
    let world = try TwoUsers()
    let list = try await world.ann.store.sharing.create(UserList(name: "friends", members: ["bob"]))
    world.ann.remote.isOffline = true
    var changed = list
    changed.name = "others"
    for write in [
      { _ = try await world.ann.store.sharing.create(UserList(name: "more")) },
      { _ = try await world.ann.store.sharing.update(changed) },
      { try await world.ann.store.sharing.delete(list) },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: BothyError.self) { try await write() }
      #expect(error?.code == .requiresNetwork)
    }
    #expect(try await world.ann.store.sharing.lists() == [list])
    #expect(try world.ann.store.outboxEntries().isEmpty)
    world.ann.remote.isOffline = false
    world.ann.remote.forgetRequests()
    await world.sync(world.ann)
    #expect(world.ann.operations.isEmpty)
    #expect(try await world.ann.store.sharing.lists(options: Self.online) == [list])
  }

  /// Promises: N-8
  @Test(
    "Only the owner sees and changes a list, on any of the owner's devices")
  func owners() async throws {
    let world = try TwoUsers()
    let list = try await world.ann.store.sharing.create(UserList(name: "friends", members: ["bob"]))
    await world.sync(world.bob)
    #expect(try await world.bob.store.sharing.lists(options: Self.offline).isEmpty)
    #expect(try await world.bob.store.sharing.lists(options: Self.online).isEmpty)
    let error = await #expect(throws: BothyError.self) { try await world.bob.store.sharing.update(list) }
    #expect(error?.code == .rejected)
    let second = try world.world.addDevice("ann2", schema: .notes, user: Caller("ann"))
    await second.store.sync()
    #expect(try await second.store.sharing.lists(options: Self.offline) == [list])
    var changed = list
    changed.members = []
    _ = try await second.store.sharing.update(changed)
    let stale = await #expect(throws: BothyError.self) { try await world.ann.store.sharing.update(list) }
    #expect(stale?.code == .conflict)
    await world.sync(world.ann)
    #expect(try await world.ann.store.sharing.lists(options: Self.offline).map(\.members) == [[]])
    #expect(try await world.isEven())
  }

  /// Promises: A-77
  @Test("A user leaves a list of another, and what it showed leaves the device")
  func leaving() async throws {
    let world = try TwoUsers()
    let list = try await world.ann.store.sharing.create(UserList(name: "friends", members: ["bob"]))
    for id in ["T1", "T2"] {
      try world.ann.insert(id, "start")
      try await world.ann.store.sharing.share(.note(id), with: .lists(list.id))
    }
    try await world.ann.store.sharing.share(.note("T2"), with: .users("bob"))
    await world.sync(world.ann, world.bob)
    #expect(try world.bob.noteIDs() == ["T1", "T2"])
    let joined = try await world.bob.store.sharing.joinedLists()
    #expect(joined.map(\.list) == [list.id] && joined.map(\.owner) == ["ann"])
    #expect(try await world.ann.store.sharing.joinedLists().isEmpty)

    try await world.bob.store.sharing.leave(list.id)
    #expect(try await world.bob.store.sharing.joinedLists().isEmpty)
    await world.sync(world.bob)
    #expect(try world.bob.noteIDs() == ["T2"])
    #expect(try world.bob.store.outboxEntries().isEmpty)
    // A list that doesn't name the user, or isn't there, counts as left.
    try await world.bob.store.sharing.leave(list.id)
    try await world.bob.store.sharing.leave("none")
    #expect(try await world.isEven())
    #expect(try await world.ann.store.sharing.lists(options: Self.offline).map(\.members) == [[]])
  }

  @Test("A list is left once after a lost answer, and not without a network")
  func leavingWithoutAnswer() async throws {
    let world = try TwoUsers()
    let list = try await world.ann.store.sharing.create(UserList(name: "friends", members: ["ann", "bob"]))
    let early = await #expect(throws: BothyError.self) { try await world.bob.store.sharing.leave(list.id) }
    #expect(early?.code == .requiresNetwork)
    await world.sync(world.bob)
    world.bob.remote.isOffline = true
    let offline = await #expect(throws: BothyError.self) { try await world.bob.store.sharing.leave(list.id) }
    #expect(offline?.code == .requiresNetwork)
    world.bob.remote.isOffline = false
    world.bob.remote.plan(.lostAnswer, on: .operations, times: 1)
    let lost = await #expect(throws: BothyError.self) { try await world.bob.store.sharing.leave(list.id) }
    #expect(lost?.code == .requiresNetwork)
    try await world.bob.store.sharing.leave(list.id)
    #expect(try world.bob.store.outboxEntries().isEmpty)
    // The owner's own copy follows at once.
    await world.sync(world.ann)
    try await world.ann.store.sharing.leave(list.id)
    #expect(try await world.ann.store.sharing.lists(options: Self.offline).map(\.members) == [[]])
    #expect(try await world.isEven())
  }

  @Test("A list whose response was lost is created once by a second attempt")
  func lostAnswer() async throws {
    let world = try TwoUsers()
    let list = UserList(name: "friends", members: ["bob"])
    world.ann.remote.plan(.lostAnswer, on: .operations, times: 1)
    let error = await #expect(throws: BothyError.self) { try await world.ann.store.sharing.create(list) }
    #expect(error?.code == .requiresNetwork)
    let made = try await world.ann.store.sharing.create(list)
    #expect(try await world.ann.store.sharing.lists(options: Self.online) == [made])
  }

  @Test("Lists that a sync brings while others are requested aren't replaced by older ones")
  func olderAnswer() async throws {
    let world = try TwoUsers()
    let sharing = world.ann.store.sharing
    var list = try await sharing.create(UserList(name: "friends", members: ["bob"]))
    let gone = try await sharing.create(UserList(name: "gone"))
    let act = Locked<(@Sendable () async -> Void)?>(nil)
    let server = InProcessRemote(world.world.service, user: Caller("ann"))
    let remote = InterposedRemote(remote: server) { await act.value?() }
    let store = try SyncedStore(
      at: nil, schema: .notes, remote: remote, configuration: .quiet,
      clock: SyncClock(now: world.world.time.reader()))
    await store.sync()
    list.members.append("cid")
    let edited = list
    act.value = {
      act.value = nil
      do {
        _ = try await sharing.update(edited)
        try await sharing.delete(gone)
      } catch { Issue.record(error) }
      await store.sync()
    }
    #expect(try await store.sharing.lists(options: Self.online).map(\.members) == [["bob", "cid"]])
    #expect(try await store.sharing.lists(options: Self.offline).map(\.members) == [["bob", "cid"]])
  }

  private static func schema() -> StoreSchema {
    var type = Note.schema
    type.writeMode = .remoteOnly
    return StoreSchema(types: [type])
  }

  /// Promises: N-29, N-30, C-19
  @Test("A type written on the server only is never queued, however it is written")
  func declaredTypes() async throws {
    let world = try TwoUsers(schema: Self.schema())
    try await world.ann.store.save(Note(id: "T1", "start"))
    #expect(try world.ann.title() == "start")
    #expect(try await world.serverSharing() == .nobody)
    let local = #expect(throws: BothyError.self) { try world.ann.retitle("local") }
    #expect(local?.code == .requiresNetwork)
    world.ann.remote.isOffline = true
    for policy in WritePolicy.allCases {
      let error = await #expect(throws: BothyError.self) {
        try await world.ann.store.save(Note(id: "T1", "offline"), policy: policy)
      }
      #expect(error?.code == .requiresNetwork)
    }
    let shared = await #expect(throws: BothyError.self) {
      try await world.ann.store.sharing.share(.note(), with: .users("bob"))
    }
    #expect(shared?.code == .requiresNetwork)
    #expect(try world.ann.title() == "start")
    #expect(try world.ann.store.outboxEntries().isEmpty)
  }

  /// Promises: N-12, N-30, N-60
  @Test("The availability of such a type changes with each call's success or failure")
  func availability() async throws {
    let world = try TwoUsers(schema: Self.schema())
    let store = world.ann.store
    #expect(store.reachabilityHint == ReachabilityHint(isReachable: nil, age: nil))
    var answers = store.availability(of: Note.self).makeAsyncIterator()
    #expect(await answers.next() == true)
    world.ann.remote.isOffline = true
    await world.sync(world.ann)
    #expect(await answers.next() == false)
    world.world.time.advance(by: 5000)
    #expect(store.reachabilityHint == ReachabilityHint(isReachable: false, age: .seconds(5)))
    world.ann.remote.isOffline = false
    // The estimate is advice. An explicit call sends a request nevertheless.
    try await store.save(Note(id: "T1", "start"))
    #expect(await answers.next() == true)
    #expect(store.reachabilityHint.isReachable == true)
    // An error response shows that the server is reachable.
    world.ann.remote.plan(.status(500, retryAfter: nil))
    await world.sync(world.ann)
    #expect(store.reachabilityHint.isReachable == true)
    var always = try TwoUsers().ann.store.availability(of: "Note").makeAsyncIterator()
    #expect(await always.next() == true)
    #expect(await always.next() == nil)
  }

  /// Promises: N-58
  @Test("A search queries the server alone, and stores its results only on request")
  func search() async throws {
    let world = try TwoUsers(rules: AccessRules())
    try world.bob.insert("T1", "bob")
    await world.sync(world.bob)
    let query = RecordQuery<Note>().where(.compare(field: "title", .equal, .text("bob")))
    let found = try await world.ann.store.search(query)
    #expect(found.records.map(\.id) == ["T1"] && found.origin == .remote)
    #expect(try world.ann.noteIDs().isEmpty)
    #expect(
      try await world.ann.store.search(query.recordQuery, keepsResults: true).records.map(\.id) == ["T1"])
    #expect(try world.ann.noteIDs() == ["T1"])
    world.ann.remote.isOffline = true
    let error = await #expect(throws: BothyError.self) { try await world.ann.store.search(query) }
    #expect(error?.code == .requiresNetwork)
  }
}
