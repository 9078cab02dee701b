import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The requirements of the list of due spaces, and of the turns that empty it.
extension UpkeepConformance {
  private static let start: Int64 = 1_767_225_600_000
  private static let day = RetentionPolicy.day
  private static let hour = RetentionPolicy.hour

  /// Writes a record and looks after the space, which rests from then on.
  private static func rest(_ storage: any ServerMaintenance, _ space: String = "s") async throws {
    try await put(storage, space, record(1, "1"))
    try await storage.turn(space, at: start)
  }

  static let dueChecks = leaseChecks + ageChecks

  private static let leaseChecks: [Check] = [
    Check("A change makes a space due after its rest, and an age does when its time is over") { storage in
      #expect(try await storage.dueCount(at: .max, limit: 9) == 0)
      try await put(storage, "s", record(1, "1"))
      #expect(try await storage.dueCount(at: start, limit: 9) == 1)
      try await storage.turn("s", at: start)
      #expect(try await storage.isDue(at: start + 90 * day))
      try await put(storage, "s", record(2, "2"))
      #expect(try await storage.isDue(at: start + hour))
      try await put(storage, "s", record(3, "3"))
      #expect(try await storage.isDue(at: start + hour))
      try await storage.turn("s", at: start + 5 * hour)
      try await storage.startEpoch(space: "s")
      #expect(try await storage.isDue(at: start + 6 * hour))
    },
    Check("A taken space is due for nobody until its lease is over, and then for one") { storage in
      try await put(storage, "s", record(1, "1"))
      let first = try #require(try await storage.takeDue(at: start, limit: 9, lease: 1000).first)
      #expect(first.space == "s" && first.head == 1 && first.lease == start + 1000)
      #expect(try await storage.takeDue(at: start + 999, limit: 9, lease: 1000).isEmpty)
      let second = try #require(try await storage.takeDue(at: start + 1000, limit: 9, lease: 1000).first)
      let late = MaintenanceTurn(time: start, terms: RetentionPolicy(), lease: first.lease)
      #expect(try await storage.maintain(space: "s", late) == nil)
      #expect(try await storage.position(of: "s", markedBefore: .max) == 0)
      try await storage.putOff(first, until: start + day)
      #expect(try await storage.isDue(at: start + 2000))
      let turn = MaintenanceTurn(time: start, terms: RetentionPolicy(), lease: second.lease)
      #expect(try await storage.maintain(space: "s", turn) != nil)
      #expect(try await storage.position(of: "s", markedBefore: start) == 1)
      #expect(try await storage.isDue(at: start + 90 * day))
      #expect(try await storage.maintain(space: "s", turn) == nil)
    },
    Check("A change during a lease belongs to the turn, and one after it to the next") { storage in
      try await put(storage, "s", record(1, "1"))
      let taken = try #require(try await storage.takeDue(at: start, limit: 9, lease: 1000).first)
      try await put(storage, "s", record(2, "2"))
      try await storage.makeDue(space: "s")
      #expect(try await storage.isDue(at: start + 1000))
      let turn = MaintenanceTurn(time: start, terms: RetentionPolicy(), lease: taken.lease)
      _ = try await storage.maintain(space: "s", turn)
      #expect(try await storage.position(of: "s", markedBefore: start) == 2)
      #expect(try await storage.isDue(at: start + 90 * day))
      try await put(storage, "s", record(3, "3"))
      #expect(try await storage.isDue(at: start + hour))
    },
    Check("A space that is put off isn't due earlier, even if it changes") { storage in
      try await put(storage, "s", record(1, "1"))
      let taken = try #require(try await storage.takeDue(at: start, limit: 9, lease: 1000).first)
      try await storage.putOff(taken, until: start + day)
      try await put(storage, "s", record(2, "2"))
      #expect(try await storage.isDue(at: start + day))
    },
    Check("Spaces are taken up to the limit, each once, and a limited number is counted") { storage in
      for name in ["a", "b", "c"] { try await put(storage, name, record(1, "1")) }
      #expect(try await storage.dueCount(at: start, limit: 2) == 2)
      let first = try await storage.takeDue(at: start, limit: 2, lease: 1000)
      let second = try await storage.takeDue(at: start, limit: 2, lease: 1000)
      #expect(first.count == 2 && second.count == 1)
      #expect(Set((first + second).map(\.space)) == ["a", "b", "c"])
      #expect(try await storage.takeDue(at: start, limit: 0, lease: 1000).isEmpty)
    },
    Check("A space that a clock years ahead put to rest is due at once") { storage in
      try await put(storage, "s", record(1, "1"))
      try await put(storage, "t", record(1, "1"))
      try await storage.turn("s", at: start + 3000 * day)
      try await put(storage, "s", record(2, "2"))
      #expect(try await storage.dueCount(at: start, limit: 9) == 2)
      #expect(try await storage.dueCount(at: start, limit: 1) == 1)
      let first = try await storage.takeDue(at: start, limit: 1, lease: 1000)
      let taken = try await storage.takeDue(at: start, limit: 9, lease: 1000)
      #expect(first.count == 1 && taken.count == 1)
      #expect(try await storage.dueCount(at: start, limit: 9) == 0)
      let turn = MaintenanceTurn(time: start, terms: RetentionPolicy(), lease: start + 1000)
      for space in ["s", "t"] { #expect(try await storage.maintain(space: space, turn) != nil) }
      #expect(try await storage.dueCount(at: start, limit: 9) == 0)
      #expect(try await storage.dueCount(at: start + 90 * day, limit: 9) == 2)
    },
    Check("A space can be made due, and a missing or removed one is never due") { storage in
      try await rest(storage)
      try await storage.makeDue(space: "s")
      #expect(try await storage.isDue(at: start + hour))
      try await storage.makeDue(space: "none")
      try await storage.remove(space: "s")
      #expect(try await storage.dueCount(at: .max, limit: 9) == 0)
      #expect(try await storage.turn("s", at: start) == nil)
      #expect(try await storage.lastCollection(of: "s") == nil)
    },
  ]

  private static let ageChecks: [Check] = [
    Check("A space with nothing to forget is due at no time, until an outcome is remembered") { storage in
      try await rest(storage)
      #expect(try await storage.turn("s", at: start + 90 * day)?.floor == 1)
      #expect(try await storage.dueCount(at: .max, limit: 9) == 0)
      try await storage.write(space: "s") { storage in
        try storage.remember([Outcome(operation: "o", .waiting(on: "x"))], device: "d", at: start)
      }
      #expect(try await storage.isDue(at: start + 90 * day + hour))
    },
    Check("Outcomes are forgotten by age, each at its own time") { storage in
      for (device, time) in [("d", start), ("e", start + 10 * day)] {
        try await storage.write(space: "s") { storage in
          try storage.remember([Outcome(operation: "o", .waiting(on: "x"))], device: device, at: time)
        }
      }
      #expect(try await storage.turn("s", at: start + 10 * day)?.outcomes == 0)
      #expect(try await storage.isDue(at: start + 90 * day + 1))
      #expect(try await storage.turn("s", at: start + 90 * day + 1)?.outcomes == 1)
      let left = try await storage.read(space: "s") { storage in
        try ["d", "e"].map { try storage.outcomes(device: $0, operations: ["o"]).count }
      }
      #expect(left == [0, 1])
      #expect(try await storage.isDue(at: start + 100 * day + 1))
      #expect(try await storage.turn("s", at: start + 100 * day + 1)?.outcomes == 1)
      #expect(try await storage.dueCount(at: .max, limit: 9) == 0)
    },
    Check("More outcomes than one turn forgets keep the space due") { storage in
      let many = (0...MaintenanceTurn.outcomeLimit).map { Outcome(operation: "o\($0)", .waiting(on: "x")) }
      try await storage.write(space: "s") { try $0.remember(many, device: "d", at: start) }
      let time = start + 91 * day
      #expect(try await storage.turn("s", at: time)?.outcomes == MaintenanceTurn.outcomeLimit)
      #expect(try await storage.isDue(at: time))
      #expect(try await storage.turn("s", at: time)?.outcomes == 1)
      #expect(try await storage.dueCount(at: .max, limit: 9) == 0)
    },
    Check("A turn forgets a part of each kind, and the space stays due for the rest") { storage in
      let records = (Int64(1)...5).map { record($0, "\($0)", isDeleted: $0 != 2) }
      let removals = (Int64(6)...9).map {
        RecordRemoval(position: $0, id: RecordID(type: "Note", id: "1"), container: "x")
      }
      let notices = (Int64(10)...13).map {
        VisibilityNotice(position: $0, user: "u", record: RecordID(type: "Note", id: "n\($0)"))
      }
      try await storage.write(space: "s") { storage in
        try storage.put(records)
        try storage.put(removals)
        try storage.put(notices)
      }
      @Sendable func left() async throws -> Int {
        try await storage.read(space: "s") { try $0.notices(for: ["u"], after: 0, limit: nil).count }
      }
      try await storage.turn("s", at: start)
      var turn = MaintenanceTurn(time: start + 95 * day, terms: RetentionPolicy())
      turn.rows = 2
      for floor: Int64 in [4, 8, 12] {
        let report = try #require(try await storage.maintain(space: "s", turn))
        #expect(report.floor == floor && report.wantedFloor == 13 && report.isPartial)
        #expect(try await storage.isDue(at: turn.time))
      }
      #expect(try await left() == 1)
      let last = try #require(try await storage.maintain(space: "s", turn))
      #expect(last.floor == 13 && last.wantedFloor == nil && !last.isPartial)
      #expect(try await storage.dueCount(at: .max, limit: 9) == 0)
      let found = try await storage.statistics(of: "s")
      #expect(found.records == 1 && found.tombstones == 0)
      #expect(try await left() == 0)
    },
    Check("A device that catches up makes a waiting space due, and a repetition doesn't") { storage in
      try await put(storage, "s", record(1, "1"), record(2, "2", isDeleted: true))
      try await storage.acknowledge(space: "s", device: "d", scope: "x", position: 1, at: start)
      try await storage.turn("s", at: start)
      #expect(try await storage.turn("s", at: start + 8 * day)?.floor == 1)
      #expect(try await storage.isDue(at: start + 90 * day))
      try await storage.acknowledge(space: "s", device: "d", scope: "x", position: 1, at: start + 8 * day)
      #expect(try await storage.isDue(at: start + 90 * day))
      try await storage.acknowledge(space: "s", device: "d", scope: "x", position: 2, at: start + 8 * day)
      #expect(try await storage.isDue(at: start + 8 * day + hour))
      #expect(try await storage.turn("s", at: start + 9 * day)?.floor == 2)
      #expect(try await storage.statistics(of: "s").tombstones == 0)
      // The device itself gets too old.
      #expect(try await storage.isDue(at: start + 98 * day + 1))
      try await storage.turn("s", at: start + 98 * day + 1)
      #expect(try await storage.statistics(of: "s").devices == 0)
      #expect(try await storage.dueCount(at: .max, limit: 9) == 0)
    },
    Check("Many scopes are acknowledged at once, and those of another epoch not at all") { storage in
      try await put(storage, "s", record(1, "1"), record(2, "2"))
      let epoch = try await storage.read(space: "s") { $0.epoch }
      let progress = (1...50).map { DeviceProgress(scope: "x\($0)", position: 1, epoch: epoch) }
      let foreign = DeviceProgress(scope: "y", position: 0, epoch: "another")
      #expect(try await storage.acknowledge(space: "s", device: "d", progress + [foreign], at: start))
      #expect(try await storage.acknowledged(space: "s", since: start) == 1)
      #expect(try await !storage.acknowledge(space: "s", device: "e", [foreign], at: start))
      #expect(try await !storage.acknowledge(space: "none", device: "e", progress, at: start))
      #expect(try await storage.statistics(of: "s").devices == 1)
      #expect(try await storage.spaces() == ["s"])
    },
    Check("Positions of one user's devices have a limit, beside which others' are noted") { storage in
      try await put(storage, "s", record(1, "1"), record(2, "2"))
      let epoch = try await storage.read(space: "s") { $0.epoch }
      @Sendable func note(
        _ device: String, of user: String?, _ count: Int, at position: Int64 = 1
      ) async throws {
        let progress = (1...count).map {
          DeviceProgress(scope: "x\($0)", position: position, epoch: epoch)
        }
        let name = DeviceName(device, of: Caller(user)).text
        #expect(try await storage.acknowledge(space: "s", device: name, progress, at: start))
      }
      try await note("a", of: "ann", FixedLimits.devicePositions - 1, at: 2)
      try await note("b", of: "ann", 1)
      try await note("c", of: "ann", 2)
      #expect(try await storage.statistics(of: "s").devices == 2)
      try await note("b", of: "ann", 2, at: 2)
      #expect(try await storage.acknowledged(space: "s", since: 0) == 2)
      for (number, user) in [nil, "an", "ann/", "anna"].enumerated() {
        try await note("c", of: user, 1)
        #expect(try await storage.statistics(of: "s").devices == 3 + number)
      }
    },
    Check("The last collection is remembered, and makes the space due by its time or by a change") {
      storage in
      try await put(storage, "s", record(1, "1"))
      let last = BlobCollection(at: start, head: 1, due: start + 3 * day)
      try await storage.turn("s", at: start, collection: last)
      #expect(try await storage.lastCollection(of: "s") == last)
      #expect(try await storage.isDue(at: start + 3 * day))
      try await put(storage, "s", record(2, "2"))
      let taken = try #require(try await storage.takeDue(at: start + hour, limit: 1, lease: 1000).first)
      #expect(taken.collection == last && taken.head == 2)
      let turn = MaintenanceTurn(
        time: start + hour, terms: RetentionPolicy(), lease: taken.lease, collection: last)
      _ = try await storage.maintain(space: "s", turn)
      #expect(try await storage.isDue(at: start + day))
      try await storage.turn("s", at: start + day)
      #expect(try await storage.lastCollection(of: "s") == nil)
    },
  ]
}
