import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// An app whose calls are made with a network and without one.
@Suite("With and without a network", .timeLimit(.minutes(5)))
struct OnlineAndOfflineTests {
  /// Returns the results of reads between an app's writes.
  private func walk(_ device: SimulatedDevice, _ policy: WritePolicy) async throws -> [[String]] {
    var seen: [[String]] = []
    func read() async throws {
      for policy in [ReadPolicy.local, .remoteElseLocal, .localElseRemote, .syncThenLocal] {
        seen.append(try await device.titles(policy))
      }
    }
    try await read()
    try await device.store.save(Note(id: "T4", "new"), options: .saving(policy))
    try await read()
    var note = try #require(try device.note("T1"))
    note.title = "edited"
    try await device.store.save(note, options: .saving(policy))
    try await read()
    try await device.store.delete(.note("T2"), options: .saving(policy))
    try await read()
    return seen
  }

  /// Promises: N-1
  @Test(
    "An app's calls read alike with and without a network, and end alike",
    arguments: [WritePolicy.local, .localThenRemote, .remoteThenLocal])
  func alike(policy: WritePolicy) async throws {
    var walks: [[[String]]] = []
    for isOffline in [false, true] {
      let pair = try await Pair.sharing(["T1", "T2", "T3"])
      pair.a.remote.isOffline = isOffline
      walks.append(try await walk(pair.a, policy))
      #expect(try pair.a.store.outboxEntries().count == (isOffline ? 3 : 0))
      pair.a.remote.isOffline = false
      #expect(try await pair.isEven())
      #expect(try await pair.b.titles(.local) == ["edited", "start", "new"])
    }
    #expect(walks[0] == walks[1])
    #expect(walks[0].last == ["edited", "start", "new"])
  }

  /// Promises: N-1
  @Test("Each record has its own state, also offline and after a relaunch")
  func states() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3", "T4"], rules: .withoutNotes) {
      $0.rejectionPolicy = .quarantine(after: 2)
    }
    func states() throws -> [String] {
      try ["T1", "T2", "T3", "T4", "T5"].map { id in
        let state = try pair.a.store.state(of: .note(id))
        guard case .pending(let kind) = state else { return state.name }
        return "\(kind)"
      }
    }
    #expect(try states() == ["synced", "synced", "synced", "synced", "synced"])
    pair.a.remote.isOffline = true
    try pair.a.retitle("T1", "mine")
    try pair.a.remove("T2")
    try pair.a.edit("T3") { $0.note = "refused" }
    try pair.a.insert("T5", "new")
    #expect(try states() == ["update", "delete", "update", "synced", "insert"])
    await pair.a.store.sync()
    #expect(try states() == ["update", "delete", "update", "synced", "insert"])
    pair.a.remote.isOffline = false
    await pair.a.store.sync()
    #expect(try states() == ["synced", "synced", "rejected", "synced", "synced"])
    pair.world.time.advance(by: 1000)
    await pair.a.store.sync()
    #expect(try states() == ["synced", "synced", "quarantined", "synced", "synced"])
    try pair.a.restart()
    #expect(try states() == ["synced", "synced", "quarantined", "synced", "synced"])
  }
}
