import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Testing

/// The requests, stored records and errors of each policy.
@Suite("Fetching by policy", .timeLimit(.minutes(5)))
struct ReadPolicyTests {
  /// Fetches on A by `policy`. A has `start`, and the server has `news`.
  private func request(
    _ policy: ReadPolicy, offline: Bool = false, empty: Bool = false
  ) async throws -> (pair: Pair, result: Result<FetchResult<Note>, any Error>) {
    let pair = try await Pair.sharing(empty ? [] : ["T1"])
    if empty { try pair.b.insert("T1", "news") } else { try pair.b.retitle("news") }
    await pair.b.store.sync()
    pair.a.remote.isOffline = offline
    do {
      let options = RequestOptions(readPolicy: policy)
      return (pair, .success(try await pair.a.store.fetchResult(RecordQuery<Note>(), options: options)))
    } catch { return (pair, .failure(error)) }
  }

  /// Promises: S-15, C-5
  @Test("`remote` stores the server's response, and throws without a network")
  func remote() async throws {
    let (pair, result) = try await request(.remote)
    #expect(try result.get().records.map(\.title) == ["news"])
    #expect(try result.get().origin == .remote)
    #expect(try result.get().isComplete)
    #expect(try pair.a.title() == "news")
    // The response has changes, which are pulled with what belongs to them.
    #expect(pair.a.remote.reads == 1 && pair.a.remote.requests.map(\.operations.count) == [0])
    let (_, offline) = try await request(.remote, offline: true)
    let error = #expect(throws: BothyError.self) { try offline.get() }
    #expect(error?.code == .unreachable)
  }

  /// Promises: S-16, C-6
  @Test("`remoteElseLocal` reads from the server, or from here without a network")
  func remoteElseLocal() async throws {
    #expect(try await request(.remoteElseLocal).result.get().records.map(\.title) == ["news"])
    let offline = try await request(.remoteElseLocal, offline: true).result.get()
    #expect(offline.records.map(\.title) == ["start"])
    #expect(offline.origin == .local)
    #expect(offline.age == .zero)
  }

  /// Promises: S-5, S-17
  @Test("`local` makes no request, even if nothing is here")
  func local() async throws {
    let (pair, result) = try await request(.local)
    #expect(try result.get().records.map(\.title) == ["start"])
    #expect(pair.a.remote.reads == 0 && pair.a.remote.requests.isEmpty)
    #expect(try await request(.local, empty: true).result.get().records.isEmpty)
  }

  /// Promises: S-18
  @Test("`localElseRemote` reads from the server only if nothing is here")
  func localElseRemote() async throws {
    let (pair, result) = try await request(.localElseRemote)
    #expect(try result.get().records.map(\.title) == ["start"])
    #expect(pair.a.remote.reads == 0)
    let (asked, found) = try await request(.localElseRemote, empty: true)
    #expect(try found.get().records.map(\.title) == ["news"])
    #expect(asked.a.remote.reads == 1)
    let offline = try await request(.localElseRemote, offline: true, empty: true).result
    let error = #expect(throws: BothyError.self) { try offline.get() }
    #expect(error?.code == .unreachable)
  }

  /// Promises: N-28, C-5
  @Test("`syncThenLocal` syncs both ways and reads from here, even after a failure")
  func syncThenLocal() async throws {
    let (pair, result) = try await request(.syncThenLocal)
    #expect(try result.get().records.map(\.title) == ["news"])
    #expect(try result.get().origin == .remote)
    #expect(pair.a.remote.requests.count == 1 && pair.a.remote.reads == 0)
    let offline = try await request(.syncThenLocal, offline: true).result.get()
    #expect(offline.records.map(\.title) == ["start"])
    #expect(offline.origin == .local)
  }

  @Test("`localThenRemote` reads from here at once, and the loop brings changes")
  func localThenRemote() async throws {
    let (pair, result) = try await request(.localThenRemote)
    #expect(try result.get().records.map(\.title) == ["start"])
    let store = pair.a.store
    let loop = Task { await store.run(clock: VirtualClock()) }
    try await until { try pair.a.title() == "news" }
    loop.cancel()
    await loop.value
  }

  /// Promises: S-30, X-7
  @Test("The options of a call override the configuration, for that call only")
  func override() async throws {
    let pair = try await Pair.sharing { $0.readPolicy = .local }
    pair.a.remote.isOffline = true
    await #expect(throws: BothyError.self) {
      try await pair.a.store.fetchResult(
        RecordQuery<Note>(), options: RequestOptions(readPolicy: .remote))
    }
    #expect(try await pair.a.store.fetchResult(RecordQuery<Note>()).records.count == 1)
    #expect(try await pair.a.store.fetch(Note.self, id: "T1")?.title == "start")
    #expect(pair.a.remote.reads == 1)
  }

  /// Promises: S-71
  @Test("Without caching, a response includes pending changes, and nothing is stored")
  func cacheResults() async throws {
    let pair = try await Pair.sharing(["T1", "T2", "T3"])
    for id in ["T1", "T2", "T3"] { try pair.b.retitle(id, "news") }
    try pair.b.insert("T4", "new")
    await pair.b.store.sync()
    try pair.a.retitle("T1", "mine")
    try pair.a.remove("T2")
    let options = RequestOptions(readPolicy: .remote, cacheResults: false)
    let found = try await pair.a.store.fetchResult(RecordQuery<Note>().order(SortKey("id")), options: options)
    #expect(found.records.map(\.title) == ["mine", "news", "new"])
    #expect(try pair.a.title("T3") == "start")
    #expect(try pair.a.note("T4") == nil)
  }

  @Test("A fetch of more than one page requests the next, up to its limit")
  func pages() async throws {
    let pair = try Pair()
    try pair.b.change { transaction in
      for number in 0..<2500 { try transaction.insert(Note(id: "N\(10_000 + number)", "n")) }
    }
    await pair.b.store.sync()
    let all = try await pair.a.store.fetchResult(
      RecordQuery<Note>(), options: RequestOptions(readPolicy: .remote))
    #expect(all.records.count == 2500)
    #expect(pair.a.remote.reads == 3)
    let some = RecordQuery<Note>().order(SortKey("id")).limit(1200, offset: 100)
    let found = try await pair.a.store.fetchResult(some, options: RequestOptions(readPolicy: .remote))
    #expect(found.records.first?.id == "N10100")
    #expect(found.records.count == 1200)
  }

  /// Promises: X-12
  @Test("A count follows the policy of the call")
  func counts() async throws {
    let pair = try await Pair.sharing()
    try pair.b.insert("T2", "two")
    await pair.b.store.sync()
    func count(_ policy: ReadPolicy) async throws -> Int {
      try await pair.a.store.count(AnyQuery("Note"), options: RequestOptions(readPolicy: policy))
    }
    #expect(try await count(.local) == 1)
    #expect(try await count(.localElseRemote) == 1)
    #expect(try await count(.remote) == 2)
    pair.a.remote.isOffline = true
    #expect(try await count(.remoteElseLocal) == 1)
    await #expect(throws: BothyError.self) { try await count(.remote) }
    pair.a.remote.isOffline = false
    #expect(try await count(.syncThenLocal) == 2)
  }
}
