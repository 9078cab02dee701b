import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of transactions: order, snapshots and joint commits.
extension ServerStorageConformance {
  static let transactionChecks: [Check] = [
    Check("Writes at the same time each get the next positions, and readers never see a gap") { storage in
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for writer in 0..<8 {
          tasks.addTask {
            for number in 0..<10 {
              try await storage.write(space: "s") { transaction in
                let next = transaction.head + 1
                try transaction.put([
                  entry(next, "\(writer)-\(number)a"), entry(next + 1, "\(writer)-\(number)b"),
                ])
              }
            }
          }
        }
        tasks.addTask {
          var seen: Int64 = 0
          while seen < 160 {
            let (head, found) = try await storage.read(space: "s") { storage in
              (storage.head, try storage.changes(after: 0, in: .everything, limit: 1000).map(\.position))
            }
            #expect(found == Array(1..<(head + 1)), "all up to the head, none beyond")
            #expect(head % 2 == 0, "both of a transaction or none")
            #expect(head >= seen)
            seen = head
            await Task.yield()
          }
        }
        try await tasks.waitForAll()
      }
    },
    Check("A write that fails does not hurt those that share its commit") { storage in
      let results = await withTaskGroup(of: (Int, Bool).self) { tasks in
        for number in 0..<40 {
          tasks.addTask {
            do {
              try await storage.write(space: "s") { transaction in
                try transaction.put([entry(transaction.head + 1, "n\(number)")])
                if number % 4 == 0 {
                  _ = try transaction.records([.note("n\(number)")])
                  throw Broken()
                }
              }
              return (number, true)
            } catch {
              #expect(error is Broken)
              return (number, false)
            }
          }
        }
        return await tasks.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
      }
      for number in 0..<40 { #expect(results[number] == (number % 4 != 0)) }
      let (head, found) = try await storage.read(space: "s") { storage in
        (storage.head, try storage.changes(after: 0, in: .everything, limit: 100))
      }
      #expect(head == 30)
      #expect(found.map(\.position) == Array(1...30))
      #expect(Set(found.map(\.record.id.id)) == Set((0..<40).filter { $0 % 4 != 0 }.map { "n\($0)" }))
    },
    Check("A transaction reads what it has written") { storage in
      let found = try await storage.write(space: "s") { storage in
        try storage.put([entry(1, "a"), entry(2, "b", in: "x")])
        try storage.put([entry(3, "a", title: "again")])
        try storage.remember([Outcome(operation: "o", .waiting(on: "p"))], device: "d", at: 1)
        return (
          storage.head, try storage.changes(after: 0, in: .everything, limit: 9),
          try storage.outcomes(device: "d", operations: ["o"]).count,
          try storage.query(AnyQuery("Note", where: .compare(field: "title", .equal, "again")), schema: nil)
        )
      }
      #expect(found.0 == 3)
      #expect(found.1 == [entry(2, "b", in: "x"), entry(3, "a", title: "again")])
      #expect(found.2 == 1)
      #expect(found.3 == [entry(3, "a", title: "again")])
    },
    Check("A read sees one state, whatever is written meanwhile") { storage in
      try await storage.write(space: "s") { try $0.put((1...1200).map { entry($0, "r\($0)") }) }
      async let writing: Void = storage.write(space: "s") { transaction in
        try transaction.put((1...1200).map { entry(1200 + $0, "r\($0)", title: "later") })
      }
      let (counts, visited) = try await storage.read(space: "s") { storage in
        var titles: Set<[UInt8]> = []
        var ids: [String] = []
        try storage.forEachRecord(in: .everything) {
          titles.insert($0.record.fields.bytes)
          ids.append($0.record.id.id)
        }
        let head = storage.head
        let count = try storage.count(AnyQuery("Note"), schema: nil)
        return ((titles.count, head == 1200 || head == 2400, count), ids)
      }
      try await writing
      #expect(counts == (1, true, 1200))
      let all = (1...1200).map { "r\($0)" }
      #expect(visited.sorted() == all.sorted(), "each once, though they are read in pieces")
    },
    Check("Several states of a record in one transaction leave the last") { storage in
      try await storage.write(space: "s") { storage in
        try storage.put([entry(1, "a", title: "first"), entry(2, "a", title: "second")])
      }
      let found = try await storage.read(space: "s") { try $0.changes(after: 0, in: .everything, limit: 9) }
      #expect(found == [entry(2, "a", title: "second")])
    },
    Check("A new epoch lets positions jump; spaces are listed by name") { storage in
      for space in ["s", "b", "é", "B"] {
        try await storage.write(space: space) { try $0.put([entry(1, "a")]) }
      }
      let before = try await storage.read(space: "s") { $0.epoch }
      let storage = try #require(storage as? any ServerMaintenance)
      try await storage.startEpoch(space: "s")
      let after = try await storage.read(space: "s") { ($0.epoch, $0.head) }
      #expect(after.0 != before && !after.0.isEmpty)
      #expect(after.1 == 1 + 4_294_967_296)
      #expect(try await storage.read(space: "b") { $0.head } == 1)
      #expect(try await storage.spaces() == ["B", "b", "s", "é"])
      try await storage.check()
    },
    Check("Spaces whose names only look alike stay apart when they are written at once") { storage in
      let spaces = ["caf\u{E9}", "cafe\u{301}"]
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for number in 0..<60 {
          tasks.addTask {
            try await storage.write(space: spaces[number % 2]) {
              try $0.put([entry($0.head + 1, "\(number % 2)-\(number)")])
            }
          }
        }
        try await tasks.waitForAll()
      }
      for (index, space) in spaces.enumerated() {
        let found = try await storage.read(space: space) {
          try $0.changes(after: 0, in: .everything, limit: 99).map(\.record.id.id)
        }
        #expect(found.count == 30 && found.allSatisfy { $0.hasPrefix("\(index)-") })
      }
    },
    Check("Containers whose paths only look alike are counted and left each on its own") { storage in
      let (composed, marked) = ("k/caf\u{E9}", "k/cafe\u{301}")
      try await storage.write(space: "s") {
        try $0.put([
          entry(1, "a", in: marked), entry(2, "b", in: composed), entry(3, "c", in: composed),
        ])
      }
      let service = SyncService(storage: storage, rules: AccessRules(schema: nil), now: { 1000 })
      let ann = Caller("ann")
      @Sendable func containers() async throws -> [[UInt8]: Int] {
        let found = try await service.containers(space: "s", user: ann, .everything)
        return Dictionary(found.map { (Array($0.container.utf8), $0.count) }, uniquingKeysWith: +)
      }
      #expect(try await containers() == [Array(marked.utf8): 1, Array(composed.utf8): 2])
      let move = SyncOperation(
        id: "move", kind: .update, record: .note("c"), container: marked, base: "3", fields: [:])
      #expect(try await service.perform(space: "s", user: ann, move).isApplied)
      #expect(try await containers() == [Array(marked.utf8): 2, Array(composed.utf8): 1])
      let left = try await storage.read(space: "s") {
        try $0.departures(after: 3, upTo: 4, from: SyncScope(container: composed), limit: 9)
      }
      #expect(left.map(\.id) == [.note("c")])
      for (scope, isInside) in [(composed, false), (marked, true)] {
        let pull = SyncRequest(device: "d", pulls: [.init(SyncScope(container: scope))])
        let page = try await service.sync(space: "s", user: ann, pull).pages.first
        #expect(page?.changes.contains { $0.id == .note("c") } == isInside)
      }
    },
    Check("Compaction forgets tombstones, departures and notices up to a position") { storage in
      var moved = entry(3, "c", in: "y")
      moved.leaves = "x"
      let entries = [entry(1, "a"), entry(2, "b", isDeleted: true), moved, entry(5, "d", isDeleted: true)]
      try await storage.write(space: "s") { storage in
        try storage.put(entries)
        try storage.put([VisibilityNotice(position: 4, user: "bob", record: .note("a"))])
      }
      try await #require(storage as? any ServerMaintenance).compact(space: "s", upTo: 4)
      let found = try await storage.read(space: "s") { storage in
        (
          storage.floor, try storage.changes(after: 0, in: .everything, limit: 9).map(\.record.id.id),
          try storage.departures(after: 0, upTo: 9, from: SyncScope(container: "x"), limit: 9).count,
          try storage.notices(for: ["bob"], after: 0, limit: nil).count
        )
      }
      #expect(found == (4, ["a", "c", "d"], 0, 0))
    },
  ]

  static let historyChecks: [Check] = [
    Check("History is told newest first, by scope, record and page") { storage in
      @Sendable func change(_ position: Int64, _ id: String, _ container: String) -> HistoryEntry {
        HistoryEntry(
          position: position, kind: position == 1 ? .insert : .update, record: .note(id),
          container: container,
          movedFrom: position == 3 ? "x" : nil, user: position == 2 ? nil : "ann", time: position * 100,
          fields: ["score", "title"])
      }
      let entries = [change(1, "a", "x"), change(2, "b", "x/y"), change(3, "a", "z"), change(4, "b", "x/y")]
      try await storage.write(space: "s") { try $0.put(entries, keeping: 100) }
      let found = try await storage.read(space: "s") { storage in
        try [
          HistoryQuery(), HistoryQuery(scope: SyncScope(container: "x", includesChildren: true)),
          HistoryQuery(record: .note("a")), HistoryQuery(before: 4, limit: 2),
          HistoryQuery(scope: SyncScope(container: "none")),
        ].map { try storage.history($0) }
      }
      #expect(found[0] == entries.reversed())
      #expect(found.dropFirst().map { $0.map(\.position) } == [[4, 2, 1], [3, 1], [3, 2], []])
    },
    Check("History after a position is told oldest first, up to a limit") { storage in
      let entries = [Int64](1...4).map {
        HistoryEntry(
          position: $0 * 2, kind: .insert, record: .note("n\($0)"), container: "Note", user: "ann",
          time: $0)
      }
      try await storage.write(space: "s") { try $0.put(entries, keeping: 100) }
      let found = try await storage.read(space: "s") { storage in
        try [(0, 9), (2, 2), (7, 9), (8, 9)].map { try storage.history(after: $0.0, limit: $0.1) }
      }
      #expect(found == [entries, Array(entries[1...2]), [entries[3]], []])
    },
    Check("History beyond the number to keep is dropped now and then") { storage in
      try await storage.write(space: "s") { storage in
        for position in Int64(1)...600 {
          let entry = HistoryEntry(
            position: position, kind: .update, record: .note("a"), container: "Note", time: position)
          try storage.put([entry], keeping: 50)
        }
      }
      let kept = try await storage.read(space: "s") {
        try $0.history(HistoryQuery(limit: 1000)).map(\.position)
      }
      #expect(kept.first == 600)
      #expect(kept.count >= 50 && kept.count < 200)
    },
    Check("With a history of no changes, those of before are dropped now and then") { storage in
      func change(_ position: Int64) -> HistoryEntry {
        HistoryEntry(
          position: position, kind: .update, record: .note("a"), container: "Note", time: position)
      }
      func kept() async throws -> [Int64] {
        try await storage.read(space: "s") { try $0.history(HistoryQuery()).map(\.position) }
      }
      let (first, changes) = (change(1), (Int64(2)...520).map { change($0) })
      try await storage.write(space: "s") { try $0.put([first], keeping: 50) }
      #expect(try await kept() == [1])
      try await storage.write(space: "s") { try $0.put(changes, keeping: 0) }
      #expect(try await kept().isEmpty)
    },
  ]
}

extension StoreSchema {
  static let notes = StoreSchema(
    types: [
      TypeSchema("Note", fields: [FieldSchema("title", .text), FieldSchema("score", .int, optional: true)])
    ])
}

extension RecordID {
  static func note(_ id: String) -> RecordID { RecordID(type: "Note", id: id) }
}
