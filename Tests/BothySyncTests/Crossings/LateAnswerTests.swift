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

  @Test("A record that the server gets during a repair stays, and isn't reported")
  func repaired() async throws {
    let world = try SimulatedWorld()
    let other = try world.addDevice("other", schema: .notes)
    let act = Locked<Act?>(nil)
    let store = try await device(beside: other, in: world, act)
    try store.damage { transaction in
      let table = try transaction.catalog.table("Note")
      guard var row = try transaction.row(table, id: "T1") else { return }
      row.values[0] = .text("wrong")
      try transaction.put(table, id: "T1", row)
    }
    // Only the parts that differ are compared record by record.
    let part = RecordID.note("T1").part(of: 256)
    let id = try #require((0..<100_000).map { "N\($0)" }.first { RecordID.note($0).part(of: 256) == part })
    act.value = {
      // A save waits for no repair, unless the repair waits for the save.
      await Task.detached {
        do {
          _ = try await store.save(
            Note(id: id, "new"), options: RequestOptions(writePolicy: .remoteThenLocal))
        } catch { Issue.record(error) }
      }.value
    }
    #expect(try await store.maintenance.repair() == [.note("T1")])
    #expect(try await store.fetch(Note.self, id: id, policy: .local)?.title == "new")
    #expect(try await store.fetch(Note.self, id: "T1", policy: .local)?.title == "one")
  }
  @Test("A repair's older answer isn't noted beside a draft on a newer version")
  func repairedBesideDraft() async throws {
    let world = try SimulatedWorld()
    let other = try world.addDevice("other", schema: .notes)
    let act = Locked<Act?>(nil)
    let store = try await device(beside: other, in: world, act)
    try store.damage { transaction in
      let table = try transaction.catalog.table("Note")
      guard var row = try transaction.row(table, id: "T1") else { return }
      row.values[0] = .text("wrong")
      try transaction.put(table, id: "T1", row)
    }
    let save: Act = {
      await Task.detached {
        do {
          _ = try await store.save(
            Note(id: "T1", "mine"), options: RequestOptions(writePolicy: .remoteThenLocal))
          try await store.writeDraft { _ = try $0.update(Note.self, id: "T1") { $0.note = "draft" } }
        } catch { Issue.record(error) }
      }.value
    }
    // The stamps are answered first, and then the query for the record.
    act.value = { act.value = save }
    _ = try await store.maintenance.repair()
    #expect(await store.sync(.pull).obstacle == nil)
    #expect(try store.resolve(.note("T1"), .revert))
    #expect(try await store.fetch(Note.self, id: "T1", policy: .local)?.title == "mine")
    #expect(try await world.serverRecords().count == 2)
  }
}
