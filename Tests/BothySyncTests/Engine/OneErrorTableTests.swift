import BothyLegacy
import BothyStore
import BothySync
import BothyTesting
import Testing

@Suite("Errors of remotes for callers", .timeLimit(.minutes(5)))
struct OneErrorTableTests {
  private static let failures = [
    RemoteError(.unreachable, "No answer."), RemoteError(.unauthenticated, "Who?", status: 401),
    RemoteError(.forbidden, "Not yours.", status: 403), RemoteError(.notFound, "Gone.", status: 410),
    RemoteError(.conflict, "Changed.", status: 409), RemoteError(.rejected, "No.", status: 405),
    RemoteError(.throttled, "Later.", status: 429, retryAfter: 1),
    RemoteError(.serverError, "Broken.", status: 500),
    RemoteError(.rejected, "Too old.", status: 422, code: "updateRequired"),
    RemoteError(.conflict, "Another one.", status: 409, code: "otherServer"),
    RemoteError(.rejected, "Signed out there.", code: "signedOut"),
  ]

  private func store(_ failure: RemoteError) throws -> SyncedStore {
    try SyncedStore.inMemory([Note.self], remote: ScriptedRemote([.fail(failure)]))
  }

  @Test("A single request and a sync tell one failure alike", arguments: failures)
  func alike(_ failure: RemoteError) async throws {
    let request = await #expect(throws: BothyError.self) { _ = try await store(failure).downloadChanges() }
    let sync = await #expect(throws: BothyError.self) { _ = try await store(failure).syncCompletely() }
    #expect(request?.code == sync?.code)
    #expect(request?.message == sync?.message)
  }

  @Test("A read that needs a newer app says so")
  func tooOld() async throws {
    let store = try store(RemoteError(.rejected, "Too old.", status: 422, code: "updateRequired"))
    let error = await #expect(throws: BothyError.self) { _ = try await store.downloadChanges() }
    #expect(error?.code == .updateRequired)
  }
}
