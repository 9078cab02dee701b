import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Foundation
import Synchronization
import Testing

/// The streaming standby that `scripts/with-postgres --standby` has started.
enum RealStandby {
  static let url = ProcessInfo.processInfo.environment["BOTHY_POSTGRES_STANDBY"]
  static let hint: Comment =
    "BOTHY_POSTGRES_STANDBY is not set: scripts/with-postgres --standby swift test --filter ReplicaTests"

  /// Runs a statement on the standby.
  static func run(_ sql: String) throws -> String {
    try PostgresCatalogue.rows((url ?? "") + "?target_session_attrs=any", sql).first?.first ?? ""
  }

  /// A storage with a replica, and the sentences that it reports.
  struct Reader {
    var storage: PostgresServerStorage
    var reports: AsyncStream<String>.Iterator

    /// Opens a storage and waits for its first report.
    static func open(
      _ schema: String, replica: String? = url,
      prepare: (inout PostgresServerStorage.Configuration) -> Void = { _ in }
    ) async throws -> (reader: Reader, report: String) {
      var configuration = RealPostgres.configuration(schema, connections: 2)
      configuration.replicas = [replica ?? ""]
      configuration.replicaWait = .seconds(1)
      configuration.replicaLookInterval = .milliseconds(50)
      prepare(&configuration)
      let storage = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
      let (reports, reporting) = AsyncStream.makeStream(of: String.self)
      storage.useReplicas { reporting.yield($0) }
      var reader = Reader(storage: storage, reports: reports.makeAsyncIterator())
      let first = await reader.reports.next() ?? ""
      return (reader, first)
    }

    /// Waits until the replica is used.
    mutating func waitForUse() async {
      while storage.replicas.first?.problem != nil { _ = await reports.next() }
    }

    func reads(_ ending: ReplicaState.Ending) -> Int64 { storage.replicas.first?.reads[ending] ?? 0 }
  }
}

@Suite(
  "A storage with a replica", .enabled(if: RealStandby.url != nil, RealStandby.hint), .serialized,
  .timeLimit(.minutes(5)))
struct ReplicaTests {
  private static let entry: @Sendable (Int64) -> StoredRecord = {
    ServerStorageConformance.entry($0, "n\($0)")
  }

  @Test("A storage with a replica conforms", arguments: ServerStorageConformance.checks)
  func conformance(check: ServerStorageConformance.Check) async throws {
    var (reader, _) = try await RealStandby.Reader.open(RealPostgres.newSchema())
    defer { reader.storage.close() }
    await reader.waitForUse()
    try await check.run(reader.storage)
  }

  @Test("A read has every write that another process has answered before")
  func freshness() async throws {
    let schema = RealPostgres.newSchema()
    let writer = try await RealPostgres.open(schema)
    defer { writer.close() }
    var (reader, _) = try await RealStandby.Reader.open(schema)
    defer { reader.storage.close() }
    await reader.waitForUse()
    let storage = reader.storage
    for position in Int64(1)...200 {
      // A replica that a busy machine makes slow is left alone for a while.
      await reader.waitForUse()
      try await writer.write(space: "s") { try $0.put([Self.entry(position)]) }
      let read = try await storage.read(space: "s") {
        ($0.head, try $0.changes(after: 0, in: .everything, limit: 500))
      }
      #expect(read.0 == position && read.1.count == Int(position))
      let found = try await storage.search(space: "s", within: .seconds(100)) { $0.head }
      #expect(found == position)
    }
    #expect(reader.reads(.answered) > 100)
  }

  @Test("A paused replica costs one bounded wait, and answers after it caught up")
  func paused() async throws {
    let schema = RealPostgres.newSchema()
    var (reader, _) = try await RealStandby.Reader.open(schema) { $0.replicaWait = .milliseconds(200) }
    defer { reader.storage.close() }
    await reader.waitForUse()
    let storage = reader.storage
    _ = try RealStandby.run("SELECT pg_wal_replay_pause()::text")
    do {
      // A failure fails what follows.
      defer { _ = try? RealStandby.run("SELECT pg_wal_replay_resume()::text") }
      for position in Int64(1)...50 {
        try await storage.write(space: "s") { try $0.put([Self.entry(position)]) }
        #expect(try await storage.read(space: "s") { $0.head } == position)
      }
      #expect(storage.replicas.first?.problem == .behind)
      #expect(reader.reads(.behind) <= 2)
    }
    await reader.waitForUse()
    #expect(try await storage.read(space: "s") { $0.head } == 50)
  }

  @Test("A replica that gives no answer is left alone after a bounded wait")
  func silent() async throws {
    let schema = RealPostgres.newSchema()
    let proxy = try PostgresProxy(to: RealStandby.url ?? "")
    defer { proxy.close() }
    var (reader, _) = try await RealStandby.Reader.open(schema, replica: proxy.address)
    defer { reader.storage.close() }
    await reader.waitForUse()
    let storage = reader.storage
    try await storage.write(space: "s") { try $0.put([Self.entry(1)]) }
    proxy.stall()
    for _ in 0..<20 { #expect(try await storage.read(space: "s") { $0.head } == 1) }
    // Each one that waited has failed.
    #expect(reader.reads(.failed) <= 1)
    #expect(storage.replicas.first?.problem == .away)
    proxy.resume()
    await reader.waitForUse()
    #expect(try await storage.read(space: "s") { $0.head } == 1)
  }

  /// The standby has a commit at once. The primary's readers see it when all synchronous standbys have it, and here
  /// one of them never does.
  @Test("A commit that the primary doesn't show yet isn't read from a replica")
  func withheldCommit() async throws {
    let schema = RealPostgres.newSchema()
    var (reader, _) = try await RealStandby.Reader.open(schema)
    defer { reader.storage.close() }
    await reader.waitForUse()
    let (storage, url) = (reader.storage, RealPostgres.url ?? "")
    try await storage.write(space: "s") { try $0.put([Self.entry(1)]) }
    let head = "SELECT head::text FROM \(schema).space WHERE space = 's'"
    try await Self.holdCommits()
    defer { try? Self.waitForStandby(named: "DEFAULT") }  // a failure fails what follows
    let writing = Task {
      while !Task.isCancelled {
        try await storage.write(space: "s") { try $0.put([Self.entry($0.head + 1)]) }
      }
    }
    var (seen, copied) = (Int64(0), Int64(0))
    repeat {
      seen = Int64(try PostgresCatalogue.rows(url, head).first?.first ?? "") ?? 0
      copied = Int64(try RealStandby.run(head)) ?? 0
      // It is withheld if the primary doesn't show it after the standby either.
    } while try copied <= seen || (Int64(PostgresCatalogue.rows(url, head).first?.first ?? "") ?? 0) != seen
    repeat {
      // A replica that a busy machine makes slow is left alone for a while.
      await reader.waitForUse()
      #expect(try await storage.read(space: "s") { $0.head } == seen)
      #expect(try await storage.search(space: "s", within: .seconds(100)) { $0.head } == seen)
    } while reader.reads(.ahead) < 2
    writing.cancel()
    try Self.waitForStandby(named: "DEFAULT")
    try await writing.value
    #expect(try await storage.read(space: "s") { $0.head } >= copied)
  }

  private static let insert = SyncOperation(
    id: "o", kind: .insert, record: .note("n1"), fields: ["title": "t"])

  /// Returns a service that has committed in another space.
  private static func opened() async throws -> (
    schema: String, storage: PostgresServerStorage, service: SyncService
  ) {
    let schema = RealPostgres.newSchema()
    let storage = try await RealPostgres.open(schema)
    let service = SyncService(storage: storage, now: { 1000 })
    _ = try await service.perform(space: "other", user: Caller("ann"), insert)
    return (schema, storage, service)
  }

  /// The session of the first commit ends while it waits, as in a restart of the primary. The commit is visible then,
  /// and the standby never had it.
  @Test("A commit in doubt, and a repetition of one, wait for the standby")
  func repeatedCommit() async throws {
    let (schema, storage, service) = try await Self.opened()
    defer { storage.close() }
    try await Self.holdCommits()
    defer { try? Self.waitForStandby(named: "DEFAULT") }  // a failure fails what follows
    let first = Answer { try await service.perform(space: "s", user: Caller("ann"), Self.insert) }
    let session = try #require(try await Self.waiting(in: schema, except: "", orEndOf: first))
    _ = try PostgresCatalogue.rows(RealPostgres.url ?? "", "SELECT pg_terminate_backend(\(session))::text")
    let next = try await Self.waiting(in: schema, except: session, orEndOf: first)
    #expect(next != nil && !first.isHere.value)
    try Self.waitForStandby(named: "DEFAULT")
    let verdict = try await first.task.value
    guard case .applied(let version, _, _) = verdict else {
      Issue.record("it is \(verdict)")
      return
    }

    try await Self.holdCommits()
    let same = SyncOperation(
      id: "p", kind: .update, record: .note("n1"), base: version, fields: ["title": "t"])
    let second = Answer { try await service.perform(space: "s", user: Caller("ann"), same) }
    #expect(try await Self.waiting(in: schema, except: "", orEndOf: second) != nil && !second.isHere.value)
    try Self.waitForStandby(named: "DEFAULT")
    #expect(try await second.task.value == .applied(version: version, modified: 1000, record: nil))
    #expect(try await storage.read(space: "s") { $0.head } == 1)
  }

  /// PostgreSQL reports a commit as made when its wait is cancelled, and warns that a standby may lack it.
  @Test("A commit whose wait for the standby is cancelled is answered after another wait")
  func cancelledWait() async throws {
    let (schema, storage, service) = try await Self.opened()
    defer { storage.close() }
    try await Self.holdCommits()
    defer { try? Self.waitForStandby(named: "DEFAULT") }  // a failure fails what follows
    let answer = Answer { try await service.perform(space: "s", user: Caller("ann"), Self.insert) }
    var session = ""
    // The second wait is that of the repetition, which finds the first commit made.
    for _ in 0..<2 {
      session = try #require(try await Self.waiting(in: schema, except: session, orEndOf: answer))
      _ = try PostgresCatalogue.rows(RealPostgres.url ?? "", "SELECT pg_cancel_backend(\(session))::text")
    }
    #expect(try await Self.waiting(in: schema, except: session, orEndOf: answer) != nil)
    #expect(!answer.isHere.value)
    try Self.waitForStandby(named: "DEFAULT")
    guard case .applied = try await answer.task.value else {
      Issue.record("it is refused")
      return
    }
    #expect(try await storage.read(space: "s") { $0.head } == 1)
  }

  /// Where the database takes too long, the answer is that nothing is known, and a repetition has the outcome.
  @Test("A commit that waits for longer than the patience is answered by its repetition")
  func impatient() async throws {
    let schema = RealPostgres.newSchema()
    try await RealPostgres.open(schema).close()
    let configuration = PostgresServerStorage.Configuration(schema: schema, patience: .seconds(5))
    let storage = try await RealPostgres.patiently {
      try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
    }
    defer { storage.close() }
    let service = SyncService(storage: storage, now: { 1000 })
    let insert = SyncOperation(id: "o", kind: .insert, record: .note("n1"), fields: ["title": "t"])
    let request = SyncRequest(device: "d", operations: [insert])
    let other = SyncRequest(
      device: "d", operations: [SyncOperation(id: "p", kind: .insert, record: .note("n2"))])
    _ = try await RealPostgres.patiently {
      try await service.sync(space: "other", user: Caller("ann"), other)
    }
    try await Self.holdCommits()
    defer { try? Self.waitForStandby(named: "DEFAULT") }  // a failure fails what follows
    await #expect(throws: StorageUnavailable.self) {
      try await service.sync(space: "s", user: Caller("ann"), request)
    }
    try Self.waitForStandby(named: "DEFAULT")
    let again = try await RealPostgres.patiently {
      try await service.sync(space: "s", user: Caller("ann"), request)
    }
    guard case .duplicate(let version, _, _)? = again.outcomes.first?.verdict else {
      Issue.record("\(again.outcomes)")
      return
    }
    #expect(version == "1")
    #expect(try await RealPostgres.patiently { try await storage.read(space: "s") { $0.head } } == 1)
  }

  /// A call, and if it was answered.
  private struct Answer: Sendable {
    let isHere = Locked(false)
    let task: Task<Outcome.Verdict, any Error>

    init(_ body: @escaping @Sendable () async throws -> Outcome.Verdict) {
      task = Task { [isHere] in
        let verdict = try await body()
        isHere.value = true
        return verdict
      }
    }
  }

  /// Returns the session of a commit to the schema that waits for a standby, or `nil` if the answer came first.
  private static func waiting(
    in schema: String, except former: String, orEndOf answer: Answer
  ) async throws -> String? {
    while !answer.isHere.value {
      let found = try PostgresCatalogue.rows(
        RealPostgres.url ?? "",
        """
        SELECT a.pid::text FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
        WHERE a.wait_event = 'SyncRep' AND l.relation = '\(schema).space'::regclass AND a.pid::text <> '\(former)'
        """)
      if let session = found.first?.first { return session }
      await Task.yield()
    }
    return nil
  }

  /// Makes each commit of the primary wait for a standby that doesn't exist, and returns when one does.
  ///
  /// Another process of PostgreSQL reads the setting, so the next commits may still go through.
  private static func holdCommits() async throws {
    try waitForStandby(named: "'nobody'")
    let url = RealPostgres.url ?? ""
    while true {
      let isMade = Locked(false)
      Thread.detachNewThread {
        _ = try? PostgresCatalogue.rows(url, "SELECT pg_logical_emit_message(true, 'probe', '')::text")
        isMade.value = true
      }
      while !isMade.value {
        let cancelled = try PostgresCatalogue.rows(
          url,
          """
          SELECT pg_cancel_backend(pid)::text FROM pg_stat_activity
          WHERE wait_event = 'SyncRep' AND query LIKE '%''probe''%' AND pid <> pg_backend_pid()
          """)
        if !cancelled.isEmpty { return }
        await Task.yield()
      }
    }
  }

  private static func waitForStandby(named name: String) throws {
    let url = RealPostgres.url ?? ""
    _ = try PostgresCatalogue.rows(url, "ALTER SYSTEM SET synchronous_standby_names = \(name)")
    _ = try PostgresCatalogue.rows(url, "SELECT pg_reload_conf()::text")
  }

  @Test("What is no standby of the database is refused with a sentence")
  func refusals() async throws {
    let schema = RealPostgres.newSchema()
    let primary = try await RealStandby.Reader.open(schema, replica: RealPostgres.url)
    defer { primary.reader.storage.close() }
    #expect(primary.report.hasPrefix("Replica 1 is not used. The copy takes changes, as standbys don't."))
    #expect(primary.reader.storage.replicas.first?.problem == .promoted)
    let other = try await RealStandby.Reader.open(
      schema, replica: RealStandby.url?.replacing("/postgres", with: "/template1"))
    defer { other.reader.storage.close() }
    #expect(other.reader.storage.replicas.first?.problem == .outdated)
    #expect(other.report.contains("Its tables have version 0"))
    let away = try await RealStandby.Reader.open(schema, replica: "postgres://bothy@127.0.0.1:1/postgres")
    defer { away.reader.storage.close() }
    #expect(away.reader.storage.replicas.first?.problem == .away)
    #expect(try await away.reader.storage.read(space: "s") { $0.head } == 0)
  }
}
