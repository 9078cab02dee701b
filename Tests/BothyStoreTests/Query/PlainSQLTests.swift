import BothyStore
import BothyTestSupport
import GRDB
import Testing

import struct Foundation.Data

/// Queries beside SQL that this file writes by itself, on a connection that knows nothing of the store.
@Suite(.timeLimit(.minutes(5))) struct PlainSQLTests {
  /// Opens a store with records of a random type, and a connection of its own to the same file.
  private func open(
    _ world: inout RandomQueries, in folder: TemporaryFolder
  ) throws -> (store: LocalStore, sqlite: DatabaseQueue) {
    let records = world.records(40)
    let store = try LocalStore(at: folder.database, schema: StoreSchema(types: [world.type]))
    try store.write { transaction in
      for record in records { try transaction.insert(record) }
    }
    var configuration = Configuration()
    configuration.readonly = true
    return (store, try DatabaseQueue(path: folder.database, configuration: configuration))
  }

  @Test("Plain SQL on the same file gives the result of a query", arguments: RandomQueries.seeds(20))
  func agreement(seed: UInt64) throws {
    var world = RandomQueries(seed: seed &+ 7_000_000)
    let folder = try TemporaryFolder()
    let (store, sqlite) = try open(&world, in: folder)
    let stored = try store.fetch(AnyQuery("Item"))
    var asked = 0
    for round in 0..<80 {
      let query = world.query()
      guard let plain = PlainSQL(query, world.type) else { continue }
      asked += 1
      let expected = try sqlite.read {
        try String.fetchAll($0, sql: plain.sql)
      }
      let comment: Comment = "seed \(seed), round \(round): \(query)\n\(plain.sql)"
      #expect(try store.fetch(query).map(\.id) == expected, comment)
      #expect(try query.evaluate(over: stored, schema: world.type).map(\.id) == expected, comment)
      #expect(try store.count(query) == expected.count, comment)
    }
    #expect(asked > 0)
  }

  @Test("Plain SQL on the same file gives the different values", arguments: RandomQueries.seeds(15))
  func distinct(seed: UInt64) throws {
    var world = RandomQueries(seed: seed &+ 8_000_000)
    let folder = try TemporaryFolder()
    let (store, sqlite) = try open(&world, in: folder)
    for round in 0..<40 {
      let query = world.query()
      guard let plain = PlainSQL(query, world.type) else { continue }
      let comment: Comment = "seed \(seed), round \(round): \(query)\n\(plain.sql)"
      let typed = RecordQuery<Item>(query)
      try check(typed, \.title, "title", plain, store, sqlite, comment)
      if world.type["f1"] != nil { try check(typed, \.f1, "f1", plain, store, sqlite, comment) }
      if world.type["f2"] != nil { try check(typed, \.f2, "f2", plain, store, sqlite, comment) }
    }
  }

  @Test("Plain SQL on the same file gives the selected fields", arguments: RandomQueries.seeds(15))
  func selected(seed: UInt64) throws {
    struct Line: Decodable {
      var id: String
      var title: String?
    }
    var world = RandomQueries(seed: seed &+ 9_000_000)
    let folder = try TemporaryFolder()
    let (store, sqlite) = try open(&world, in: folder)
    for round in 0..<40 {
      let query = world.query()
      guard let plain = PlainSQL(query, world.type, selecting: "_id || ': ' || coalesce(title, '-')") else {
        continue
      }
      let comment: Comment = "seed \(seed), round \(round): \(query)\n\(plain.sql)"
      let expected = try sqlite.read { try String.fetchAll($0, sql: plain.sql) }
      let typed = RecordQuery<Item>(query)
      let lines = try store.read { try $0.fetch(typed.select(\.id, \.title, as: Line.self)) }
      #expect(lines.map { "\($0.id): \($0.title ?? "-")" } == expected, comment)
      let pairs = try store.read { try $0.fetch(typed.select(\.id, \.title)) }
      #expect(pairs.map { "\($0.0): \($0.1 ?? "-")" } == expected, comment)
    }
  }

  @Test("Plain SQL on the same file gives the numbers of children", arguments: RandomQueries.seeds(10))
  func children(seed: UInt64) throws {
    var random = SeededChoices(seed: seed)
    let folder = try TemporaryFolder()
    let store = try LocalStore(at: folder.database, schema: StoreSchema(Book.self, Shelf.self))
    let shelves = ["s1", "s2", "s3", "s4", "s\u{e9}"]
    try store.write { transaction in
      for shelf in shelves { try transaction.insert(Shelf(shelf, shelf, 0)) }
      for number in 0..<40 {
        let book = Book(
          "b\(number)", random.pick(["\u{e9}", "e\u{301}", "a", ""]), pages: random.pick([0, 1, 3, 5, 9]),
          weight: random.pick([0, 0.25, 0.5, 1]), shelf: random.pick(shelves),
          lender: random.chance(0.5) ? random.pick(shelves) : nil)
        try transaction.insert(book)
      }
    }
    let sqlite = try DatabaseQueue(path: folder.database)
    for (limit, offset) in [(-1, 0), (3, 0), (2, 1), (9, 3)] {
      let some = Book.where { $0.pages > 2 }.order(by: \.title, .descending)
      let books = limit < 0 ? some : some.limit(limit, offset: offset)
      func agree<Value: DatabaseValueConvertible & Equatable>(
        _ query: JoinQuery<Joined<Shelf, Value>>, _ value: String, _ field: String
      ) throws {
        let plain = """
          SELECT (SELECT \(value) FROM (SELECT * FROM Book WHERE \(field) = Shelf._id AND pages > 2
          ORDER BY title DESC, _id LIMIT \(limit) OFFSET \(offset))) FROM Shelf ORDER BY _id
          """
        let expected = try sqlite.read { try Value.fetchAll($0, sql: plain) }
        let found = try store.read { try $0.fetch(query) }
        #expect(found.map(\.related) == expected, "seed \(seed): \(plain)")
      }
      try agree(Shelf.all.withCount(of: books, by: \.lender), "count(*)", "lender")
      try agree(Shelf.all.withSum(of: \.pages, in: books, by: \.shelf), "coalesce(sum(pages), 0)", "shelf")
      try agree(Shelf.all.withAverage(of: \.weight, in: books, by: \.shelf), "avg(weight)", "shelf")
      try agree(Shelf.all.withMinimum(of: \.title, in: books, by: \.lender), "min(title)", "lender")
      try agree(Shelf.all.withMaximum(of: \.weight, in: books, by: \.lender), "max(weight)", "lender")
    }
  }

  /// Expects the different values of a field, and their number, as plain SQL has them.
  private func check<Value: FieldConvertible & DatabaseValueConvertible & Equatable>(
    _ query: RecordQuery<Item>, _ field: KeyPath<Item.Fields, Field<Value?>>, _ name: String,
    _ plain: PlainSQL, _ store: LocalStore, _ sqlite: DatabaseQueue, _ comment: Comment
  ) throws where Value.Unwrapped == Value {
    let expected = try sqlite.read {
      try Value.fetchAll(
        $0,
        sql: """
          SELECT DISTINCT "\(name)" FROM Item WHERE _id IN (\(plain.sql)) AND "\(name)" IS NOT NULL
          ORDER BY "\(name)"
          """)
    }
    #expect(try store.read { try $0.fetch(query.distinct(field)) } == expected, comment)
    #expect(try store.read { try $0.fetch(query.count(distinct: field)) } == expected.count, comment)
  }
}

/// The random type, with some of the fields that it may have.
private struct Item: Entity {
  struct Fields: Sendable {
    let id = Field<String>("id")
    let title = Field<String?>("title")
    let f1 = Field<Int?>("f1")
    let f2 = Field<Double?>("f2")
  }
  static let fields = Fields()
  static let schema = TypeSchema("Item", fields: [])
  var id: String

  func encode(to fields: inout FieldEncoder) {}
  init(id: String, from fields: inout FieldDecoder) throws(BothyError) { self.id = id }
}

/// A query as SQL in its simplest form, with its values as literals.
private struct PlainSQL {
  let sql: String

  /// Returns nil for a query with a place or words, which plain SQL has no functions for.
  init?(_ query: AnyQuery, _ type: TypeSchema, selecting columns: String = "_id") {
    let parts = PlainCondition(type: type)
    let isPlain = query.order.allSatisfy { $0.origin == nil && !$0.isNatural }
    guard isPlain, let filter = parts.text(of: query.filter) else { return nil }
    var sql = "SELECT \(columns) FROM Item WHERE \(filter)"
    if let container = query.container {
      sql += " AND \(parts.column("container")) = \(PlainCondition.literal(.text(container)) ?? "")"
    }
    let keys = query.order.map { "\(parts.column($0.field)) \($0.ascending ? "ASC" : "DESC")" }
    sql += " ORDER BY \((keys + ["_id"]).joined(separator: ", "))"
    self.sql = sql + " LIMIT \(query.limit ?? -1) OFFSET \(query.offset)"
  }
}

/// The conditions of such a query.
private struct PlainCondition {
  let type: TypeSchema

  /// Returns a value as SQL has it; nil for those of several columns.
  static func literal(_ value: FieldValue) -> String? {
    switch value {
    case .null: "NULL"
    case .bool(let flag): flag ? "1" : "0"
    case .int(let number), .date(let number): "\(number)"
    case .double(let number): "\(number)"
    case .text(let text), .json(let text): "'\(text.replacing("'", with: "''"))'"
    case .data(let data): "x'\(data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'"
    case .coordinate, .list: nil
    }
  }

  /// Returns the test of an element of a list, the row `part`.
  private static func test(of element: FieldValue) -> String {
    let value = literal(element) ?? ""
    return switch element {
    case .null: "part.type = 'null'"
    case .bool(let flag): "part.type = '\(flag)'"
    case .int, .double: "part.type IN ('integer', 'real') AND part.value = \(value)"
    default: "part.type = 'text' AND part.value = \(value)"
    }
  }

  func column(_ name: String) -> String {
    if type[name] != nil { return "\"\(name)\"" }
    switch name.hasPrefix("_") ? String(name.dropFirst()) : name {
    case "id": return "_id"
    case "container": return type.isSynced ? "coalesce(_container, 'Item')" : "'Item'"
    case let other: return type.isSynced ? "_\(other)" : "NULL"
    }
  }

  func text(of tree: ConditionTree) -> String? {
    switch tree {
    case .all: return "1"
    case .none: return "0"
    case .compare(let field, let comparison, let value): return compare(field, comparison, value)
    case .compareFields(let left, let comparison, let right):
      return relation(column(left), comparison, column(right))
    case .oneOf(let field, let values):
      return joined(values.map { compare(field, .equal, $0) }, " OR ", empty: "0")
    case .contains(let field, let text, let ignoringCase):
      let (found, wanted) = folded(field, text, ignoringCase)
      return "coalesce(instr(\(found), \(wanted)) > 0, 0)"
    case .beginsWith(let field, let text, let ignoringCase):
      let (found, wanted) = folded(field, text, ignoringCase)
      return "coalesce(substr(\(found), 1, length(\(wanted))) = \(wanted), 0)"
    case .includes(let field, let element):
      let list = column(field)
      return """
        (coalesce(json_type(\(list)) = 'array', 0) AND EXISTS
        (SELECT 1 FROM json_each(\(list)) AS part WHERE \(Self.test(of: element))))
        """
    case .and(let parts): return joined(parts.map { text(of: $0) }, " AND ", empty: "1")
    case .or(let parts): return joined(parts.map { text(of: $0) }, " OR ", empty: "0")
    case .not(let part): return text(of: part).map { "NOT (\($0))" }
    case .near, .inside, .compareNaturally, .matches, .relates, .exists: return nil
    }
  }

  private func joined(_ parts: [String?], _ word: String, empty: String) -> String? {
    let known = parts.compactMap { $0 }
    guard known.count == parts.count else { return nil }
    return known.isEmpty ? empty : "(\(known.joined(separator: word)))"
  }

  private func compare(
    _ field: String, _ comparison: ConditionTree.Comparison, _ value: FieldValue
  ) -> String? {
    guard type[field]?.kind != .coordinate else { return nil }
    return Self.literal(value).map { relation(column(field), comparison, $0) }
  }

  /// Null equals null alone, and comes neither before nor after a value.
  private func relation(_ left: String, _ comparison: ConditionTree.Comparison, _ right: String) -> String {
    switch comparison {
    case .equal: "(\(left) IS \(right))"
    case .notEqual: "(\(left) IS NOT \(right))"
    default: "coalesce(\(left) \(comparison.rawValue) \(right), 0)"
    }
  }

  private func folded(
    _ field: String, _ text: String, _ ignoringCase: Bool
  ) -> (found: String, wanted: String) {
    let (found, wanted) = (column(field), Self.literal(.text(text)) ?? "")
    return ignoringCase ? ("lower(\(found))", "lower(\(wanted))") : (found, wanted)
  }
}
