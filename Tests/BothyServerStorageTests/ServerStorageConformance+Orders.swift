import BothyStore
import BothySync
import BothySyncService
import Testing

/// The checks of orders by relevance and of texts, and of the elements of lists.
extension ServerStorageConformance {
  static let natural: @Sendable (any ServerStorage) async throws -> Void = { storage in
    let schema = task([FieldSchema("title", .text, optional: true, natural: true)])
    let service = taskService(storage, schema)
    let records = (0..<400).map { number in
      let word = number % 2 == 0 ? "Caf\u{E9}" : "cafe"
      let title: JSONValue = number % 50 == 0 ? .null : .string("\(word) \(number / 3 * 7 % 101)")
      return record(name(number), ["title": title])
    }
    _ = try await service.restore(records, into: "s")
    let type = schema.types[0]
    let all = try records.map { AnyRecord($0, try $0.fields.members(), type) }
    for ascending in [true, false] {
      let order = [SortKey("title", ascending: ascending, natural: true)]
      let query = AnyQuery("Task", order: order, limit: 40)
      let expected = try AnyQuery("Task", order: order).evaluate(over: all, schema: type).map(\.id)
      #expect(try await pages(query, service).flatMap { $0 } == expected)
      let (ids, reads) = try await request(query, storage, schema)
      #expect(ids == Array(expected.prefix(40)))
      #expect(reads.scans == 0 && reads.records <= 192, "\(reads)")
      let scanned = try await storage.read(space: "s") { try $0.query(query, schema: schema) }
      #expect(scanned.map(\.record.id.id) == ids)
    }
    let after = AnyQuery("Task", where: .compareNaturally(field: "title", .greater, "CAFE 98"))
    let expected = try after.evaluate(over: all, schema: type).map(\.id)
    let (ids, reads) = try await request(after, storage, schema)
    #expect(ids == expected && !ids.isEmpty && reads.scans == 0)
  }

  static let earlierWords: @Sendable (any ServerStorage) async throws -> Void = { storage in
    let schema = task([FieldSchema("note", .text, optional: true, fullText: true)])
    let service = taskService(storage, schema)
    let note = "我喜欢北京大学"
    _ = try await service.restore([record("a", ["note": .string(note)])], into: "s")
    try await storage.write(space: "s") { storage in
      let text = #"{"live":{"Task note words":1},"next":2,"version":1}"#
      try storage.note([FieldEntry(index: 1, key: [1] + Array(note.utf8), id: "a")], forgetting: [])
      try storage.setFieldIndexes(FieldIndexState(text: text, position: storage.head))
    }
    while try await service.indexFields(space: "s") {}
    let former = FieldEntryRange(index: 1, from: [0], before: [9])
    #expect(try await storage.read(space: "s") { try $0.entryCounts(in: [former], limit: 99) } == [0])
    let (ids, reads) = try await request(AnyQuery("Task", where: .matches("京大")), storage, schema)
    #expect(ids == ["a"] && reads.scans == 0, "\(reads)")
  }

  static let relevance: @Sendable (any ServerStorage) async throws -> Void = { storage in
    let schema = task([
      FieldSchema("title", .text, optional: true, fullText: true),
      FieldSchema("note", .text, optional: true, fullText: true),
    ])
    let service = taskService(storage, schema)
    let records = (0..<60).map { number in
      let words = (0..<number % 7).map { $0 < number % 3 ? "milk" : "milkman" } + ["day \(number)"]
      let note = number % 4 == 0 ? "Milk" : "tea"
      return record(
        name(number), ["title": .string(words.joined(separator: " ")), "note": .string(note)])
    }
    _ = try await service.restore(records, into: "s")
    let type = schema.types[0]
    let all = try records.map { AnyRecord($0, try $0.fields.members(), type) }
    for (ascending, words) in [(false, "milk"), (true, "milk"), (false, "day* milk"), (false, "")] {
      let order = [SortKey(SortKey.rank, ascending: ascending), SortKey("note")]
      var query = AnyQuery("Task", where: .matches(words), order: order)
      let expected = try query.evaluate(over: all, schema: type).map(\.id)
      query.limit = 7
      let found = try await pages(query, service)
      #expect(found.flatMap { $0 } == expected, "\(words), ascending: \(ascending)")
    }
  }

  static let listElements: @Sendable (any ServerStorage) async throws -> Void = { storage in
    let schema = task([FieldSchema("tags", .json, optional: true)])
    let lists: [JSONValue] = [
      .array([.int(1), .double(2.5), "1"]), .array([.bool(true), .null]),
      .array([.int(9_007_199_254_740_993), .double(-0.5)]),
      .array([.double(9_007_199_254_740_992), .double(1e300)]),
      .array([.double(1_152_921_504_606_846_976), .double(0.1), .array([.int(1)])]), .int(1), "[1]",
      .object(["1": .int(1)]),
    ]
    let records = try await put(lists.map { ["tags": $0] }, of: schema.types[0], in: storage)
    let elements: [FieldValue] = [
      .int(1), .double(1), .double(2.5), .double(-0.5), .double(0.1), .bool(true), .bool(false), .null,
      .text("1"), .int(9_007_199_254_740_993), .double(9_007_199_254_740_992), .double(1e300),
      .double(1_152_921_504_606_846_976), .date(1),
    ]
    for element in elements {
      let condition = ConditionTree.includes(field: "tags", element)
      for query in [AnyQuery("Task", where: condition), AnyQuery("Task", where: .not(condition))] {
        try await check(query, storage, schema, holding: records)
      }
    }
  }

  static let otherKinds: @Sendable (any ServerStorage) async throws -> Void = { storage in
    let kinds: [(name: String, kind: ValueKind, value: FieldValue)] = [
      ("flag", .bool, true), ("count", .int, 1), ("size", .double, 1), ("title", .text, "1"),
      ("due", .date, .date(1)),
    ]
    let place = FieldSchema("at", .coordinate, optional: true)
    let schema = task(kinds.map { FieldSchema($0.name, $0.kind, optional: true) } + [place])
    let values: [JSONValue] = [
      "x", .int(3), .bool(true), "1", .null, .int(1), .array([.int(1)]), ["lat": "1", "lon": .int(1)],
    ]
    let names = kinds.map(\.name) + ["at"]
    let tasks = values.map { value in Dictionary(uniqueKeysWithValues: names.map { ($0, value) }) }
    let records = try await put(tasks, of: schema.types[0], in: storage)
    let service = taskService(storage, schema)
    for (name, _, value) in kinds {
      let conditions: [ConditionTree] = [
        .compare(field: name, .equal, value), .compare(field: name, .greaterOrEqual, value),
        .compare(field: name, .notEqual, .null), .not(.compare(field: name, .less, value)),
      ]
      for condition in conditions {
        let query = AnyQuery("Task", where: condition, order: [SortKey(name)])
        try await check(query, storage, schema, holding: records)
      }
      for ascending in [true, false] {
        let query = AnyQuery("Task", order: [SortKey(name, ascending: ascending)])
        let expected = try query.evaluate(over: records, schema: schema.types[0]).map(\.id)
        var page = query
        page.limit = 2
        let found = try await pages(page, service).flatMap { $0 }
        #expect(found == expected, "\(name), ascending: \(ascending)")
      }
    }
    let somewhere = AnyQuery("Task", where: .compare(field: "at", .notEqual, .null))
    try await check(somewhere, storage, schema, holding: records)
  }
}
