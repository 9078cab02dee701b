import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// A server, or a proxy in its place, whose responses are well formed and bring nothing.
@Suite("Responses without progress for a sync", .timeLimit(.minutes(5)))
struct NoProgressTests {
  private func report(
    _ change: @escaping @Sendable (inout SyncResponse) -> Void
  ) async throws -> (SyncReport, requests: Int) {
    let requests = Calls()
    let service = SyncService(storage: try SQLiteServerStorage(), now: { 1_767_225_600_000 })
    let remote = RewritingRemote(InProcessRemote(service)) { request, server throws(RemoteError) in
      requests.add()
      var response = try await server.exchange(request)
      change(&response)
      return response
    }
    let store = try SyncedStore(at: nil, schema: .notes, remote: remote, configuration: .quiet)
    try await store.store.write { try $0.insert(Note(id: "T1", "mine")) }
    let report = await store.sync()
    #expect(try store.outboxEntries().isEmpty == (report.pushed == 1))
    return (report, requests.count)
  }

  @Test("A response that leaves out everything requested doesn't complete the sync")
  func nothing() async throws {
    let (report, requests) = try await report {
      $0.outcomes = []
      $0.pages = []
    }
    #expect(report.stop?.name == "serverError")
    #expect(requests <= 40)
  }

  @Test("A page that always claims more is requested a limited number of times")
  func more() async throws {
    let (report, requests) = try await report { response in
      for index in response.pages.indices { response.pages[index].more = true }
    }
    #expect(report.stop?.name == "serverError")
    #expect(requests <= 40)
  }

  @Test("Pages that wait for a failing transaction cost no further requests")
  func doubt() async throws {
    let pair = try await Pair.sharing(["N1", "N2"])
    try await pair.a.store.write(.atomic) { transaction in
      for id in ["N1", "N2"] { try transaction.update(.note(id), fields: ["title": "mine"]) }
    }
    try pair.b.retitle("N1", "theirs")
    await pair.b.store.sync()
    pair.a.remote.setScript(forExchange: { $0.operations.isEmpty ? .none : .status(500, retryAfter: nil) })
    #expect(await pair.a.store.sync().obstacle == nil)
    // The transaction, a request without it, and the pull.
    #expect(pair.a.remote.requests.count == 3)
    #expect(try pair.a.title("N1") == "mine")
    pair.a.remote.setScript { .none }
    #expect(try await pair.isEven())
    #expect(try pair.a.title("N1") == "theirs" && pair.a.title("N2") == "start")
  }

  /// Returns a store whose server has forty notes and sends one per page.
  private func refreshing(
    _ change: @escaping @Sendable (SyncRequest, inout SyncResponse) -> Void = { _, _ in }
  ) async throws -> (SyncedStore, Calls) {
    let requests = Calls()
    let pair = try await Pair.sharing((1...40).map { "N\($0)" })
    let server = InProcessRemote(pair.world.service)
    let remote = RewritingRemote(server) { request, server throws(RemoteError) in
      requests.add()
      var response = try await server.exchange(request)
      change(request, &response)
      return response
    }
    var configuration = SyncOptions.quiet
    configuration.pageSize = 1
    return (
      try SyncedStore(at: nil, schema: .notes, remote: remote, configuration: configuration), requests
    )
  }

  @Test("A refresh continues as long as pages advance, however little they bring")
  func refresh() async throws {
    let (store, requests) = try await refreshing()
    #expect(try await store.downloadChanges().changed.count == 40)
    #expect(requests.count >= 40)
  }

  @Test("A refresh whose pages don't advance ends like a sync")
  func refreshInPlace() async throws {
    let (store, requests) = try await refreshing { request, response in
      for index in response.pages.indices {
        response.pages[index].more = true
        response.pages[index].cursor = request.pulls[index].cursor ?? response.pages[index].cursor
      }
    }
    let error = await #expect(throws: BothyError.self) { try await store.downloadChanges() }
    #expect(error?.code == .serverError)
    #expect((error?.underlying as? RemoteError)?.code == "noProgress")
    #expect(requests.count <= 40)
  }

  @Test("A cancelled refresh requests no further page, and throws")
  func cancelledRefresh() async throws {
    let task = Mutex<Task<DownloadedChanges, any Error>?>(nil)
    let latch = Latch()
    let (store, requests) = try await refreshing { _, _ in task.withLock { $0?.cancel() } }
    let refresh = Task {
      await latch.pass()
      return try await store.downloadChanges()
    }
    task.withLock { $0 = refresh }
    await latch.reached()
    latch.open()
    let error = await #expect(throws: BothyError.self) { try await refresh.value }
    #expect(error?.code == .cancelled)
    #expect(requests.count == 1)
  }

  @Test("A page of another container doesn't replace the requested one")
  func foreign() async throws {
    let (report, requests) = try await report { response in
      for index in response.pages.indices { response.pages[index].scope = SyncScope(container: "other") }
    }
    #expect(report.stop?.name == "serverError")
    #expect(requests <= 40)
  }
}
