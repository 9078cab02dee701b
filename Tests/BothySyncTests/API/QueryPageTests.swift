import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Synchronization
import Testing

/// Reads from the server whose answers have several pages.
@Suite("Pages of queries", .timeLimit(.minutes(5)))
struct QueryPageTests {
  private static let all = RecordQuery<Note>().order(SortKey("title"))
  private static let ids = (0..<6).map { "n\($0)" }

  /// Returns a pair with six notes on the server, which answers with one record a page.
  private func pair() async throws -> Pair {
    var rules = AccessRules()
    rules.answerSize = 1
    let pair = try Pair(rules: rules)
    for id in Self.ids { try pair.b.insert(id, "t" + id) }
    await pair.b.store.sync()
    return pair
  }

  private func store(_ remote: any RemoteStorage) throws -> SyncedStore {
    try SyncedStore(at: nil, schema: .notes, remote: remote, configuration: .quiet)
  }

  /// Promises: N-6
  @Test("Each page begins after the one before, whatever changes meanwhile", arguments: [true, false])
  func changes(isStored: Bool) async throws {
    let pair = try await pair()
    let (service, space) = (pair.world.service, pair.world.space)
    @Sendable func change(_ kind: BothySync.ChangeKind, _ id: String, _ title: String) async throws {
      let record = RecordID.note(id)
      let user = Caller("tester")
      let base = try await service.record(space: space, user: user, record)?.version
      let operation = SyncOperation(
        id: id, kind: kind, record: record, base: base,
        fields: kind == .delete ? [:] : ["title": .string(title), "score": 0])
      guard case .applied = try await service.perform(space: space, user: user, operation) else {
        Issue.record("\(kind) of \(id) was refused")
        return
      }
    }
    let remote = PagedRemote(pair.a.remote) { number in
      guard number == 3 else { return }
      do {
        try await change(.delete, "n0", "")
        try await change(.insert, "a", "new")
        try await change(.update, "n4", "first")
      } catch { Issue.record(error) }
    }
    let options = RequestOptions(readPolicy: .remote, cacheResults: isStored)
    let found = try await store(remote).fetchResult(Self.all, options: options).records
    #expect(found.map(\.id).filter { $0 != "n0" } == ["n4", "n1", "n2", "n3", "n5"])
    #expect(found.first { $0.id == "n4" }?.title == "first")
    #expect(remote.cursors.count == 6 && remote.cursors.dropFirst().allSatisfy { $0 != nil })
  }

  @Test("A limit ends the pages")
  func limited() async throws {
    let pair = try await pair()
    let remote = PagedRemote(pair.a.remote)
    let options = RequestOptions(readPolicy: .remote)
    let query = Self.all.limit(3, offset: 1)
    #expect(
      try await store(remote).fetchResult(query, options: options).records.map(\.id) == ["n1", "n2", "n3"])
    #expect(remote.cursors.count == 3)
  }

  /// Promises: N-6
  @Test("A cancelled read asks for no further page, and keeps those that came")
  func cancelled() async throws {
    let pair = try await pair()
    let latch = Latch()
    let remote = PagedRemote(pair.a.remote) { if $0 == 3 { await latch.pass() } }
    let store = try store(remote)
    let read = Task {
      try await store.fetchResult(Self.all, options: RequestOptions(readPolicy: .remote)).records.count
    }
    await latch.reached()
    read.cancel()
    latch.open()
    let error = await #expect(throws: BothyError.self) { try await read.value }
    #expect(error?.code == .cancelled)
    #expect(remote.cursors.count == 3)
    #expect(try await store.store.fetch(RecordQuery<Note>()).map(\.id) == ["n0", "n1"])
  }

  @Test("A server that no longer takes a cursor is asked by an offset")
  func refused() async throws {
    let pair = try await pair()
    let remote = PagedRemote(pair.a.remote, refusing: 4)
    let options = RequestOptions(readPolicy: .remote)
    let found = try await store(remote).fetchResult(Self.all, options: options).records
    #expect(found.map(\.id) == Self.ids)
    #expect(remote.cursors.count == 7)
  }
}

/// A remote that runs a test's code before each page.
private final class PagedRemote: CompleteRemote {
  private let remote: any RemoteStorage
  private let refused: Int?
  private let before: @Sendable (Int) async -> Void
  private let asked = Mutex<[String?]>([])

  /// - Parameter refused: the number of the page whose cursor isn't taken.
  init(
    _ remote: any RemoteStorage, refusing refused: Int? = nil,
    _ before: @escaping @Sendable (Int) async -> Void = { _ in }
  ) {
    (self.remote, self.refused, self.before) = (remote, refused, before)
  }

  /// The cursors of all pages, in order.
  var cursors: [String?] { asked.withLock { $0 } }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await remote.exchange(request)
  }

  func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    let number = asked.withLock { asked in
      asked.append(cursor)
      return asked.count
    }
    await before(number)
    if number == refused { throw RemoteError(.rejected, "An unknown cursor.", code: "badCursor") }
    return try await remote.page(query, after: cursor)
  }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] { try await remote.query(query) }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await remote.count(query) }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { try await remote.digest(scope) }
}
