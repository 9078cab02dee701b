import BothyPostgres
import BothyStore
import BothySync
import BothySyncService
import Testing

/// The removal of a space with more rows than one transaction deletes.
@Suite("Removal of a large space", .timeLimit(.minutes(5)))
struct SpaceRemovalTests {
  /// Removes a space of 25 records, ten at a time. `remove` calls its closure between two steps.
  private static func check(
    _ storage: any ServerMaintenance, _ remove: @escaping SteppedWork.Work
  ) async throws {
    try await storage.write(space: "s") { storage in
      try storage.put((1...25).map { ServerStorageConformance.entry(Int64($0), "r\($0)") })
    }
    try await storage.write(space: "t") { try $0.put([ServerStorageConformance.entry(1, "a")]) }
    let epoch = try await storage.statistics(of: "s").epoch
    try await SteppedWork.check(remove) {
      let left = try await storage.statistics(of: "s")
      #expect(left.records == 15)
      #expect(left.epoch != epoch, "a device takes the missing records for deleted ones")
      #expect(try await storage.spaces() == ["s", "t"])
    }
    #expect(try await storage.spaces() == ["t"])
    #expect(try await storage.statistics(of: "s").records == 0)
    #expect(try await storage.statistics(of: "t").records == 1)
  }

  @Test("A large space goes in steps, and a removal that broke off is completed")
  func sqlite() async throws {
    let storage = try SQLiteServerStorage()
    try await Self.check(storage) { pause in
      try await storage.remove(space: "s", rowsAtATime: 10) { _ in try pause() }
    }
  }

  @Test(
    "A large space in PostgreSQL goes in steps, each a transaction",
    .enabled(if: RealPostgres.url != nil, RealPostgres.hint))
  func postgres() async throws {
    try await RealPostgres.with { storage in
      try await Self.check(storage) { pause in
        try await storage.remove(space: "s", rowsAtATime: 10) { try pause() }
      }
    }
  }

  @Test(
    "A space of more rows than a step deletes goes as a whole",
    arguments: [SpaceRows.step, 2 * SpaceRows.step + 1])
  func steps(count: Int) async throws {
    let storage = try SQLiteServerStorage()
    try await storage.write(space: "s") { storage in
      try storage.put((1...count).map { ServerStorageConformance.entry(Int64($0), "r\($0)") })
      try storage.remember(
        (1...count).map { Outcome(operation: "o\($0)", .waiting(on: "x")) }, device: "d", at: 0)
    }
    try await storage.remove(space: "s")
    let left = try await storage.statistics(of: "s")
    #expect(left.records == 0 && left.outcomes == 0)
    #expect(try await storage.spaces().isEmpty)
  }
}
