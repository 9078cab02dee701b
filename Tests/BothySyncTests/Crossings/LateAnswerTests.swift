import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Answers of the server that reach the device after a sync has brought what happened since they were made.
@Suite("Answers older than the last sync", .timeLimit(.minutes(5)))
struct LateAnswerTests {
  private typealias Act = @Sendable () async -> Void

  /// Opens a device that has the notes T1 and T2. What `act` has is done once, while the answer to a read is on its way.
  private func device(
    beside other: SimulatedDevice, in world: SimulatedWorld, _ act: Locked<Act?>
  ) async throws -> SyncedStore {
    for id in ["T1", "T2"] { try other.insert(id, "one") }
    await other.store.sync()
    let remote = InterposedRemote(remote: InProcessRemote(world.service)) {
      let body = act.change { act -> Act? in
        defer { act = nil }
        return act
      }
      await body?()
    }
    let store = try SyncedStore(
      at: nil, schema: .notes, remote: remote, configuration: .quiet,
      clock: SyncClock(now: world.time.reader()))
    await store.sync()
    return store
  }

  @Test("A record that a sync has removed isn't brought back by an older answer", arguments: [true, false])
  func removed(isOwn: Bool) async throws {
    let world = try SimulatedWorld()
    let other = try world.addDevice("other", schema: .notes)
    let act = Locked<Act?>(nil)
    let store = try await device(beside: other, in: world, act)
    let deleting = isOwn ? store : other.store
    act.value = {
      do {
        try await deleting.write { _ = try $0.delete(Note.self, id: "T1") }
      } catch { Issue.record(error) }
      await deleting.sync()
      await store.sync()
    }
    #expect(try await store.fetch(Note.self, policy: .remote).map(\.id) == ["T2"])
    let isDone = act.value == nil
    #expect(isDone)
    await store.sync()
    #expect(try await store.fetch(Note.self, policy: .local).map(\.id) == ["T2"])
    #expect(try await world.serverRecords().count == 1)
  }

  @Test("A record that a sync has brought stays when an older answer lacks it")
  func brought() async throws {
    let world = try SimulatedWorld()
    let other = try world.addDevice("other", schema: .notes)
    let act = Locked<Act?>(nil)
    let store = try await device(beside: other, in: world, act)
    let there = other.store
    act.value = {
      do {
        try await there.write { try $0.insert(Note(id: "T3", "new")) }
      } catch { Issue.record(error) }
      await there.sync()
      await store.sync()
    }
    #expect(try await store.fetch(Note.self, policy: .remote).map(\.id) == ["T1", "T2", "T3"])
  }
}
