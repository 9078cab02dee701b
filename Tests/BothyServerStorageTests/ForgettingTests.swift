import BothyPostgres
import BothySync
import BothySyncService
import Synchronization
import Testing

/// A space of which more is too old than one transaction forgets, or that is too large to count.
@Suite("Forgetting in steps", .timeLimit(.minutes(5)))
struct ForgettingTests {
  private static let day = RetentionPolicy.day

  private static func tombstones(_ count: Int, in storage: any ServerStorage) async throws {
    try await storage.write(space: "s") { storage in
      try storage.put(
        (1...count).map { ServerStorageConformance.entry(Int64($0), "r\($0)", isDeleted: true) })
    }
  }

  /// Compacts a space of 25 tombstones, ten at a time. `compact` calls its closure between two steps.
  private static func check(
    _ storage: any ServerMaintenance, _ compact: @escaping SteppedWork.Work
  ) async throws {
    try await tombstones(25, in: storage)
    try await SteppedWork.check(compact) {
      let broken = try await storage.statistics(of: "s")
      #expect(broken.tombstones == 14 && broken.floor == 11)
    }
    let done = try await storage.statistics(of: "s")
    #expect(done.tombstones == 0 && done.floor == 30)
  }

  @Test("A compaction goes in steps, each with its own floor")
  func sqlite() async throws {
    let storage = try SQLiteServerStorage()
    try await Self.check(storage) { pause in
      try await storage.compact(space: "s", upTo: 30, rowsAtATime: 10) { _ in try pause() }
    }
  }

  @Test(
    "A compaction in PostgreSQL goes in steps, each a transaction",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func postgres() async throws {
    try await RealPostgres.with { storage in
      try await Self.check(storage) { pause in
        try await storage.compact(space: "s", upTo: 30, rowsAtATime: 10) { try pause() }
      }
    }
  }

  @Test(
    "The oldest outcome is looked for when all that are too old are gone",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func oldestOutcome() async throws {
    let schema = RealPostgres.newSchema()
    try await RealPostgres.open(schema).close()
    let looks = Mutex(0)
    var configuration = RealPostgres.configuration(schema, connections: 2)
    configuration.trace = { sql in
      if sql.contains("min(at) FROM operation") { looks.withLock { $0 += 1 } }
    }
    let storage = try await PostgresServerStorage.open(RealPostgres.url ?? "", configuration: configuration)
    defer { storage.close() }
    let many = (0...MaintenanceTurn.outcomeLimit).map { Outcome(operation: "o\($0)", .waiting(on: "x")) }
    try await storage.write(space: "s") { try $0.remember(many, device: "d", at: 0) }
    for isLast in [false, true] {
      let report = try #require(try await storage.turn("s", at: 91 * Self.day))
      #expect(report.isPartial == !isLast && report.outcomes == (isLast ? 1 : MaintenanceTurn.outcomeLimit))
      #expect(looks.withLock { $0 } == (isLast ? 1 : 0))
    }
  }

  /// Counts a space of five records and one outcome, with limits of which only the last one is enough.
  private static func checkCounts(
    _ storage: any ServerStorage, _ statistics: (String, Int) async throws -> SpaceStatistics,
    _ users: (String, Int) async throws -> [UserStatistics]
  ) async throws {
    try await storage.write(space: "s") { storage in
      try storage.put((1...5).map { ServerStorageConformance.entry(Int64($0), "r\($0)") })
      try storage.remember([Outcome(operation: "o", .waiting(on: "x"))], device: "d", at: 0)
    }
    var numbers: [SpaceStatistics] = []
    for limit in [3, 5, 6] { numbers.append(try await statistics("s", limit)) }
    #expect(numbers.map(\.records) == [3, 5, 5])
    #expect(numbers.map(\.outcomes) == [1, 1, 1])
    #expect(numbers.map(\.isPartial) == [true, true, false])
    let found = try await users("s", 3)
    #expect(found == [UserStatistics(user: "ann", records: 3, lists: 0)])
  }

  @Test("Of a space that is too large, a limited number is counted")
  func counting() async throws {
    let storage = try SQLiteServerStorage()
    try await Self.checkCounts(storage, storage.statistics(of:counting:), storage.users(of:counting:))
  }

  @Test(
    "Of a space in PostgreSQL that is too large, a limited number is counted",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func countingInPostgres() async throws {
    try await RealPostgres.with { storage in
      try await Self.checkCounts(storage, storage.statistics(of:counting:), storage.users(of:counting:))
    }
  }

  @Test("An upkeep at once forgets all that is too old, in steps")
  func atOnce() async throws {
    let storage = try SQLiteServerStorage()
    try await Self.tombstones(2 * SpaceRows.step + 5, in: storage)
    for time in [0, 91 * Self.day] {
      let service = SyncService(storage: storage, now: { time })
      let report = try await service.upkeep(space: "s", RetentionPolicy())
      #expect(report.floor == (time == 0 ? nil : Int64(2 * SpaceRows.step + 5)))
    }
    #expect(try await storage.statistics(of: "s").tombstones == 0)
  }
}
