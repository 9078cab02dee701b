import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of the cost of queries by indexes, of their pages, and of full text.
extension ServerStorageConformance {
  /// Follows the cursors of a query. Calls `between` after each page.
  static func pages(
    _ query: AnyQuery, _ service: SyncService, by name: String = "ann",
    between: (Int) async throws -> Void = { _ in }
  ) async throws -> [[String]] {
    var pages: [[String]] = []
    var cursor: String?
    repeat {
      let page = try await service.queryPage(
        space: "s", user: Caller(name), query, after: cursor)
      pages.append(page.records.map(\.id.id))
      cursor = page.next
      try await between(pages.count)
    } while cursor != nil && pages.count < 1000
    return pages
  }

  static let queryChecks: [Check] = [
    Check("Large records are read in pieces, and found in their order") { storage in
      let schema = task([
        FieldSchema("done", .bool, optional: true, indexed: true), FieldSchema("rank", .int, optional: true),
        FieldSchema("body", .text, optional: true),
      ])
      let service = taskService(storage, schema)
      let body = JSONValue.string(String(repeating: "x", count: 900_000))
      let ranks = (0..<24).map { $0 * 7 % 24 }
      for (number, rank) in ranks.enumerated() {
        let fields: [String: JSONValue] = ["done": true, "rank": .int(Int64(rank)), "body": body]
        _ = try await service.restore([record(name(number), fields)], into: "s")
      }
      let expected = ranks.indices.sorted { ranks[$0] < ranks[$1] }.map(name)
      let conditions: [ConditionTree] = [
        .compare(field: "done", .equal, .bool(true)),
        .oneOf(field: "id", ranks.indices.map { .text(name($0)) }),
      ]
      for condition in conditions {
        let query = AnyQuery("Task", where: condition, order: [SortKey("rank")])
        let (ids, reads) = try await request(query, storage, schema)
        #expect(ids == Array(expected.prefix(ids.count)) && ids.count >= 9)
        #expect(reads.scans == 0 && reads.largest < 6_000_000, "\(reads)")
        let found = try await service.query(space: "s", user: Caller("ann"), query)
        #expect(found.allSatisfy { $0.fields.bytes.count > 900_000 })
        #expect(try await service.count(space: "s", user: Caller("ann"), query) == 24)
      }
    },
    Check("A query by an indexed condition or order reads what it returns") { storage in
      try await fill(taskService(storage, task()), 2000)
      let due = ConditionTree.compare(field: "due", .greaterOrEqual, .date(1990))
      let open = ConditionTree.compare(field: "done", .equal, .bool(false))
      let cases: [(AnyQuery, count: Int, first: String)] = [
        (AnyQuery("Task", where: due), 10, "t1990"),
        (AnyQuery("Task", where: due, order: [SortKey("due", ascending: false)]), 10, "t1999"),
        (AnyQuery("Task", order: [SortKey("due", ascending: false)], limit: 5), 5, "t1999"),
        (AnyQuery("Task", where: due, order: [SortKey("rank")], limit: 5), 5, "t1990"),
        (AnyQuery("Task", where: .and([open, due])), 1, "t1990"),
        (AnyQuery("Task", where: open, limit: 3), 3, "t0000"),
        (AnyQuery("Task", where: .compare(field: "due", .equal, .date(7))), 1, "t0007"),
        (AnyQuery("Task", where: .oneOf(field: "due", [.date(9), .date(3), .date(3)])), 2, "t0003"),
        (AnyQuery("Task", where: .matches("bread mil")), 20, "t0003"),
        (AnyQuery("Task", where: .matches("1703")), 1, "t1703"),
        (AnyQuery("Task", where: .none), 0, ""),
        (
          AnyQuery(
            "Task", where: .oneOf(field: "id", ["t0004", "t0002", "none", "t0004"]),
            order: [SortKey("rank"), SortKey("due", ascending: false)]), 2, "t0004"
        ),
      ]
      for (query, count, first) in cases {
        let (ids, reads) = try await request(query, storage, task())
        #expect(ids.count == count && ids.first ?? "" == first, "\(query)")
        #expect(reads.scans == 0 && reads.records <= 64, "\(query): \(reads)")
      }
      let counting = CountingStorage(storage)
      let count = try await taskService(counting, task()).count(
        space: "s", user: Caller("ann"), AnyQuery("Task", where: due))
      #expect(count == 10 && counting.taken().scans == 0)
    },
    Check("A walk that finds little is finished by a scan") { storage in
      try await fill(taskService(storage, task()), 6000)
      let query = AnyQuery(
        "Task", where: .contains(field: "note", "5903", ignoringCase: false), order: [SortKey("due")],
        limit: 2)
      let (ids, reads) = try await request(query, storage, task())
      #expect(ids == ["t5903"] && reads.scans == 1 && reads.records < 5000)
    },
    Check("The last page costs what the first does") { storage in
      try await fill(taskService(storage, task()), 1500)
      for order in [SortKey("due"), SortKey("due", ascending: false), SortKey("done", ascending: false)] {
        let counting = CountingStorage(storage)
        var most = CountingStorage.Reads()
        let found = try await pages(
          AnyQuery("Task", order: [order], limit: 100), taskService(counting, task())
        ) { _ in
          let reads = counting.taken()
          most.records = max(most.records, reads.records)
          most.entries = max(most.entries, reads.entries)
          most.scans = max(most.scans, reads.scans)
        }
        #expect(found.count == 15 && Set(found.flatMap { $0 }).count == 1500)
        #expect(most.records <= 192 && most.entries <= 512 && most.scans == 0, "\(order): \(most)")
      }
    },
    Check("Pages have each unchanged record once while others come, go and move", pagesWhileChanging),
    Check("Pages and counts leave out what the user may not see") { storage in
      let schema = task(nil, Permissions(read: .owner))
      let service = taskService(storage, schema)
      try await fill(service, 60)
      _ = try await service.restore(
        (0..<5).map { record("b\($0)", owner: "bob", ["due": .int(Int64($0 * 10)), "note": "bread"]) },
        into: "s")
      let found = try await pages(
        AnyQuery("Task", order: [SortKey("due")], limit: 2), service, by: "bob")
      #expect(found == [["b0", "b1"], ["b2", "b3"], ["b4"]])
      let words = AnyQuery("Task", where: .matches("bread"))
      #expect(try await request(words, storage, schema, by: "bob").ids == ["b0", "b1", "b2", "b3", "b4"])
      #expect(try await service.count(space: "s", user: Caller("bob"), words) == 5)
      #expect(try await request(words, storage, schema, by: "eve").ids.isEmpty)
      let named = AnyQuery("Task", where: .oneOf(field: "id", ["t0000", "b0"]))
      #expect(try await request(named, storage, schema, by: "bob").ids == ["b0"])
      #expect(try await service.count(space: "s", user: Caller("bob"), named) == 1)
    },
    Check("A cursor of another query or of no server is refused") { storage in
      let service = taskService(storage, task())
      try await fill(service, 9)
      let query = AnyQuery("Task", order: [SortKey("due")], limit: 4)
      let first = try await service.queryPage(space: "s", user: Caller("ann"), query)
      let cursor = try #require(first.next)
      var other = query
      other.order = [SortKey("title")]
      var filtered = query
      filtered.filter = .compare(field: "done", .equal, .bool(true))
      for (query, token) in [
        (other, cursor), (filtered, cursor), (query, "q1.e30="), (query, "q0" + cursor.dropFirst(2)),
        (query, ""),
        (query, String(repeating: "x", count: 100_000)),
      ] {
        let error = await #expect(throws: SyncServiceError.self) {
          _ = try await service.queryPage(space: "s", user: Caller("ann"), query, after: token)
        }
        #expect(error?.code == .badCursor)
      }
      // The limit, and the record of the cursor, may change.
      _ = try await service.restore([record("t0003", ["due": 99])], into: "s")
      other = query
      other.limit = 2
      let next = try await service.queryPage(space: "s", user: Caller("ann"), other, after: cursor)
      #expect(next.records.map(\.id.id) == ["t0004", "t0005"])
    },
    Check("Texts with a zero character are found whole, also in lists and orders", zeroCharacters),
    Check("A natural order is read by its index, page by page", natural),
    Check("The words of an earlier server are replaced by parts of words", earlierWords),
    Check("Pages by relevance have the order of the evaluator", relevance),
    Check("Lists have numbers, truth values and null by their value", listElements),
    Check("Values of another kind than that of their field count as null", otherKinds),
    Check("Full text finds what the words of the device's index find", fullText),
    Check("Places are found by an index, across the antimeridian and around a pole") { storage in
      let schema = task([FieldSchema("at", .coordinate, optional: true, indexed: true)])
      let service = taskService(storage, schema)
      let places = [(0.5, 0.5), (0.5, 180), (0.5, -180), (0.4, -179.9), (89.99, 10), (90, -170), (-90, 0)]
      let others = (0..<200).map { (-60 + Double($0) / 10, 40.0) }
      _ = try await service.restore(
        (places + others).enumerated().map { number, place in
          record(name(number), ["at": ["lat": .double(place.0), "lon": .double(place.1)]])
        }, into: "s")
      let cases: [(ConditionTree, [Int])] = [
        (
          .near(field: "at", centre: Coordinate(latitude: 0.5, longitude: 179.95), metres: 30_000), [1, 2, 3]
        ),
        (.near(field: "at", centre: Coordinate(latitude: 90, longitude: 0), metres: 5000), [4, 5]),
        (.inside(field: "at", GeoBox(west: 0, south: 0, east: 1, north: 1)), [0]),
        (.inside(field: "at", GeoBox(west: 180, south: 0, east: 180, north: 1)), [1, 2]),
        (.compare(field: "at", .equal, .coordinate(Coordinate(latitude: -90, longitude: 0))), [6]),
      ]
      for (condition, expected) in cases {
        let (ids, reads) = try await request(AnyQuery("Task", where: condition), storage, schema)
        #expect(ids == expected.map(name), "\(condition)")
        #expect(reads.scans == 0 && reads.records <= 20, "\(condition): \(reads)")
      }
      let far = AnyQuery(
        "Task",
        order: [SortKey("at", distanceFrom: Coordinate(latitude: 0.5, longitude: 179.97))], limit: 2)
      let (ids, reads) = try await request(far, storage, schema)
      #expect(ids.sorted() == ["t0001", "t0002"] && reads.scans == 0 && reads.records <= 20, "\(reads)")
    },
  ]

  private static let pagesWhileChanging: @Sendable (any ServerStorage) async throws -> Void = { storage in
    for isIndexed in [true, false] {
      let due = FieldSchema("due", .date, optional: true, indexed: isIndexed)
      try await fill(taskService(storage, nil), 100)
      let service = taskService(storage, task(version: isIndexed ? 1 : 2, [due]))
      let found = try await pages(AnyQuery("Task", order: [SortKey("due")], limit: 10), service) { page in
        _ = try await service.restore(
          [
            record("t0000", ["due": .int(Int64(1000 + page))]),
            record("before\(page)", ["due": -1]), record("after\(page)", ["due": .int(Int64(2000 + page))]),
            // The record of the cursor.
            ServerRecord(
              id: RecordID(type: "Task", id: name(page * 10 - 1)), version: "", modified: 2, isDeleted: true),
          ], into: "s")
      }
      let all = found.flatMap { $0 }
      let unchanged = (1..<100).map(name)
      #expect(all.filter(unchanged.contains) == unchanged, "indexed: \(isIndexed)")
      #expect(!all.contains { $0.hasPrefix("before") } && all.contains("after1"))
      try await storage.upkeep?.remove(space: "s")
    }
  }

  private static let zeroCharacters: @Sendable (any ServerStorage) async throws -> Void = { storage in
    let schema = task([
      FieldSchema("title", .text, optional: true), FieldSchema("tags", .json, optional: true),
    ])
    let texts = ["a", "a\u{0}b", "A\u{0}B", "a\\u0000", "\u{0}", "", "a\u{0}", "b\\\u{0}c", "ab"]
    let tasks = texts.map { text -> [String: JSONValue] in
      ["title": .string(text), "tags": ["x", .string(text), .string(text + "\u{0}y")]]
    }
    let records = try await put(tasks, of: schema.types[0], in: storage)
    let many = (0..<600).map { FieldValue.text("none\($0)\u{0}") } + [.text("a\u{0}b")]
    let conditions: [ConditionTree] =
      texts.flatMap { text -> [ConditionTree] in
        [
          .compare(field: "title", .equal, .text(text)), .compare(field: "title", .notEqual, .text(text)),
          .compare(field: "title", .greater, .text(text)), .includes(field: "tags", .text(text)),
          .contains(field: "title", text, ignoringCase: false),
          .contains(field: "title", text, ignoringCase: true),
          .beginsWith(field: "title", text, ignoringCase: false),
          .not(.beginsWith(field: "title", text, ignoringCase: true)),
        ]
      } + [
        .oneOf(field: "title", ["a", "\u{0}"]), .oneOf(field: "title", many), .includes(field: "tags", "y"),
        .contains(field: "title", "b", ignoringCase: false),
      ]
    for condition in conditions {
      let query = AnyQuery("Task", where: condition, order: [SortKey("title")])
      try await check(query, storage, schema, holding: records)
    }
  }

  private static let fullText: @Sendable (any ServerStorage) async throws -> Void = { storage in
    let schema = task([
      FieldSchema("title", .text, optional: true, fullText: true),
      FieldSchema("note", .text, optional: true, fullText: true),
    ])
    let service = taskService(storage, schema)
    let many = (0..<2000).map { "w\($0)" }.joined(separator: " ")
    let long = String(repeating: "é", count: 300)
    let texts = [
      ("Straße nach Köln", "über München"), ("STRASSE", "koln"), ("e\u{301}te\u{301}", ""),
      ("", "naïve résumé"),
      (many, "milk"), (long + " a", "b"), (long + "x", "b"), ("日本語 テキスト", "word\u{0}other"), ("x-ray", "42"),
      ("\\u0000 \u{0}", "a\u{0}\u{0}last"), ("高い東京タワー", "iPhone北京大学"),
      (String(repeating: "東西", count: 400) + "京", ""),
    ]
    _ = try await service.restore(
      texts.enumerated().map { number, text in
        record(name(number), ["title": .string(text.0), "note": .string(text.1)])
      }, into: "s")
    let type = schema.types[0]
    let records = try await storage.read(space: "s") { storage in
      try storage.changes(after: 0, in: .everything, limit: 99).map {
        AnyRecord($0.record, try $0.record.fields.members(), type)
      }
    }
    let searches = [
      "strasse", "STRASSE koln", "Kol", "nach mun", "ete", "été", "naive res", "w17", "w1999 mil", "w2000",
      "w",
      long, long + "x", long + " b", "日本", "other", "word", "last", "u0000", "ray 4", "x ray", "", "-",
      "\" OR *",
      "milk NOT w1", "kol* strasse", "mun* na* uber", "w19* milk", "京", "京タワ", "京大 東京", "iphone 京大学",
      "西東西東", "西京", "京西", "kol* strass kol", "kol* strasse kol",
    ]
    let conditions = searches.flatMap { text -> [ConditionTree] in
      [.matches(text), .matches(text, in: ["title"]), .matches(text, in: ["note"])]
    }
    for condition in conditions {
      let query = AnyQuery("Task", where: condition)
      let expected = try query.evaluate(over: records, schema: type).map(\.id)
      let (ids, _) = try await request(query, storage, schema)
      #expect(ids == expected, "\(condition)")
      let scanned = try await storage.read(space: "s") { try $0.query(query, schema: schema) }
      #expect(scanned.map(\.record.id.id) == expected, "\(condition), scanned")
    }
  }
}
