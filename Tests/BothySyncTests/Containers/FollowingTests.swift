import BothyStore
import BothySync
import BothyTesting
import Testing

/// Subscriptions to fewer or other containers than before.
@Suite("Following", .timeLimit(.minutes(5)))
struct FollowingTests {
  private let oslo = SyncScope(container: "trips/oslo", includesChildren: true)
  private let rome = SyncScope(container: "trips/rome", includesChildren: true)

  /// Returns a pair: `a` follows all trips, and the server has two notes in each of two.
  private func pair() async throws -> Pair {
    let pair = try Pair()
    try pair.a.restart(configuration: .following([SyncScope(container: "trips", includesChildren: true)]))
    try pair.b.change { transaction in
      for id in ["O1", "O2"] { try transaction.insert(Note(id: id, "n"), in: "trips/oslo") }
      for id in ["R1", "R2"] { try transaction.insert(Note(id: id, "n"), in: "trips/rome/day1") }
    }
    await pair.b.store.sync()
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["O1", "O2", "R1", "R2"])
    return pair
  }

  /// Promises: N-7, N-49
  @Test("Records outside the followed containers are deleted at once, and return with them")
  func narrowAndWiden() async throws {
    let pair = try await pair()
    #expect(try await pair.a.store.follow([oslo]) == 2)
    #expect(try pair.a.noteIDs() == ["O1", "O2"])
    #expect(pair.a.store.followedScopes == [oslo])
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["O1", "O2"])
    #expect(pair.a.remote.requests.last?.pulls.map(\.scope) == [oslo])
    try await pair.a.store.follow([oslo, rome])
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["O1", "O2", "R1", "R2"])
  }

  @Test("A second store on the file follows what the first one follows")
  func secondStore() async throws {
    let pair = try await pair()
    let second = try SyncedStore(existing: pair.a.path, remote: pair.a.remote, configuration: .quiet)
    try await pair.a.store.follow([oslo])
    await second.sync()
    #expect(second.followedScopes == [oslo])
    #expect(try pair.a.noteIDs() == ["O1", "O2"])
  }

  @Test(
    "A store opened with other scopes follows those; without scopes nothing changes"
  )
  func relaunch() async throws {
    let pair = try await pair()
    try pair.a.restart(configuration: .following([rome]))
    #expect(try pair.a.noteIDs() == ["R1", "R2"])
    try pair.a.store.store.close()
    let tool = try SyncedStore(existing: pair.a.path, remote: pair.a.remote, configuration: .quiet)
    #expect(tool.followedScopes == [rome])
    try tool.store.close()
    try pair.a.restart(configuration: .following([rome]))
    #expect(try pair.a.noteIDs() == ["R1", "R2"])
  }

  @Test("Subscriptions survive a relaunch with the scopes that the app always passes")
  func keptAcrossLaunches() async throws {
    let pair = try await pair()
    let trips = SyncScope(container: "trips", includesChildren: true)
    try await pair.a.store.subscriptions.set([oslo])
    try pair.a.restart(configuration: .following([trips]))
    #expect(pair.a.store.subscriptions.current == [oslo])
    #expect(try pair.a.noteIDs() == ["O1", "O2"])
    try pair.a.store.store.close()
    let tool = try SyncedStore(existing: pair.a.path, remote: pair.a.remote, configuration: .quiet)
    #expect(tool.subscriptions.current == [oslo])
    try tool.store.close()
    // A new version of the app passes another scope, and no longer the first.
    try pair.a.restart(configuration: .following([rome]))
    #expect(pair.a.store.subscriptions.current == [oslo, rome])
    await pair.a.store.sync()
    #expect(try pair.a.noteIDs() == ["O1", "O2", "R1", "R2"])
    try pair.a.restart(configuration: .following([rome]))
    #expect(pair.a.store.subscriptions.current == [oslo, rome])
  }

  @Test("Subscriptions survive a relaunch without scopes")
  func keptWithoutScopes() async throws {
    let pair = try Pair()
    try await pair.a.store.subscriptions.set([oslo])
    try pair.a.restart()
    #expect(pair.a.store.subscriptions.current == [oslo])
  }

  @Test("A change of scopes waits for a running sync, which restores nothing evicted")
  func duringSync() async throws {
    let pair = try await pair()
    try pair.b.change { try $0.insert(Note(id: "R3", "n"), in: "trips/rome") }
    await pair.b.store.sync()
    let latch = Latch()
    pair.a.remote.setDuringExchange { await latch.pass() }
    let store = pair.a.store
    let sync = Task { await store.sync() }
    await latch.reached()
    let osloOnly = oslo
    let narrowing = Task { try await store.follow([osloOnly]) }
    latch.open()
    _ = await sync.value
    _ = try await narrowing.value
    #expect(try pair.a.noteIDs() == ["O1", "O2"])
    await store.sync()
    #expect(try pair.a.noteIDs() == ["O1", "O2"])
  }

  @Test("Scopes that are added at once are all followed")
  func addedAtOnce() async throws {
    let pair = try Pair()
    try pair.a.restart(configuration: .following([]))
    let store = pair.a.store
    let names = (0..<8).map { "trips/\($0)" }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in names { group.addTask { try await store.subscriptions.add(.container(name)) } }
      try await group.waitForAll()
    }
    #expect(Set(store.subscriptions.current.map(\.container)) == Set(names))
  }

  @Test("Stores on one file add to each other's subscriptions")
  func besides() async throws {
    let pair = try Pair()
    try pair.a.restart(configuration: .following([.container("x")]))
    let other = try pair.a.openBeside()
    try await other.subscriptions.add(.container("y"))
    try await pair.a.store.subscriptions.add(.container("z"))
    #expect(pair.a.store.subscriptions.current.map(\.container) == ["x", "y", "z"])
    try await other.subscriptions.remove(.container("y"))
    try await pair.a.store.subscriptions.add(.container("y"))
    #expect(pair.a.store.subscriptions.current.map(\.container) == ["x", "z", "y"])
    try other.store.close()
  }
}
