import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// A remote of an app's own, which has exchanges and no more.
@Suite("Remotes of an app's own", .timeLimit(.minutes(1)))
struct OwnRemoteTests {
  /// A server that is reached by exchanges alone.
  private struct ExchangesAlone: RemoteStorage {
    let server: InProcessRemote

    func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
      try await server.exchange(request)
    }
  }

  private let first: SyncedStore
  private let second: SyncedStore

  init() throws {
    let service = SyncService(storage: try SQLiteServerStorage(), now: VirtualTime().reader())
    let remote = ExchangesAlone(server: InProcessRemote(service))
    first = try SyncedStore.inMemory([Note.self], remote: remote)
    second = try SyncedStore.inMemory([Note.self], remote: remote)
  }

  @Test("Exchanges are enough to sync both ways") func both() async throws {
    try await first.save(Note(id: "1", "Wax"), policy: .local)
    #expect(await first.sync().pushed == 1)
    await second.sync()
    try await second.update(Note.self, id: "1", policy: .local) { $0.title = "Wick" }
    await second.sync()
    await first.sync()
    #expect(try await first.fetch(Note.self, policy: .local).map(\.title) == ["Wick"])
  }

  @Test("Reads that only the server can answer are rejected") func queries() async throws {
    let read = await #expect(throws: BothyError.self) {
      try await first.fetch(RecordQuery<Note>(), policy: .remote)
    }
    #expect(read?.code == .rejected)
    let comparison = await #expect(throws: BothyError.self) { try await first.maintenance.verify() }
    #expect(comparison?.code == .rejected)
  }
}
