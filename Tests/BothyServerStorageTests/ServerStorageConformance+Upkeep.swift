import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// The checks of the operators' operations on a storage.
extension ServerStorageConformance {
  static let upkeepChecks: [Check] = [
    Check("A space is counted, and removed with all that belongs to it and nothing else") { storage in
      let upkeep = try #require(storage.upkeep)
      for space in ["s", "t"] {
        try await storage.write(space: space) { storage in
          try storage.put([entry(1, "a"), entry(2, "b", in: "x"), entry(3, "c", isDeleted: true)])
          try storage.setMembers(["ann", "bob"], of: "L1", ownedBy: "ann")
          try storage.remember([Outcome(operation: "o", .waiting(on: "x"))], device: "d", at: 0)
        }
        try await upkeep.acknowledge(space: space, device: "d", scope: "all", position: 2, at: 10)
      }
      let found = try await upkeep.statistics(of: "s")
      #expect(found.head == 3 && found.floor == 0 && !found.epoch.isEmpty)
      #expect([found.records, found.tombstones, found.containers] == [2, 1, 2])
      #expect([found.outcomes, found.devices] == [1, 1])
      #expect(found.bytes == Int64(2 * entry(1, "a").record.fields.bytes.count))
      let users = try await upkeep.users(of: "s")
      #expect(users.map(\.user) == ["ann", "bob"])
      #expect(users.map(\.records) == [2, 0])
      #expect(users.map(\.lists) == [1, 1])
      try await upkeep.remove(space: "s")
      #expect(try await upkeep.spaces() == ["t"])
      let empty = try await upkeep.statistics(of: "s")
      #expect([empty.records, empty.tombstones, empty.outcomes, empty.devices] == [0, 0, 0, 0])
      #expect(try await storage.read(space: "t") { $0.head } == 3)
    },
    Check("Marks tell where the head was, and devices how far they are") { storage in
      let upkeep = try #require(storage.upkeep)
      let hour = RetentionPolicy.hour
      for time in Int64(1)...4 {
        try await storage.write(space: "s") { try $0.put([entry(time, "a")]) }
        try await upkeep.turn("s", at: time * hour)
      }
      #expect(try await upkeep.position(of: "s", markedBefore: 2 * hour + 9) == 2)
      #expect(try await upkeep.position(of: "s", markedBefore: hour - 1) == 0)
      try await upkeep.turn("s", at: 5 * hour, keepingSince: 3 * hour + 9)
      #expect(try await upkeep.position(of: "s", markedBefore: 2 * hour + 9) == 0, "forgotten")
      #expect(try await upkeep.position(of: "s", markedBefore: 3 * hour + 9) == 3)
      #expect(try await upkeep.acknowledged(space: "s", since: 0) == nil)
      try await upkeep.acknowledge(space: "s", device: "d", scope: "x", position: 3, at: 400)
      try await upkeep.acknowledge(space: "s", device: "e", scope: "x", position: 1, at: 300)
      try await upkeep.acknowledge(space: "s", device: "d", scope: "x", position: 4, at: 450)
      #expect(try await upkeep.acknowledged(space: "s", since: 0) == 1)
      #expect(try await upkeep.acknowledged(space: "s", since: 400) == 4)
    },
  ]
}
