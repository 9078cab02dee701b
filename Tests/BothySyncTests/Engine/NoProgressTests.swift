import BothyStore
import BothySync
import BothyTesting
import Synchronization
import Testing

/// A server, or something in its place, whose answers are well formed and bring nothing.
@Suite("Answers that bring a sync no further", .timeLimit(.minutes(1)))
struct NoProgressTests {
  /// Changes each answer of the server.
  private final class Changing: RemoteStorage {
    let remote: InProcessRemote
    let count = Mutex(0)
    let change: @Sendable (inout SyncResponse) -> Void

    init(_ remote: InProcessRemote, _ change: @escaping @Sendable (inout SyncResponse) -> Void) {
      self.remote = remote
      self.change = change
    }

    func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
      count.withLock { $0 += 1 }
      var response = try await remote.exchange(request)
      change(&response)
      return response
    }
    func query(_ query: RecordQuery) async throws(RemoteError) -> [ServerRecord] {
      try await remote.query(query)
    }
    func count(_ query: RecordQuery) async throws(RemoteError) -> Int { try await remote.count(query) }
    func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest {
      try await remote.digest(scope)
    }
    func hints() -> AsyncThrowingStream<Void, any Error> { AsyncThrowingStream { $0.finish() } }
  }

  private func report(
    _ change: @escaping @Sendable (inout SyncResponse) -> Void
  ) async throws -> (SyncReport, requests: Int) {
    let remote = Changing(
      InProcessRemote(Authority(ledger: try SQLiteLedger(), now: { 1_767_225_600_000 })), change)
    let store = try SyncedStore(at: nil, schema: .notes, remote: remote, configuration: .quiet)
    try await store.store.write { try $0.insert(Note(id: "T1", "mine")) }
    let report = await store.sync()
    #expect(try store.outbox().isEmpty == (report.pushed == 1))
    return (report, remote.count.withLock { $0 })
  }

  @Test("An answer that leaves out all that was asked for is no finished sync")
  func nothing() async throws {
    let (report, requests) = try await report {
      $0.outcomes = []
      $0.pages = []
    }
    #expect(report.skipped?.name == "serverError")
    #expect(requests <= 40)
  }

  @Test("A page that says that more follows, from the same place, is asked for so often and not for ever")
  func more() async throws {
    let (report, requests) = try await report { response in
      for index in response.pages.indices { response.pages[index].more = true }
    }
    #expect(report.skipped?.name == "serverError")
    #expect(requests <= 40)
  }

  @Test("A page of another container is not taken for the one that was asked for")
  func foreign() async throws {
    let (report, requests) = try await report { response in
      for index in response.pages.indices { response.pages[index].scope = PullScope(container: "other") }
    }
    #expect(report.skipped?.name == "serverError")
    #expect(requests <= 40)
  }
}
