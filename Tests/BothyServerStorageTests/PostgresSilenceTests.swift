import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Synchronization
import Testing

/// A database that doesn't answer, or that has no notifications.
@Suite(
  "A silent PostgreSQL", .enabled(if: RealPostgres.url != nil, RealPostgres.hint), .timeLimit(.minutes(5)))
struct PostgresSilenceTests {
  @Test("A database that stops answering is an error within the patience")
  func stalled() async throws {
    let proxy = try PostgresProxy(to: RealPostgres.url ?? "")
    defer { proxy.close() }
    let schema = RealPostgres.newSchema()
    try await RealPostgres.open(schema).close()
    let configuration = PostgresServerStorage.Configuration(
      schema: schema, connections: 2, patience: .seconds(2))
    let storage = try await RealPostgres.patiently {
      try await PostgresServerStorage.open(proxy.address, configuration: configuration)
    }
    defer { storage.close() }
    #expect(try await write(1, to: storage) == 1)
    #expect(try await RealPostgres.patiently { try await storage.read(space: "s") { $0.head } } == 1)
    try await RealPostgres.patiently { try await storage.check() }
    // The proxy goes on when all calls have ended.
    proxy.stall()
    await withTaskGroup(of: StorageUnavailable.Reason?.self) { tasks in
      // More than the storage has threads, so some of them wait for one.
      for _ in 0..<4 {
        tasks.addTask { await reason { try await storage.read(space: "s") { _ = $0.head } } }
        tasks.addTask { await reason { try await storage.write(space: "s") { _ = $0.head } } }
      }
      tasks.addTask { await reason { try await storage.check() } }
      for await found in tasks { #expect(found == .unreachable) }
    }
    proxy.resume()
    #expect(try await write(2, to: storage) == 2)
  }

  /// Writes a record unless a call before has, and returns the head.
  private func write(_ position: Int64, to storage: PostgresServerStorage) async throws -> Int64 {
    try await RealPostgres.patiently {
      try await storage.write(space: "s") { storage in
        if storage.head < position {
          try storage.put([ServerStorageConformance.entry(position, "n\(position)")])
        }
        return storage.head
      }
    }
  }

  /// Returns the reason of a failed call, or `nil` if it doesn't fail or has another error.
  private func reason(_ body: () async throws -> Void) async -> StorageUnavailable.Reason? {
    do { try await body() } catch { return (error as? StorageUnavailable)?.reason }
    return nil
  }

  @Test("A database without LISTEN is looked at, and that is reported once")
  func refusedListen() async throws {
    let proxy = try PostgresProxy(to: RealPostgres.url ?? "", refusesListen: true)
    defer { proxy.close() }
    let schema = RealPostgres.newSchema()
    let first = try await RealPostgres.open(schema)
    var configuration = RealPostgres.configuration(schema, connections: 2)
    configuration.lookInterval = .milliseconds(20)
    let second = try await PostgresServerStorage.open(proxy.address, configuration: configuration)
    try await first.write(space: "s") { _ in }
    let (heard, hearing) = AsyncStream.makeStream(of: String.self)
    let reports = Mutex<[String]>([])
    second.passNews(of: { ["s"] }, to: { hearing.yield($0) }) { text in
      reports.withLock { $0.append(text) }
    }
    var names = heard.makeAsyncIterator()
    #expect(await names.next() == "s", "a look at the beginning")
    for number in Int64(1)...3 {
      try await first.write(space: "s") { try $0.put([ServerStorageConformance.entry(number, "a\(number)")]) }
      #expect(await names.next() == "s")
    }
    #expect(second.looksForNews && !first.looksForNews)
    #expect(reports.withLock { $0.count } == 1)
    first.close()
    second.close()
  }
}
