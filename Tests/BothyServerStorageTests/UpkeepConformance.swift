import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The requirements of every storage for operators. Each check gets a storage whose spaces are new.
struct UpkeepConformance: Sendable {
  typealias Check = ConformanceCheck<any ServerMaintenance>

  static func put(_ storage: any ServerMaintenance, _ space: String, _ records: StoredRecord...)
    async throws
  {
    try await storage.write(space: space) { try $0.put(records) }
  }

  static func record(
    _ position: Int64, _ id: String, in container: String = "Note", owner: String? = "ann",
    isDeleted: Bool = false
  ) -> StoredRecord {
    StoredRecord(
      position: position,
      record: ServerRecord(
        id: RecordID(type: "Note", id: id), container: container, version: "\(position)", modified: 1,
        owner: owner, isDeleted: isDeleted, fields: isDeleted ? .empty : FieldsDocument(["title": "é"])))
  }

  static let checks = contentChecks + dueChecks

  private static let contentChecks: [Check] = [
    Check("Spaces are listed by name, and counted each by itself") { storage in
      #expect(try await storage.spaces().isEmpty)
      try await put(
        storage, "b", record(1, "1"), record(2, "2", in: "x", owner: "bob"), record(3, "3", isDeleted: true))
      try await put(storage, "a", record(1, "1"))
      #expect(try await storage.spaces() == ["a", "b"])
      let found = try await storage.statistics(of: "b")
      #expect(found.records == 2 && found.tombstones == 1 && found.containers == 2)
      #expect(found.head == 3 && found.floor == 0 && !found.epoch.isEmpty)
      #expect(found.bytes == 2 * Int64(#"{"title":"é"}"#.utf8.count))
      #expect(try await storage.statistics(of: "none").records == 0)
    },
    Check("Principals are those who own live records or are in lists") { storage in
      try await put(
        storage, "s", record(1, "1"), record(2, "2"), record(3, "3", owner: "cid", isDeleted: true),
        record(4, "4", owner: nil))
      try await storage.write(space: "s") { try $0.setMembers(["ann", "bob"], of: "L", ownedBy: "ann") }
      #expect(
        try await storage.users(of: "s") == [
          UserStatistics(user: "ann", records: 2, lists: 1),
          UserStatistics(user: "bob", records: 0, lists: 1),
        ])
    },
    Check("A space that is removed leaves nothing, and the others as they were") { storage in
      for space in ["s", "t"] {
        try await put(storage, space, record(1, "1"))
        try await storage.write(space: space) { try $0.setMembers(["ann"], of: "L", ownedBy: "ann") }
        try await storage.acknowledge(space: space, device: "d", scope: "x", position: 1, at: 10)
        try await storage.turn(space, at: 10)
      }
      try await storage.remove(space: "s")
      #expect(try await storage.spaces() == ["t"])
      #expect(try await storage.read(space: "s") { $0.head } == 0)
      #expect(try await storage.read(space: "s") { try $0.lists(of: ["ann"]).isEmpty })
      #expect(try await storage.acknowledged(space: "s", since: 0) == nil)
      #expect(try await storage.position(of: "s", markedBefore: 100) == 0)
      #expect(try await storage.acknowledged(space: "t", since: 0) == 1)
      #expect(try await storage.position(of: "t", markedBefore: 100) == 1)
    },
    Check("A new epoch jumps ahead and forgets what devices acknowledged") { storage in
      try await put(storage, "s", record(1, "1"))
      try await storage.acknowledge(space: "s", device: "d", scope: "x", position: 1, at: 10)
      let before = try await storage.statistics(of: "s")
      try await storage.startEpoch(space: "s")
      let after = try await storage.statistics(of: "s")
      #expect(after.epoch != before.epoch && after.head == before.head + 4_294_967_296)
      #expect(after.records == 1)
      #expect(try await storage.acknowledged(space: "s", since: 0) == nil)
    },
    Check("Compaction forgets tombstones up to a position and raises the floor, never lowers it") { storage in
      try await put(
        storage, "s", record(1, "1"), record(2, "2", isDeleted: true), record(3, "3", isDeleted: true))
      try await storage.compact(space: "s", upTo: 2)
      #expect(try await storage.statistics(of: "s").tombstones == 1)
      #expect(try await storage.read(space: "s") { $0.floor } == 2)
      try await storage.compact(space: "s", upTo: 1)
      #expect(try await storage.read(space: "s") { $0.floor } == 2)
      #expect(try await storage.statistics(of: "s").records == 1)
    },
    Check("Marks tell where the head was at a time; of the old ones the last is kept") { storage in
      let hour = RetentionPolicy.hour
      try await put(storage, "s", record(1, "1"))
      try await storage.turn("s", at: hour)
      try await put(storage, "s", record(2, "2"))
      try await storage.turn("s", at: 2 * hour)
      let expected: [(Int64, Int64)] = [
        (hour - 1, 0), (hour, 1), (2 * hour - 1, 1), (2 * hour, 2), (9 * hour, 2),
      ]
      for (time, position) in expected {
        #expect(try await storage.position(of: "s", markedBefore: time) == position, "at \(time)")
      }
      try await put(storage, "s", record(3, "3"))
      try await storage.turn("s", at: 3 * hour, keepingSince: 2 * hour + 9)
      #expect(try await storage.position(of: "s", markedBefore: hour) == 0)
      #expect(try await storage.position(of: "s", markedBefore: 2 * hour + 9) == 2)
      #expect(try await storage.position(of: "s", markedBefore: 3 * hour) == 3)
    },
    Check("The lowest acknowledgement of devices heard of counts; those not heard of are forgotten") {
      storage in
      try await put(storage, "s", record(1, "1"))
      #expect(try await storage.acknowledged(space: "s", since: 0) == nil)
      try await storage.acknowledge(space: "s", device: "old", scope: "x", position: 1, at: 10)
      try await storage.acknowledge(space: "s", device: "new", scope: "x", position: 5, at: 20)
      try await storage.acknowledge(space: "s", device: "new", scope: "y", position: 4, at: 20)
      #expect(try await storage.acknowledged(space: "s", since: 10) == 1)
      #expect(try await storage.acknowledged(space: "s", since: 11) == 4)
      try await storage.acknowledge(space: "s", device: "new", scope: "y", position: 7, at: 30)
      #expect(try await storage.acknowledged(space: "s", since: 11) == 5)
      #expect(try await storage.statistics(of: "s").devices == 2)
      try await storage.turn("s", at: 30, keepingSince: 15)
      #expect(try await storage.statistics(of: "s").devices == 1)
      #expect(try await storage.acknowledged(space: "s", since: 0) == 5)
    },
  ]
}

@Suite("Upkeep of storages", .timeLimit(.minutes(5)))
struct UpkeepConformanceTests {
  @Test("A SQLite storage conforms", arguments: UpkeepConformance.checks)
  func sqlite(check: UpkeepConformance.Check) async throws { try await check.run(SQLiteServerStorage()) }

  @Test(
    "A PostgreSQL storage conforms", .enabled(if: RealPostgres.url != nil, RealPostgres.hint),
    arguments: UpkeepConformance.checks)
  func postgres(check: UpkeepConformance.Check) async throws { try await RealPostgres.with(check.run) }
}
