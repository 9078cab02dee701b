import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of visibility and of the separation of spaces.
extension LedgerConformance {
  static let sharingChecks: [Check] = [
    Check("Sharing is kept with the record") { ledger in
      var shared = entry(1, "a")
      shared.record.sharing = Audience(users: ["bob"], lists: ["L1"])
      let entries = [shared, entry(2, "b")]
      try await ledger.write(space: "s") { try $0.put(entries) }
      #expect(
        try await ledger.read(space: "s") { try $0.changes(after: 0, in: .everything, limit: 9) } == entries)
    },
    Check("Members and shared records are found by list, and lists by member") { ledger in
      try await ledger.write(space: "s") { ledger in
        try ledger.setMembers(["bob", "cid"], of: "L1")
        try ledger.setMembers(["bob"], of: "L2")
        try ledger.setMembers(["cid", "dan"], of: "L1")
        try ledger.setLists(["L1", "L2"], of: .note("a"))
        try ledger.setLists(["L1"], of: .note("b"))
        try ledger.setLists(["L2"], of: .note("a"))
      }
      let found = try await ledger.read(space: "s") { ledger in
        let lists = try ["bob", "cid", "dan"].map { try ledger.lists(of: $0) }
        let shared = try ["L1", "L2"].map { try ledger.records(sharedWith: $0) }
        return (lists, try ledger.members(of: "L1"), shared)
      }
      #expect(found.0 == [["L2"], ["L1"], ["L1"]])
      #expect(found.1 == ["cid", "dan"])
      #expect(found.2 == [[.note("b")], [.note("a")]])
    },
    Check("A principal's notices come in order, the last for each record, and move the head") { ledger in
      @Sendable func notice(_ position: Int64, _ principal: String, _ id: String) -> VisibilityNotice {
        VisibilityNotice(position: position, principal: principal, record: .note(id))
      }
      try await ledger.write(space: "s") { ledger in
        try ledger.put([notice(1, "bob", "a"), notice(2, "bob", "b"), notice(3, "cid", "a")])
        try ledger.put([notice(4, "bob", "a")])
      }
      let found = try await ledger.read(space: "s") { ledger in
        let bounds: [(Int64, Int?)] = [(0, 9), (0, 1), (2, nil)]
        return (ledger.head, try bounds.map { try ledger.notices(for: "bob", after: $0.0, limit: $0.1) })
      }
      let (last, next) = (notice(4, "bob", "a"), notice(2, "bob", "b"))
      #expect(found.0 == 4)
      #expect(found.1 == [[next, last], [next], [last]])
    },
    Check("A record or notice at an earlier position does not move the head back") { ledger in
      let heads = try await ledger.write(space: "s") { ledger in
        try ledger.put([entry(4, "a"), entry(2, "b")])
        let first = ledger.head
        try ledger.put([VisibilityNotice(position: 3, principal: "bob", record: .note("a"))])
        let second = ledger.head
        try ledger.put([entry(1, "c")])
        return [first, second, ledger.head]
      }
      #expect(heads == [4, 4, 4])
      #expect(try await ledger.read(space: "s") { $0.head } == 4)
    },
    Check("Spaces do not see each other") { ledger in
      try await ledger.write(space: "s") { ledger in
        try ledger.put([entry(1, "a")])
        try ledger.remember([Outcome(operation: "o", .waiting(on: "x"))], device: "d", at: 0)
      }
      let other = try await ledger.write(space: "other") { ledger in
        (
          ledger.head, try ledger.records([.note("a")]).count,
          try ledger.outcomes(device: "d", operations: ["o"]).count
        )
      }
      #expect(other == (0, 0, 0))
    },
  ]
}
