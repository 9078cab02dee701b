import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of visibility and of the separation of spaces.
extension ServerStorageConformance {
  static let sharingChecks: [Check] = [
    Check("Audiences count with the bytes of a page, and all pages bring every record") { storage in
      let names = Set((1...100).map { "user\($0)" + String(repeating: "x", count: 100) })
      let entries = (Int64(1)...10).map { visible($0, "r\($0)", audience: Audience(users: names)) }
      try await storage.write(space: "s") { try $0.put(entries) }
      let (changes, records) = try await storage.read(space: "s") { storage in
        (
          try storage.changes(after: 0, in: .everything, limit: 99, bytes: 25_000).count,
          try storage.records(entries.map(\.record.id), bytes: 25_000).count
        )
      }
      #expect((1...3).contains(changes) && (1...3).contains(records))
      var rules = AccessRules()
      rules.answerSize = 25_000
      let service = SyncService(storage: storage, rules: rules, now: { 1000 })
      var (found, cursor, isOpen) = (0, String?.none, true)
      while isOpen, found < 20 {
        let request = SyncRequest(device: "d", pulls: [.init(.everything, cursor: cursor)])
        let page = try #require(
          try await service.sync(space: "s", user: Caller("ann"), request).pages.first)
        #expect(page.changes.count <= 3)
        (found, cursor, isOpen) = (found + page.changes.count, page.cursor, page.more)
      }
      #expect(found == 10 && !isOpen)
    },
    Check("Sharing is kept with the record") { storage in
      var shared = entry(1, "a")
      shared.record.sharing = Audience(users: ["bob"], lists: ["L1"])
      let entries = [shared, entry(2, "b")]
      try await storage.write(space: "s") { try $0.put(entries) }
      #expect(
        try await storage.read(space: "s") { try $0.changes(after: 0, in: .everything, limit: 9) } == entries)
    },
    Check("Members and shared records are found by list, and lists by member") { storage in
      try await storage.write(space: "s") { storage in
        try storage.setMembers(["bob", "cid"], of: "L1", ownedBy: "ann")
        try storage.setMembers(["bob"], of: "L2", ownedBy: "ann")
        try storage.setMembers(["cid", "dan"], of: "L1", ownedBy: "ann")
        try storage.setLists(["L1", "L2"], of: .note("a"))
        try storage.setLists(["L1"], of: .note("b"))
        try storage.setLists(["L2"], of: .note("a"))
      }
      let found = try await storage.read(space: "s") { storage in
        let lists = try ["bob", "cid", "dan"].map { try storage.lists(of: [$0]) }
        let shared = try ["L1", "L2"].map { try storage.records(sharedWith: $0, limit: 9) }
        #expect(try storage.lists(of: ["dan", "bob", "eve"]) == ["L1", "L2"])
        #expect(try storage.lists(of: []).isEmpty)
        return (lists, try storage.members(of: "L1"), shared)
      }
      #expect(found.0 == [["L2"], ["L1"], ["L1"]])
      #expect(found.1 == ["cid", "dan"])
      #expect(found.2 == [[.note("b")], [.note("a")]])
    },
    Check("A user's notices come in order, the last for each record, and move the head") { storage in
      @Sendable func notice(_ position: Int64, _ user: String, _ id: String) -> VisibilityNotice {
        VisibilityNotice(position: position, user: user, record: .note(id))
      }
      try await storage.write(space: "s") { storage in
        try storage.put([notice(1, "bob", "a"), notice(2, "bob", "b"), notice(3, "cid", "a")])
        try storage.put([notice(4, "bob", "a")])
      }
      let found = try await storage.read(space: "s") { storage in
        let bounds: [(Int64, Int?)] = [(0, 9), (0, 1), (2, nil)]
        return (storage.head, try bounds.map { try storage.notices(for: ["bob"], after: $0.0, limit: $0.1) })
      }
      let (last, next) = (notice(4, "bob", "a"), notice(2, "bob", "b"))
      #expect(found.0 == 4)
      #expect(found.1 == [[next, last], [next], [last]])
      let other = notice(3, "cid", "a")
      let cases: [(limit: Int?, expected: [VisibilityNotice])] = [
        (2, [next, other]), (nil, [next, other, last]),
      ]
      for (limit, expected) in cases {
        let both = try await storage.read(space: "s") {
          try $0.notices(for: ["cid", "bob"], after: 1, limit: limit)
        }
        #expect(both == expected)
      }
      #expect(try await storage.read(space: "s") { try $0.notices(for: [], after: 0, limit: nil).isEmpty })
    },
    Check("A record or notice at an earlier position does not move the head back") { storage in
      let heads = try await storage.write(space: "s") { storage in
        try storage.put([entry(4, "a"), entry(2, "b")])
        let first = storage.head
        try storage.put([VisibilityNotice(position: 3, user: "bob", record: .note("a"))])
        let second = storage.head
        try storage.put([entry(1, "c")])
        return [first, second, storage.head]
      }
      #expect(heads == [4, 4, 4])
      #expect(try await storage.read(space: "s") { $0.head } == 4)
    },
    Check("Spaces do not see each other") { storage in
      try await storage.write(space: "s") { storage in
        try storage.put([entry(1, "a")])
        try storage.remember([Outcome(operation: "o", .waiting(on: "x"))], device: "d", at: 0)
      }
      let other = try await storage.write(space: "other") { storage in
        (
          storage.head, try storage.records([.note("a")]).count,
          try storage.outcomes(device: "d", operations: ["o"]).count
        )
      }
      #expect(other == (0, 0, 0))
    },
  ]
}
