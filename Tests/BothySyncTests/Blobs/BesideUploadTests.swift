import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// Uploads by two syncs of one file, each of which has its own waits.
@Suite("Uploads beside another sync", .timeLimit(.minutes(5)))
struct BesideUploadTests {
  @Test("A sync that is joined sends what another sync has left waiting for blobs")
  func joined() async throws {
    let pair = try SnapPair()
    await pair.a.store.sync()
    let (store, remote, other) = (pair.a.store, pair.a.remote, try pair.a.openBeside())
    let (calls, joining) = (Calls(), Locked<Task<SyncReport, Never>?>(nil))
    // The sync has read the outbox when the record is saved, and another process begins to send it.
    remote.setDuringExchange {
      guard calls.add() == 1 else { return }
      do {
        let blob = try await store.blobs.add(picture(15, 1))
        try await store.save(Snap("1", "t", blob))
        remote.setBlobScript { _ in .lostRequest }
        await other.sync()
        remote.setBlobScript { _ in .none }
        joining.change { $0 = Task.detached { await store.sync() } }
        try await until { store.joinedCount == 1 }
      } catch { Issue.record(error) }
    }
    await store.sync()
    let report = await joining.value?.value
    #expect(report?.pushed == 1 && report?.obstacle == nil)
    #expect(try store.outboxEntries().isEmpty)
    try other.close()
  }
}
