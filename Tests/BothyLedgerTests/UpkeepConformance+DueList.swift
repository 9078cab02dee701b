import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The requirements of the list of due spaces, and of the turns that empty it.
extension UpkeepConformance {
  private static let start: Int64 = 1_767_225_600_000
  private static let day = UpkeepTerms.day
  private static let hour = UpkeepTerms.hour

  /// Writes a record and looks after the space, which rests from then on.
  private static func rest(_ ledger: any LedgerUpkeep, _ space: String = "s") async throws {
    try await put(ledger, space, record(1, "1"))
    try await ledger.turn(space, at: start)
  }

  static let dueChecks = leaseChecks + ageChecks

  private static let leaseChecks: [Check] = [
    Check("A change makes a space due after its rest, and an age does when its time is over") { ledger in
      #expect(try await ledger.dueCount(at: .max, limit: 9) == 0)
      try await put(ledger, "s", record(1, "1"))
      #expect(try await ledger.dueCount(at: start, limit: 9) == 1)
      try await ledger.turn("s", at: start)
      #expect(try await ledger.isDue(at: start + 90 * day))
      try await put(ledger, "s", record(2, "2"))
      #expect(try await ledger.isDue(at: start + hour))
      try await put(ledger, "s", record(3, "3"))
      #expect(try await ledger.isDue(at: start + hour))
      try await ledger.turn("s", at: start + 5 * hour)
      try await ledger.startEpoch(space: "s")
      #expect(try await ledger.isDue(at: start + 6 * hour))
    },
    Check("A taken space is due for nobody until its lease is over, and then for one") { ledger in
      try await put(ledger, "s", record(1, "1"))
      let first = try #require(try await ledger.takeDue(at: start, limit: 9, lease: 1000).first)
      #expect(first.space == "s" && first.head == 1 && first.lease == start + 1000)
      #expect(try await ledger.takeDue(at: start + 999, limit: 9, lease: 1000).isEmpty)
      let second = try #require(try await ledger.takeDue(at: start + 1000, limit: 9, lease: 1000).first)
      let late = UpkeepTurn(time: start, terms: UpkeepTerms(), lease: first.lease)
      #expect(try await ledger.maintain(space: "s", late) == nil)
      #expect(try await ledger.position(of: "s", markedBefore: .max) == 0)
      try await ledger.putOff(first, until: start + day)
      #expect(try await ledger.isDue(at: start + 2000))
      let turn = UpkeepTurn(time: start, terms: UpkeepTerms(), lease: second.lease)
      #expect(try await ledger.maintain(space: "s", turn) != nil)
      #expect(try await ledger.position(of: "s", markedBefore: start) == 1)
      #expect(try await ledger.isDue(at: start + 90 * day))
      #expect(try await ledger.maintain(space: "s", turn) == nil)
    },
    Check("A change during a lease belongs to the turn, and one after it to the next") { ledger in
      try await put(ledger, "s", record(1, "1"))
      let taken = try #require(try await ledger.takeDue(at: start, limit: 9, lease: 1000).first)
      try await put(ledger, "s", record(2, "2"))
      try await ledger.makeDue(space: "s")
      #expect(try await ledger.isDue(at: start + 1000))
      let turn = UpkeepTurn(time: start, terms: UpkeepTerms(), lease: taken.lease)
      _ = try await ledger.maintain(space: "s", turn)
      #expect(try await ledger.position(of: "s", markedBefore: start) == 2)
      #expect(try await ledger.isDue(at: start + 90 * day))
      try await put(ledger, "s", record(3, "3"))
      #expect(try await ledger.isDue(at: start + hour))
    },
    Check("A space that is put off isn't due earlier, even if it changes") { ledger in
      try await put(ledger, "s", record(1, "1"))
      let taken = try #require(try await ledger.takeDue(at: start, limit: 9, lease: 1000).first)
      try await ledger.putOff(taken, until: start + day)
      try await put(ledger, "s", record(2, "2"))
      #expect(try await ledger.isDue(at: start + day))
    },
    Check("Spaces are taken up to the limit, each once, and a limited number is counted") { ledger in
      for name in ["a", "b", "c"] { try await put(ledger, name, record(1, "1")) }
      #expect(try await ledger.dueCount(at: start, limit: 2) == 2)
      let first = try await ledger.takeDue(at: start, limit: 2, lease: 1000)
      let second = try await ledger.takeDue(at: start, limit: 2, lease: 1000)
      #expect(first.count == 2 && second.count == 1)
      #expect(Set((first + second).map(\.space)) == ["a", "b", "c"])
      #expect(try await ledger.takeDue(at: start, limit: 0, lease: 1000).isEmpty)
    },
    Check("A space can be made due, and a missing or removed one is never due") { ledger in
      try await rest(ledger)
      try await ledger.makeDue(space: "s")
      #expect(try await ledger.isDue(at: start + hour))
      try await ledger.makeDue(space: "none")
      try await ledger.remove(space: "s")
      #expect(try await ledger.dueCount(at: .max, limit: 9) == 0)
      #expect(try await ledger.turn("s", at: start) == nil)
      #expect(try await ledger.lastCollection(of: "s") == nil)
    },
  ]

  private static let ageChecks: [Check] = [
    Check("A space with nothing to forget is due at no time, until an outcome is remembered") { ledger in
      try await rest(ledger)
      #expect(try await ledger.turn("s", at: start + 90 * day)?.floor == 1)
      #expect(try await ledger.dueCount(at: .max, limit: 9) == 0)
      try await ledger.write(space: "s") { ledger in
        try ledger.remember([Outcome(operation: "o", .waiting(on: "x"))], device: "d", at: start)
      }
      #expect(try await ledger.isDue(at: start + 90 * day + hour))
    },
    Check("Outcomes are forgotten by age, each at its own time") { ledger in
      for (device, time) in [("d", start), ("e", start + 10 * day)] {
        try await ledger.write(space: "s") { ledger in
          try ledger.remember([Outcome(operation: "o", .waiting(on: "x"))], device: device, at: time)
        }
      }
      #expect(try await ledger.turn("s", at: start + 10 * day)?.outcomes == 0)
      #expect(try await ledger.isDue(at: start + 90 * day + 1))
      #expect(try await ledger.turn("s", at: start + 90 * day + 1)?.outcomes == 1)
      let left = try await ledger.read(space: "s") { ledger in
        try ["d", "e"].map { try ledger.outcomes(device: $0, operations: ["o"]).count }
      }
      #expect(left == [0, 1])
      #expect(try await ledger.isDue(at: start + 100 * day + 1))
      #expect(try await ledger.turn("s", at: start + 100 * day + 1)?.outcomes == 1)
      #expect(try await ledger.dueCount(at: .max, limit: 9) == 0)
    },
    Check("More outcomes than one turn forgets keep the space due") { ledger in
      let many = (0...UpkeepTurn.outcomeLimit).map { Outcome(operation: "o\($0)", .waiting(on: "x")) }
      try await ledger.write(space: "s") { try $0.remember(many, device: "d", at: start) }
      let time = start + 91 * day
      #expect(try await ledger.turn("s", at: time)?.outcomes == UpkeepTurn.outcomeLimit)
      #expect(try await ledger.isDue(at: time))
      #expect(try await ledger.turn("s", at: time)?.outcomes == 1)
      #expect(try await ledger.dueCount(at: .max, limit: 9) == 0)
    },
    Check("A device that catches up makes a waiting space due, and a repetition doesn't") { ledger in
      try await put(ledger, "s", record(1, "1"), record(2, "2", isDeleted: true))
      try await ledger.acknowledge(space: "s", device: "d", scope: "x", position: 1, at: start)
      try await ledger.turn("s", at: start)
      #expect(try await ledger.turn("s", at: start + 8 * day)?.floor == 1)
      #expect(try await ledger.isDue(at: start + 90 * day))
      try await ledger.acknowledge(space: "s", device: "d", scope: "x", position: 1, at: start + 8 * day)
      #expect(try await ledger.isDue(at: start + 90 * day))
      try await ledger.acknowledge(space: "s", device: "d", scope: "x", position: 2, at: start + 8 * day)
      #expect(try await ledger.isDue(at: start + 8 * day + hour))
      #expect(try await ledger.turn("s", at: start + 9 * day)?.floor == 2)
      #expect(try await ledger.statistics(of: "s").tombstones == 0)
      // The device itself gets too old.
      #expect(try await ledger.isDue(at: start + 98 * day + 1))
      try await ledger.turn("s", at: start + 98 * day + 1)
      #expect(try await ledger.statistics(of: "s").devices == 0)
      #expect(try await ledger.dueCount(at: .max, limit: 9) == 0)
    },
    Check("Many scopes are acknowledged at once, and those of another epoch not at all") { ledger in
      try await put(ledger, "s", record(1, "1"), record(2, "2"))
      let epoch = try await ledger.read(space: "s") { $0.epoch }
      let progress = (1...50).map { DeviceProgress(scope: "x\($0)", position: 1, epoch: epoch) }
      let foreign = DeviceProgress(scope: "y", position: 0, epoch: "another")
      #expect(try await ledger.acknowledge(space: "s", device: "d", progress + [foreign], at: start))
      #expect(try await ledger.acknowledged(space: "s", since: start) == 1)
      #expect(try await !ledger.acknowledge(space: "s", device: "e", [foreign], at: start))
      #expect(try await !ledger.acknowledge(space: "none", device: "e", progress, at: start))
      #expect(try await ledger.statistics(of: "s").devices == 1)
      #expect(try await ledger.spaces() == ["s"])
    },
    Check("The last collection is remembered, and makes the space due by its time or by a change") { ledger in
      try await put(ledger, "s", record(1, "1"))
      let last = BlobCollection(at: start, head: 1, due: start + 3 * day)
      try await ledger.turn("s", at: start, collection: last)
      #expect(try await ledger.lastCollection(of: "s") == last)
      #expect(try await ledger.isDue(at: start + 3 * day))
      try await put(ledger, "s", record(2, "2"))
      let taken = try #require(try await ledger.takeDue(at: start + hour, limit: 1, lease: 1000).first)
      #expect(taken.collection == last && taken.head == 2)
      let turn = UpkeepTurn(time: start + hour, terms: UpkeepTerms(), lease: taken.lease, collection: last)
      _ = try await ledger.maintain(space: "s", turn)
      #expect(try await ledger.isDue(at: start + day))
      try await ledger.turn("s", at: start + day)
      #expect(try await ledger.lastCollection(of: "s") == nil)
    },
  ]
}
