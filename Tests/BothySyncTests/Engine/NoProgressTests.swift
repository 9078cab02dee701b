import BothyStore
import BothySync
import BothyTesting
import Testing

/// A server, or something in its place, whose answers are well formed and bring nothing.
@Suite("Answers that bring a sync no further", .timeLimit(.minutes(1)))
struct NoProgressTests {
  private func report(
    _ change: @escaping @Sendable (inout SyncResponse) -> Void
  ) async throws -> (SyncReport, requests: Int) {
    let requests = Calls()
    let authority = Authority(ledger: try SQLiteLedger(), now: { 1_767_225_600_000 })
    let remote = RewritingRemote(InProcessRemote(authority)) { request, server throws(RemoteError) in
      requests.add()
      var response = try await server.exchange(request)
      change(&response)
      return response
    }
    let store = try SyncedStore(at: nil, schema: .notes, remote: remote, configuration: .quiet)
    try await store.store.write { try $0.insert(Note(id: "T1", "mine")) }
    let report = await store.sync()
    #expect(try store.outbox().isEmpty == (report.pushed == 1))
    return (report, requests.count)
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
