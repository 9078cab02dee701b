import BothyStore
import BothySync
import BothyTesting
import Testing

/// Following fewer or other containers than before.
@Suite("Following", .timeLimit(.minutes(5)))
struct FollowingTests {
  private let oslo = PullScope(container: "trips/oslo", includesChildren: true)
  private let rome = PullScope(container: "trips/rome", includesChildren: true)

  /// `a` follows all trips; the server has two notes of each of two.
  private func pair() async throws -> Pair {
    let pair = try Pair()
    try pair.a.restart(configuration: .following([PullScope(container: "trips", includesChildren: true)]))
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
  @Test("What is not followed any more goes at once, and comes back when it is")
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

  @Test(
    "A store that is opened with other scopes than before follows those; a tool that names none changes nothing"
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

  @Test("Waits for a sync that is running, which then brings nothing of what was let go")
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
}
