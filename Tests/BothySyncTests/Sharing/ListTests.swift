import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

@Suite("Lists of principals, and what is written on the server only", .faultsStrike, .timeLimit(.minutes(5)))
struct ListTests {
  private static let online = RequestOptions(fetchPolicy: .networkOnly)
  private static let offline = RequestOptions(fetchPolicy: .cacheOnly)

  /// Promises: N-4, N-6, N-29
  @Test("A list is made and changed on the server at once, and its answer is here afterwards")
  func straightThrough() async throws {
    let world = try Principals()
    var list = try await world.ann.store.create(PrincipalList(name: "friends", members: ["bob"]))
    #expect(list.version != nil)
    #expect(try await world.ann.store.lists(options: Self.offline) == [list])
    list.members.append("cid")
    list = try await world.ann.store.update(list)
    #expect(try await world.ann.store.lists(options: Self.offline) == [list])
    #expect(try await world.ann.store.lists(options: Self.online) == [list])
    #expect(try world.ann.store.outbox().isEmpty)
    try await world.ann.store.delete(list)
    #expect(try await world.ann.store.lists(options: Self.offline).isEmpty)
    #expect(try await world.ann.store.lists(options: Self.online).isEmpty)
  }

  /// Promises: N-29, N-30, C-19
  @Test("Offline a list can be read and not written: nothing is queued, here or later")
  func offline() async throws {
    let world = try Principals()
    let list = try await world.ann.store.create(PrincipalList(name: "friends", members: ["bob"]))
    world.ann.remote.isOffline = true
    var changed = list
    changed.name = "others"
    for write in [
      { _ = try await world.ann.store.create(PrincipalList(name: "more")) },
      { _ = try await world.ann.store.update(changed) }, { try await world.ann.store.delete(list) },
    ] as [() async throws -> Void] {
      let error = await #expect(throws: SyncError.self) { try await write() }
      #expect(error?.code == .requiresNetwork)
    }
    #expect(try await world.ann.store.lists() == [list])
    #expect(try world.ann.store.outbox().isEmpty)
    world.ann.remote.isOffline = false
    world.ann.remote.forgetRequests()
    await world.sync(world.ann)
    #expect(world.ann.operations.isEmpty)
    #expect(try await world.ann.store.lists(options: Self.online) == [list])
  }

  /// Promises: N-8
  @Test(
    "Lists are their owner's: another neither sees nor changes them, a second device of the owner does both")
  func owners() async throws {
    let world = try Principals()
    let list = try await world.ann.store.create(PrincipalList(name: "friends", members: ["bob"]))
    await world.sync(world.bob)
    #expect(try await world.bob.store.lists(options: Self.offline).isEmpty)
    #expect(try await world.bob.store.lists(options: Self.online).isEmpty)
    let error = await #expect(throws: SyncError.self) { try await world.bob.store.update(list) }
    #expect(error?.code == .rejected)
    let second = try world.world.addDevice("ann2", schema: .notes, principal: Principal("ann"))
    await second.store.sync()
    #expect(try await second.store.lists(options: Self.offline) == [list])
    var changed = list
    changed.members = []
    _ = try await second.store.update(changed)
    let stale = await #expect(throws: SyncError.self) { try await world.ann.store.update(list) }
    #expect(stale?.code == .conflict)
    await world.sync(world.ann)
    #expect(try await world.ann.store.lists(options: Self.offline).map(\.members) == [[]])
    #expect(try await world.isEven())
  }

  @Test("A list whose answer was lost is made once by trying again")
  func lostAnswer() async throws {
    let world = try Principals()
    let list = PrincipalList(name: "friends", members: ["bob"])
    world.ann.remote.plan(.lostAnswer, on: .operations, times: 1)
    let error = await #expect(throws: SyncError.self) { try await world.ann.store.create(list) }
    #expect(error?.code == .requiresNetwork)
    let made = try await world.ann.store.create(list)
    #expect(try await world.ann.store.lists(options: Self.online) == [made])
  }

  private static func schema() -> StoreSchema {
    var type = Note.schema
    type.writeMode = .remoteOnly
    return StoreSchema(types: [type])
  }

  /// Promises: N-29, N-30, C-19
  @Test("A type declared to be written on the server only is never queued, by whatever way it is written")
  func declaredTypes() async throws {
    let world = try Principals(schema: Self.schema())
    try await world.ann.store.save(Note(id: "T1", "start"))
    #expect(try world.ann.title() == "start")
    #expect(try await world.serverSharing() == .nobody)
    let local = #expect(throws: SyncError.self) { try world.ann.retitle("local") }
    #expect(local?.code == .requiresNetwork)
    world.ann.remote.isOffline = true
    for policy in SavePolicy.allCases {
      for isDraft in [false, true] {
        let options = RequestOptions(savePolicy: policy, isDraft: isDraft)
        let error = await #expect(throws: SyncError.self) {
          try await world.ann.store.save(Note(id: "T1", "offline"), options: options)
        }
        #expect(error?.code == .requiresNetwork)
      }
    }
    let shared = await #expect(throws: SyncError.self) {
      try await world.ann.store.share(.note(), with: .principals("bob"))
    }
    #expect(shared?.code == .requiresNetwork)
    #expect(try world.ann.title() == "start")
    #expect(try world.ann.store.outbox().isEmpty)
  }

  /// Promises: N-12, N-30, N-60
  @Test("Whether such a type can be written now is told, and changes with each call's success and failure")
  func availability() async throws {
    let world = try Principals(schema: Self.schema())
    let store = world.ann.store
    #expect(store.reachabilityHint == ReachabilityHint(belief: .unknown, age: nil))
    var answers = store.availability(of: Note.self).makeAsyncIterator()
    #expect(await answers.next() == true)
    world.ann.remote.isOffline = true
    await world.sync(world.ann)
    #expect(await answers.next() == false)
    world.world.time.advance(by: 5000)
    #expect(store.reachabilityHint == ReachabilityHint(belief: .notReachable, age: .seconds(5)))
    world.ann.remote.isOffline = false
    // The belief is advice: an explicit call tries all the same.
    try await store.save(Note(id: "T1", "start"))
    #expect(await answers.next() == true)
    #expect(store.reachabilityHint.belief == .reachable)
    // A refusal is an answer.
    world.ann.remote.plan(.status(500, retryAfter: nil))
    await world.sync(world.ann)
    #expect(store.reachabilityHint.belief == .reachable)
    var always = try Principals().ann.store.availability(of: "Note").makeAsyncIterator()
    #expect(await always.next() == true)
    #expect(await always.next() == nil)
  }

  /// Promises: N-58
  @Test("A search asks the server alone, and what it finds is kept only on request")
  func search() async throws {
    let world = try Principals(rules: AuthorityRules())
    try world.bob.insert("T1", "bob")
    await world.sync(world.bob)
    let query = RecordQuery<Note>().where(.compare(field: "title", .equal, .text("bob")))
    let found = try await world.ann.store.search(query)
    #expect(found.values.map(\.id) == ["T1"] && found.origin == .network)
    #expect(try world.ann.noteIDs().isEmpty)
    #expect(
      try await world.ann.store.search(query.recordQuery, keepsResults: true).values.map(\.id) == ["T1"])
    #expect(try world.ann.noteIDs() == ["T1"])
    world.ann.remote.isOffline = true
    let error = await #expect(throws: SyncError.self) { try await world.ann.store.search(query) }
    #expect(error?.code == .requiresNetwork)
  }
}
