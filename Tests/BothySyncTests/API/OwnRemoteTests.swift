import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// A remote of an app's own, which has exchanges and no more.
@Suite("Remotes of an app's own", .timeLimit(.minutes(5)))
struct OwnRemoteTests {
  /// A server that is reached by exchanges alone.
  private struct ExchangesAlone: RemoteStorage {
    let server: any RemoteStorage

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

  @Test("A type that is declared again is pulled once with its container, without queries")
  func declaredAgain() async throws {
    let folder = try TemporaryFolder()
    let service = SyncService(storage: try SQLiteServerStorage(), now: VirtualTime().reader())
    let calls = Calls()
    let remote = RewritingRemote(InProcessRemote(service)) { request, server throws(RemoteError) in
      calls.add()
      return try await server.exchange(request)
    }
    func open(_ schema: StoreSchema) throws -> SyncedStore {
      var options = SyncOptions.quiet
      options.scopes = [.container("Memo")]
      return try SyncedStore(
        at: folder.database, schema: schema, migrations: [Migration(to: 2, .dropType("Memo"))],
        remote: ExchangesAlone(server: remote), configuration: options)
    }
    var store = try open(memo(1))
    try await store.store.write { try $0.insert(AnyRecord("Memo", id: "1", ["title": .text("one")])) }
    #expect(await store.sync().pushed == 1)
    try store.close()
    store = try open(memo(2, name: "Page"))
    try store.close()
    var schema = memo(3, name: "Page")
    schema.types += memo(3).types
    store = try open(schema)
    #expect(await store.sync().obstacle == nil)
    #expect(try await store.store.fetch(AnyQuery("Memo")).map(\.id) == ["1"])
    let before = calls.count
    #expect(await store.sync().obstacle == nil)
    #expect(calls.count == before + 1)
    try store.close()
  }

  @Test("Cursors that look like those of Bothy's server aren't compared as positions")
  func cursors() async throws {
    let server = ScriptedRemote([
      .reply { request in
        let pages = request.pulls.map { pull -> SyncResponse.Page in
          let number = pull.scope.container == "low" ? 3 : 800
          let record = ServerRecord(
            id: .note(pull.scope.container), container: pull.scope.container, version: "\(number)",
            modified: 1, fields: FieldsDocument(["title": "Wax", "score": 0]))
          return SyncResponse.Page(scope: pull.scope, changes: [record], cursor: "shard.\(number).a")
        }
        return SyncResponse(pages: pages, serverTime: 1_767_225_600_000)
      }
    ])
    var options = SyncOptions.quiet
    options.scopes = [.container("low"), .container("high")]
    let store = try SyncedStore(at: nil, schema: .notes, remote: server, configuration: options)
    // A second request has no answer.
    #expect(await store.sync().obstacle == nil)
    #expect(server.requests.count == 1)
    #expect(try await store.fetch(Note.self, policy: .local).count == 2)
  }
}
