import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of the entries of indexes, and of their upkeep by the server.
extension ServerStorageConformance {
  static func task(
    version: Int = 1, _ fields: [FieldSchema]? = nil, _ permissions: Permissions? = nil
  ) -> StoreSchema {
    let all =
      fields ?? [
        FieldSchema("due", .date, optional: true, indexed: true),
        FieldSchema("done", .bool, optional: true, indexed: true),
        FieldSchema("title", .text, optional: true, indexed: true),
        FieldSchema("note", .text, optional: true, fullText: true),
        FieldSchema("rank", .int, optional: true),
      ]
    return StoreSchema(version: version, types: [TypeSchema("Task", fields: all, permissions: permissions)])
  }

  static func taskService(_ storage: any ServerStorage, _ schema: StoreSchema?) -> SyncService {
    var rules = AccessRules(schema: schema)
    // A query is counted here, and not timed: the machine may be busy.
    rules.queryTime = .seconds(120)
    return SyncService(storage: storage, rules: rules, now: { 1000 })
  }

  static func record(_ id: String, owner: String? = "ann", _ fields: [String: JSONValue]) -> ServerRecord {
    ServerRecord(
      id: RecordID(type: "Task", id: id), version: "", modified: 1, created: 1, owner: owner,
      fields: FieldsDocument(fields))
  }

  /// Stores tasks `t0000` and so on. Each is due at its number, and done unless the number is a multiple of ten.
  static func fill(_ service: SyncService, _ count: Int, owner: String? = "ann") async throws {
    for start in stride(from: 0, to: count, by: 500) {
      let records = (start..<min(start + 500, count)).map { number in
        record(
          name(number), owner: owner,
          [
            "due": .int(Int64(number)), "done": .bool(number % 10 != 0), "title": .string("t\(number % 7)"),
            "note": .string(number % 100 == 3 ? "Milk and bread \(number)" : "nothing"), "rank": 1,
          ])
      }
      _ = try await service.restore(records, into: "s")
    }
  }

  /// Stores tasks `t0000` and so on with these fields. Returns them as the reference evaluator reads them.
  static func put(
    _ tasks: [[String: JSONValue]], of type: TypeSchema, in storage: any ServerStorage
  ) async throws -> [AnyRecord] {
    let entries = tasks.enumerated().map { number, fields in
      var entry = record(name(number), fields)
      entry.version = "\(number + 1)"
      entry.container = "Task"
      return StoredRecord(position: Int64(number + 1), record: entry)
    }
    try await storage.write(space: "s") { try $0.put(entries) }
    return try entries.map { AnyRecord($0.record, try $0.record.fields.members(), type) }
  }

  /// Checks that a storage answers a query, and counts, as the reference evaluator does over its records.
  static func check(
    _ query: AnyQuery, _ storage: any ServerStorage, _ schema: StoreSchema, holding records: [AnyRecord]
  ) async throws {
    let expected = try query.evaluate(over: records, schema: schema.types[0]).map(\.id)
    let found = try await storage.read(space: "s") {
      (try $0.query(query, schema: schema).map(\.record.id.id), try $0.count(query, schema: schema))
    }
    #expect(found.0 == expected && found.1 == expected.count, "\(query)")
  }

  static func name(_ number: Int) -> String { "t" + number.padded(to: 4) }

  /// Returns the ids of a query, and what reading them cost. No index may change meanwhile.
  static func request(
    _ query: AnyQuery, _ storage: any ServerStorage, _ schema: StoreSchema, by name: String = "ann"
  ) async throws -> (ids: [String], reads: CountingStorage.Reads) {
    let counting = CountingStorage(storage)
    let found = try await taskService(counting, schema).query(space: "s", user: Caller(name), query)
    return (found.map(\.id.id), counting.taken())
  }

  static let firstDue = AnyQuery("Task", order: [SortKey("due")], limit: 2)

  /// Returns the state of the space's indexes.
  private static func state(_ storage: any ServerStorage) async throws -> FieldIndexState {
    try await storage.read(space: "s") { $0.fieldIndexes }
  }

  static let entryChecks: [Check] = [
    Check("Entries are read in both directions and counted, within their range and space") { storage in
      let entries = [
        FieldEntry(index: 1, key: [1], id: "a"), FieldEntry(index: 1, key: [1], id: "b"),
        FieldEntry(index: 1, key: [1, 0], id: "a"), FieldEntry(index: 1, key: [1, 255], id: "é"),
        FieldEntry(index: 1, key: [2], id: "a"), FieldEntry(index: 2, key: [1], id: "z"),
      ]
      try await storage.write(space: "s") { try $0.note(entries.shuffled(), forgetting: []) }
      try await storage.write(space: "s") { try $0.note(Array(entries.prefix(2)), forgetting: []) }
      try await storage.write(space: "other") { try $0.note([entries[0]], forgetting: []) }
      let range = FieldEntryRange(index: 1, from: [1], before: [2])
      let ranges = [range, FieldEntryRange(index: 1, from: [1, 0], before: [1, 1])]
      let (whole, rest, back, counts) = try await storage.read(space: "s") { storage in
        (
          try storage.entries(in: range, after: nil, descending: false, limit: 9),
          try storage.entries(in: range, after: entries[0], descending: false, limit: 2),
          try storage.entries(in: range, after: nil, descending: true, limit: 3),
          try storage.entryCounts(in: ranges, limit: 3) + storage.entryCounts(in: [], limit: 3)
        )
      }
      #expect(whole == Array(entries[0..<4]))
      #expect(rest == Array(entries[1..<3]))
      #expect(back == [entries[3], entries[2], entries[1]])
      #expect(counts == [3, 1])
      #expect(try await storage.read(space: "other") { try $0.entryCounts(in: [range], limit: 9) } == [1])
    },
    Check("An entry is forgotten by its index, key and id together") { storage in
      let entries = (0..<70).map { FieldEntry(index: 1, key: [1, UInt8($0)], id: "a") }
      let gone = (0..<69).map { FieldEntry(index: 1, key: [1, UInt8($0)], id: "a") }
      try await storage.write(space: "s") { storage in
        try storage.note(entries, forgetting: [])
        try storage.note(
          [],
          forgetting: gone + [
            FieldEntry(index: 2, key: [1, 69], id: "a"), FieldEntry(index: 1, key: [1, 69], id: "b"),
          ])
      }
      let all = FieldEntryRange(index: 1, from: [0], before: [9])
      let left = try await storage.read(space: "s") {
        try $0.entries(in: all, after: nil, descending: false, limit: 99)
      }
      #expect(left == [entries[69]])
    },
    Check("The position of indexes moves with kept changes, and stays behind others") { storage in
      try await storage.write(space: "s") { storage in
        try storage.setFieldIndexes(FieldIndexState(text: "text", position: 0))
        try storage.put([entry(1, "a")], keepsIndexes: true)
        #expect(storage.fieldIndexes == FieldIndexState(text: "text", position: 1))
        try storage.put([VisibilityNotice(position: 2, user: "ann", record: .note("a"))])
      }
      #expect(try await state(storage) == FieldIndexState(text: "text", position: 2))
      try await storage.write(space: "s") { try $0.put([entry($0.head + 1, "b")]) }
      let behind = try await state(storage)
      try await storage.write(space: "s") { try $0.put([entry($0.head + 1, "c")], keepsIndexes: true) }
      #expect(try await state(storage) == behind)
      #expect(try await storage.read(space: "s") { $0.head } > behind.position)
    },
    Check("Writes that share a commit keep the position of indexes") { storage in
      try await storage.write(space: "s") { storage in
        try storage.setFieldIndexes(FieldIndexState(text: "text", position: 0))
      }
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        for number in 0..<40 {
          tasks.addTask {
            try await storage.write(space: "s") { storage in
              try storage.put([entry(storage.head + 1, "n\(number)")], keepsIndexes: true)
              if number % 5 == 0 { throw Broken() }
            }
          }
        }
        while let result = await tasks.nextResult() {
          if case .failure(let error) = result, !(error is Broken) { throw error }
        }
      }
      let (head, state) = try await storage.read(space: "s") { ($0.head, $0.fieldIndexes) }
      #expect(head >= 32 && state == FieldIndexState(text: "text", position: head))
    },
    Check("A removed space leaves no entry and no index") { storage in
      try await fill(taskService(storage, task()), 3)
      #expect(try await state(storage).text != nil)
      try await storage.upkeep?.remove(space: "s")
      #expect(try await state(storage) == FieldIndexState())
      let all = (1...9).map { FieldEntryRange(index: $0, from: [0], before: [9]) }
      let left = try await storage.read(space: "s") { try $0.entryCounts(in: all, limit: 9) }
      #expect(left.allSatisfy { $0 == 0 })
    },
  ]

  static let indexChecks: [Check] = [
    Check("A new space has its indexes from the first write on") { storage in
      try await fill(taskService(storage, task()), 300)
      let (ids, reads) = try await request(firstDue, storage, task())
      #expect(ids == ["t0000", "t0001"] && reads.scans == 0 && reads.records <= 64)
      #expect(try await taskService(storage, task()).indexFields(space: "s") == false)
    },
    Check("A new index is built in steps, and queries are right before, between and after") { storage in
      let none = task([FieldSchema("due", .date, optional: true)])
      let some = task([FieldSchema("due", .date, optional: true, indexed: true)])
      try await fill(taskService(storage, nil), 1200)
      #expect(try await request(firstDue, storage, none).reads.scans == 1)
      #expect(try await taskService(storage, some).indexFields(space: "s"))
      let during = try await storage.read(space: "s") { storage in
        var ids: [String] = []
        try storage.select(firstDue, schema: some) {
          ids.append($0.record.id.id)
          return true
        }
        return ids
      }
      #expect(during == ["t0000", "t0001"])
      _ = try await taskService(storage, some).restore([record("a", ["due": -1])], into: "s")
      #expect(try await taskService(storage, some).indexFields(space: "s") == false)
      let (ids, reads) = try await request(firstDue, storage, some)
      #expect(ids == ["a", "t0000"] && reads.scans == 0 && reads.records <= 64)
    },
    Check("A query goes on with a missing index, and so does upkeep") { storage in
      try await fill(taskService(storage, nil), 20)
      #expect(try await request(firstDue, storage, task()).reads.scans == 1)
      #expect(try await request(firstDue, storage, task()).reads.scans == 0)
      let more = task([FieldSchema("rank", .int, optional: true, indexed: true)])
      guard storage.upkeep != nil else { return }
      _ = try await taskService(storage, more).upkeep(space: "s", RetentionPolicy(), collectsBlobs: false)
      let ranked = AnyQuery("Task", order: [SortKey("rank")], limit: 1)
      #expect(try await request(ranked, storage, more).reads.scans == 0)
    },
    Check("A server with a schema without an index keeps the entries of others") { storage in
      try await fill(taskService(storage, task()), 100)
      let other = taskService(storage, task([FieldSchema("due", .date, optional: true)]))
      _ = try await other.restore([record("t0000", ["due": 500]), record("new", ["due": -5])], into: "s")
      let (ids, reads) = try await request(firstDue, storage, task())
      #expect(ids == ["new", "t0001"] && reads.scans == 0 && reads.records <= 64)
      let (head, state) = try await storage.read(space: "s") { ($0.head, $0.fieldIndexes) }
      #expect(state.position == head)
    },
    Check("An index that a newer schema lacks is dropped with its entries") { storage in
      try await fill(taskService(storage, task()), 30)
      let before = try await state(storage).text
      let newer = taskService(
        storage, task(version: 2, [FieldSchema("due", .date, optional: true, indexed: true)]))
      while try await newer.indexFields(space: "s") {}
      let all = (1...9).map { FieldEntryRange(index: $0, from: [0], before: [9]) }
      let counts = try await storage.read(space: "s") { try $0.entryCounts(in: all, limit: 99) }
      #expect(counts.filter { $0 > 0 } == [30])
      let after = try await state(storage).text
      #expect(after != before)
      // A server with the former schema changes nothing.
      #expect(try await taskService(storage, task()).indexFields(space: "s") == false)
      #expect(try await state(storage).text == after)
      #expect(try await request(firstDue, storage, task()).ids == ["t0000", "t0001"])
    },
    Check("A state of indexes by a newer server is left as it is") { storage in
      try await fill(taskService(storage, task()), 5)
      let newer = FieldIndexState(text: #"{"form":2}"#, position: 5)
      try await storage.write(space: "s") { try $0.setFieldIndexes(newer) }
      _ = try await taskService(storage, task()).restore([record("a", ["due": -1])], into: "s")
      #expect(try await taskService(storage, task()).indexFields(space: "s") == false)
      #expect(try await state(storage) == newer)
      #expect(try await request(firstDue, storage, task()).ids == ["a", "t0000"])
    },
  ]
}
