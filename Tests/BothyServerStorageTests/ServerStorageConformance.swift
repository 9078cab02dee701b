import BothyStore
import BothySync
import BothySyncService
import Testing

/// The requirements of every storage. Each check gets a storage whose space `s` is new.
struct ServerStorageConformance: Sendable {
  struct Broken: Error {}
  typealias Check = ConformanceCheck<any ServerStorage>

  static func entry(
    _ position: Int64, _ id: String, in container: String = "Note", title: String = "t",
    isDeleted: Bool = false
  ) -> StoredRecord {
    StoredRecord(
      position: position,
      record: ServerRecord(
        id: .note(id), container: container, version: "\(position)", modified: position * 10,
        created: position == 2 ? nil : position, owner: "ann", isDeleted: isDeleted,
        fields: isDeleted ? .empty : FieldsDocument(["title": .string(title), "score": 1])))
  }

  static let checks =
    recordChecks + sharingChecks + transactionChecks + historyChecks + upkeepChecks + uniqueChecks
    + decisionChecks + visibilityChecks + entryChecks + indexChecks + queryChecks + permissionChecks
    + sightChecks
    + secretChecks + sharingRowChecks + listChecks + membershipChecks + leavingChecks

  private static let recordChecks: [Check] = [
    Check("A new space is empty, and writing to it gives it an epoch") { storage in
      #expect(
        try await storage.read(space: "s") { try $0.changes(after: 0, in: .everything, limit: 10).count } == 0
      )
      let epoch = try await storage.write(space: "s") { $0.epoch }
      #expect(!epoch.isEmpty)
      #expect(try await storage.read(space: "s") { $0.epoch } == epoch)
    },
    Check("What is put is read back whole, and moves the head") { storage in
      let entries = [entry(1, "a"), entry(2, "b", in: "x/y"), entry(3, "c", isDeleted: true)]
      try await storage.write(space: "s") { try $0.put(entries) }
      let found = try await storage.read(space: "s") {
        ($0.head, try $0.records([.note("a"), .note("b"), .note("c"), .note("d")]))
      }
      #expect(found.0 == 3)
      #expect(found.1 == Dictionary(uniqueKeysWithValues: entries.map { ($0.record.id, $0) }))
    },
    Check("Records are read in the order of their ids, until they have the wanted bytes") { storage in
      let size = entry(1, "a").record.fields.bytes.count
      try await storage.write(space: "s") { try $0.put([entry(1, "a"), entry(2, "b"), entry(3, "c")]) }
      let cases: [(Int, [String])] = [
        (1, ["c"]), (size, ["c"]), (size + 1, ["c", "a"]), (.max, ["c", "a", "b"]),
      ]
      for (bytes, expected) in cases {
        let ids = ["c", "none", "a", "c", "b"].map(RecordID.note)
        let found = try await storage.read(space: "s") { try $0.records(ids, bytes: bytes) }
        #expect(found.map(\.record.id.id) == expected, "\(bytes)")
      }
    },
    Check("Any number of records and members is stored in one transaction") { storage in
      let entries = (1...203).map { entry($0, "n\($0)", in: "c\($0 % 7)") }
      let members = Set((1...70).map { "user\($0)" })
      let found = try await storage.write(space: "s") { storage in
        try storage.put(entries)
        try storage.setMembers(members, of: "L", ownedBy: "ann")
        try storage.remember(
          (1...90).map { Outcome(operation: "o\($0)", .waiting(on: "x")) }, device: "d", at: 0)
        return (
          try storage.changes(after: 0, in: .everything, limit: 500), try storage.members(of: "L"),
          try storage.outcomes(device: "d", operations: (0...100).map { "o\($0)" }).count
        )
      }
      #expect(found.0 == entries)
      #expect(found.1 == members)
      #expect(found.2 == 90)
    },
    Check("A record that is put again moves to its new position") { storage in
      try await storage.write(space: "s") { try $0.put([entry(1, "a"), entry(2, "b")]) }
      try await storage.write(space: "s") { try $0.put([entry(3, "a", title: "new")]) }
      let changes = try await storage.read(space: "s") {
        try $0.changes(after: 0, in: .everything, limit: 10)
      }
      #expect(changes == [entry(2, "b"), entry(3, "a", title: "new")])
    },
    Check("A transaction that throws leaves nothing") { storage in
      let error = await #expect(throws: (any Error).self) {
        try await storage.write(space: "s") { transaction in
          try transaction.put([entry(1, "a")])
          throw Broken()
        }
      }
      #expect(error is Broken)
      let head = try await storage.read(space: "s") { $0.head }
      #expect(head == 0)
    },
    Check("Changes come in the order of positions, after the one given, within scope and limit") { storage in
      try await storage.write(space: "s") {
        try $0.put([
          entry(1, "a", in: "x"), entry(2, "b", in: "x/y"), entry(3, "c", in: "xy"),
          entry(4, "d", in: "x", isDeleted: true),
        ])
      }
      let found = try await storage.read(space: "s") { storage in
        try [
          storage.changes(after: 1, in: .everything, limit: 2),
          storage.changes(after: 0, in: SyncScope(container: "x"), limit: 9),
          storage.changes(after: 0, in: SyncScope(container: "x", includesChildren: true), limit: 9),
        ].map { $0.map(\.record.id.id) }
      }
      #expect(found == [["b", "c"], ["a", "d"], ["a", "b", "d"]])
    },
    Check("A record that leaves a container is found among its departures, with its last position") {
      storage in
      var moved = entry(2, "a", in: "x")
      moved.leaves = "x/y"
      let entries = [entry(1, "a", in: "x/y"), moved]
      for entry in entries { try await storage.write(space: "s") { try $0.put([entry]) } }
      let found = try await storage.read(space: "s") { storage in
        try [
          (0, SyncScope(container: "x/y")), (0, SyncScope(container: "x", includesChildren: true)),
          (0, SyncScope(container: "x")), (2, SyncScope(container: "x/y")), (0, .everything),
        ].map { try storage.departures(after: $0.0, upTo: 9, from: $0.1, limit: 5) }
      }
      let departure = RecordRemoval(position: 2, id: .note("a"), container: "x/y")
      #expect(found == [[departure], [departure], [], [], []])
    },
    Check("The position of a scope is that of its last change") { storage in
      try await storage.write(space: "s") { try $0.put([entry(1, "a", in: "x"), entry(2, "b", in: "y")]) }
      let positions = try await storage.read(space: "s") { storage in
        try ["x", "y", "z"].map { try storage.position(of: SyncScope(container: $0)) }
      }
      #expect(positions == [1, 2, 0])
    },
    Check("Visiting finds each live record of the scope once") { storage in
      try await storage.write(space: "s") {
        try $0.put([
          entry(1, "a", in: "x"), entry(2, "b", in: "x/y"), entry(3, "c", in: "x", isDeleted: true),
        ])
      }
      let found = try await storage.read(space: "s") { storage in
        var ids: [String] = []
        try storage.forEachRecord(in: SyncScope(container: "x", includesChildren: true)) {
          ids.append($0.record.id.id)
        }
        return ids.sorted()
      }
      #expect(found == ["a", "b"])
    },
    Check("Outcomes are remembered by device, until those before one are forgotten") { storage in
      let outcomes = ["a", "b", "c"].map {
        Outcome(operation: $0, .rejected(Rejection(code: $0, message: "no")))
      }
      try await storage.write(space: "s") { storage in
        try storage.remember(outcomes, device: "d1", at: 1000)
        try storage.remember([outcomes[0]], device: "d2", at: 1000)
        try storage.forget(device: "d1", before: "c", rememberedBefore: 1000)
      }
      let early = try await storage.read(space: "s") {
        try $0.outcomes(device: "d1", operations: ["a", "b", "c"]).count
      }
      #expect(early == 3, "they are as young as that")
      try await storage.write(space: "s") {
        try $0.forget(device: "d1", before: "b", rememberedBefore: 1001)
      }
      let known = try await storage.read(space: "s") { storage in
        try ["d1", "d2", "d3"].map { try storage.outcomes(device: $0, operations: ["a", "b", "c", "z"]) }
      }
      #expect(known.map { $0.keys.sorted() } == [["b", "c"], ["a"], []])
      #expect(known[0]["b"] == outcomes[1].verdict)
    },
    Check("Queries find the live records that match, in order, with limit and offset") { storage in
      try await storage.write(space: "s") {
        try $0.put([
          entry(1, "a", title: "x"), entry(2, "b", title: "y"), entry(3, "c", title: "x"),
          entry(4, "d", title: "x"),
          entry(5, "e", isDeleted: true),
        ])
      }
      let query = AnyQuery(
        "Note", where: .compare(field: "title", .equal, .text("x")),
        order: [SortKey("id", ascending: false)],
        limit: 2, offset: 1)
      for schema in [StoreSchema.notes, nil] {
        let found = try await storage.read(space: "s") { storage in
          (
            try storage.query(query, schema: schema).map(\.record.id.id),
            try storage.count(query, schema: schema)
          )
        }
        #expect(found.0 == ["c", "a"])
        #expect(found.1 == 3)
      }
    },
  ]
}
