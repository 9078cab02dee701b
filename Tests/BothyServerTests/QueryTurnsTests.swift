import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Dispatch
import HTTPTypes
import Testing

@Suite("Slots for pulls, pushes and queries", .timeLimit(.minutes(5)))
struct QueryTurnsTests {
  private static let push = """
    {"device":"d","operations":[{"id":"1","kind":"insert","type":"T","record":"1","fields":{}}],
     "pulls":[{"container":"","children":true}]}
    """
  private static let pull = #"{"device":"d","pulls":[{"container":"","children":true}]}"#

  @Test("With all slots for queries taken, pulls and pushes still pass")
  func separate() async throws {
    let storage = try HangingSearches()
    var limits = ServerConfiguration.Limits()
    limits.queryConcurrency = 2
    try await ServerUnderTest(limits: limits, storage: storage).run { call async throws in
      try await withThrowingTaskGroup(of: Int.self) { queries in
        for path in ["query", "count", "query", "count"] {
          queries.addTask { try await call(.post, "/v1/spaces/hut/\(path)", #"{"type":"T"}"#).status }
        }
        for path in ["digest", "history", "lists"] {
          queries.addTask { try await call(.get, "/v1/spaces/hut/\(path)").status }
        }
        await storage.searches(2)
        while try await !waits(5, call) { await Task.yield() }
        #expect(try await call(.post, "/v1/spaces/hut/sync", Self.push).status == 200)
        #expect(try await call(.post, "/v1/spaces/hut/sync", Self.pull).status == 200)
        #expect(try await call(.put, "/v1/spaces/hut/records/T/2", #"{"fields":{}}"#).status == 201)
        #expect(try await call(.get, "/v1/spaces/hut/changes").status == 200)
        #expect(try await call(.get, "/v1/spaces/hut/records/T/1").status == 200)
        #expect(storage.started == 2)
        storage.goOn()
        for try await status in queries { #expect(status == 200) }
      }
      let metrics = try await call(.get, "/metrics").text
      #expect(metrics.contains(#"bothy_requests_running{kind="query"} 0"#))
    }
  }

  private func waits(_ count: Int, _ call: RouteClient) async throws -> Bool {
    let metrics = try await call(.get, "/metrics").text
    return metrics.contains(#"bothy_requests_waiting{kind="query"} \#(count)"#)
      && metrics.contains(#"bothy_requests_running{kind="query"} 2"#)
  }

  @Test("With all slots for pushes taken, pulls still pass")
  func pushes() async throws {
    let storage = try HangingSearches(holdsWrites: true)
    var limits = ServerConfiguration.Limits()
    limits.pushConcurrency = 1
    try await ServerUnderTest(limits: limits, storage: storage).run { call async throws in
      async let first = call(.post, "/v1/spaces/hut/sync", Self.push)
      async let second = call(.put, "/v1/spaces/hut/records/T/2", #"{"fields":{}}"#)
      await storage.searches(1)
      let pulled = try await call(.post, "/v1/spaces/hut/sync", Self.pull).json()
      let cursor = try #require(pulled["pages"]?.arrayValue?.first?["cursor"]?.stringValue)
      // It has progress to note, and leaves that to a later one.
      let next = #"{"device":"e","pulls":[{"container":"","children":true,"cursor":"\#(cursor)"}]}"#
      #expect(try await call(.post, "/v1/spaces/hut/sync", next).status == 200)
      #expect(try await call(.get, "/v1/spaces/hut/changes").status == 200)
      #expect(storage.started == 1)
      storage.goOn()
      #expect(try await first.status == 200)
      #expect(try await second.status == 201)
    }
  }

  @Test("Reads that end with a write of their own hold up no other pull")
  func acknowledgements() async throws {
    let folder = try TileFolderUnderTest()
    let storage = try SQLiteServerStorage(at: folder.path + "/ledger.sqlite")
    var limits = ServerConfiguration.Limits()
    limits.concurrency = 1
    var server = try ServerUnderTest(limits: limits, storage: storage)
    server.configuration.blobs = FolderBlobStorage(at: folder.path + "/blobs", now: { 1000 })
    try await server.run { call async throws in
      let pushed = try await call(.post, "/v1/spaces/hut/sync", Self.push).json()
      let cursor = try #require(pushed["pages"]?.arrayValue?.first?["cursor"]?.stringValue)
      let started = AsyncStream.makeStream(of: Void.self)
      let gate = DispatchSemaphore(value: 0)
      async let writes: Void = storage.write(space: "hut") { _ in
        started.continuation.yield()
        gate.wait()
      }
      for await _ in started.stream { break }
      let pull = #"{"device":"e","pulls":[{"container":"","children":true,"cursor":"\#(cursor)"}]}"#
      async let first = call(.post, "/v1/spaces/hut/sync", pull)
      async let second = call(.get, "/v1/spaces/hut/blobs/" + String(repeating: "0", count: 64))
      let waits = #"bothy_requests_running{kind="push"} 2"#
      while try await !call(.get, "/metrics").text.contains(waits) { await Task.yield() }
      #expect(try await call(.post, "/v1/spaces/hut/sync", Self.pull).status == 200)
      gate.signal()
      try await writes
      #expect(try await first.status == 200)
      #expect(try await second.status == 404)
    }
    #expect(try await storage.acknowledged(space: "hut", since: 0) == 1)
    try storage.close()
  }

  @Test("A user has half of the slots for queries")
  func share() async throws {
    let storage = try HangingSearches()
    var limits = ServerConfiguration.Limits()
    limits.queryConcurrency = 2
    let tokens = """
      [{"token":"a","principal":"ann","spaces":["hut"]},{"token":"b","principal":"bob","spaces":["hut"]}]
      """
    try await ServerUnderTest(tokens: tokens, limits: limits, storage: storage).run { call async throws in
      @Sendable func query(_ token: String) async throws -> Int {
        try await call.with(token: token)(.post, "/v1/spaces/hut/query", #"{"type":"T"}"#).status
      }
      async let first = query("a")
      async let second = query("a")
      await storage.searches(1)
      async let other = query("b")
      await storage.searches(2)
      storage.goOn()
      #expect(try await [first, second, other] == [200, 200, 200])
    }
  }

  @Test("A query whose caller leaves while it waits gives up its place")
  func left() async throws {
    let storage = try HangingSearches()
    var limits = ServerConfiguration.Limits()
    limits.queryConcurrency = 1
    let query =
      "POST /v1/spaces/hut/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      + "Content-Length: 12\r\n\r\n{\"type\":\"T\"}"
    let configuration = try ServerUnderTest(limits: limits, storage: storage).configuration
    try await ConnectedServer.run(configuration) { server async throws in
      func wait(for count: Int) async throws {
        let line = #"bothy_requests_waiting{kind="query"} \#(count)"#
        while try await !server.get("/metrics").text.contains(line) { await Task.yield() }
      }
      try await server.line { first async throws in
        try await first.send(query)
        await storage.searches(1)
        try await server.line { second async throws in
          try await second.send(query)
          try await wait(for: 1)
        }
        try await wait(for: 0)
        storage.goOn()
        #expect(try await first.reply().status == 200)
      }
      #expect(storage.started == 1)
    }
  }

  @Test("Searches on a file have connections apart from those of reads and writes")
  func connections() async throws {
    let folder = try TileFolderUnderTest()
    let storage = try SQLiteServerStorage(at: folder.path + "/ledger.sqlite", readers: 1, queries: 1)
    try await checkSeparate(storage)
    try storage.close()
  }

  @Test(
    "Searches on PostgreSQL have connections apart from those of reads and writes",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func connectionsOnPostgres() async throws {
    try await PostgresUnderTest.with { try await checkSeparate($0) }
  }

  private func checkSeparate(_ storage: any ServerStorage) async throws {
    let started = AsyncStream.makeStream(of: Void.self)
    let gate = DispatchSemaphore(value: 0)
    async let search = storage.search(space: "hut", within: .seconds(1000)) { snapshot in
      started.continuation.yield()
      // PostgreSQL ends a session that idles in its transaction for ten seconds.
      while gate.wait(timeout: .now() + 2) == .timedOut {
        _ = try snapshot.changes(after: 0, in: .everything, limit: 1)
      }
      return snapshot.head
    }
    for await _ in started.stream { break }
    #expect(try await storage.read(space: "hut") { $0.head } == 0)
    try await storage.write(space: "hut") { try $0.put([HistoryEntry](), keeping: 10) }
    gate.signal()
    #expect(try await search == 0)
  }
}

/// A storage whose searches, or writes, wait until the test releases them.
private final class HangingSearches: ServerStorage {
  private let storage: SQLiteServerStorage
  private let holdsWrites: Bool
  private let gate = Latch()
  private let calls = Calls()

  init(holdsWrites: Bool = false) throws {
    storage = try SQLiteServerStorage()
    self.holdsWrites = holdsWrites
  }

  var identity: String { storage.identity }

  /// The number of held calls since the beginning.
  var started: Int { calls.count }

  /// Returns when `count` calls are held or were.
  func searches(_ count: Int) async { while started < count { await Task.yield() } }

  func goOn() { gate.open() }

  private func pass() async {
    calls.add()
    await gate.pass()
  }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    if holdsWrites { await pass() }
    return try await storage.write(space: space, body)
  }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result { try await storage.read(space: space, body) }

  func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    await pass()
    return try await storage.search(space: space, within: limit, body)
  }
}
