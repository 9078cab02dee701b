import BothyStore
import BothyTestSupport
import Testing

import struct Foundation.Date
import class Foundation.FileManager
import struct Foundation.UUID

@Suite("SQL of an app", .timeLimit(.minutes(5)))
struct SQLTests {
  let store: LocalStore
  let noon = Date(timeIntervalSince1970: 1_800_000_000)

  init() throws {
    store = try LocalStore(inMemory: StoreSchema(Errand.self, Note.self))
    try store.write { transaction in
      try transaction.insert(Errand("1", "Buy milk", due: noon))
      try transaction.insert(Errand("2", "Sell bread", done: true, after: ["1"]))
      try transaction.insert(
        Errand("4", "Row", place: Coordinate(latitude: 59.5, longitude: 10.75)))
      try transaction.insert(Note("a", nil, 3))
      try transaction.insert(Note("b", "[1,2]", 5))
    }
  }

  private func refusal<Row>(of query: SQLQuery<Row>) -> String {
    let error = #expect(throws: BothyError.self) {
      _ = try store.read { try $0.fetch(query) }
    }
    return error.map { "\($0.code.rawValue): \($0.message)" } ?? ""
  }

  @Test("Rows become structs, by the names of their columns")
  func structs() async throws {
    enum Size: String, Decodable { case small, large }
    struct Row: Decodable, Equatable {
      var title: String
      var done: Bool
      var due: Date?
      var latitude: Double?
      var stars: UInt8
      var share: Float
      var size: Size
      var list: [Int]?

      enum CodingKeys: String, CodingKey {
        case title, done, due, stars, share, size, list
        case latitude = "place_lat"
      }
    }
    let rows = try await store.sql(
      """
      SELECT Errand.*, stars, 0.5 AS share, iif(stars > 3, 'large', 'small') AS size, text AS list
      FROM Errand, Note WHERE Errand._id = \("1") ORDER BY stars
      """, as: Row.self)
    #expect(
      rows == [
        Row(title: "Buy milk", done: false, due: noon, stars: 3, share: 0.5, size: .small),
        Row(title: "Buy milk", done: false, due: noon, stars: 5, share: 0.5, size: .large, list: [1, 2]),
      ])
  }

  #if DEBUG
    @Test("A debug build opens no file with a request that doesn't fit the schema")
    func checked() throws {
      let folder = try TemporaryFolder()
      func open(_ requests: any ReadRequest...) throws {
        let options = StoreOptions(checking: requests)
        try LocalStore(at: folder.database, schema: StoreSchema(Errand.self, Note.self), options: options)
          .close()
      }
      let fitting = SQLQuery("SELECT title FROM Errand WHERE due < \(noon)", as: String.self)
      let misspelt = SQLQuery("SELECT titel FROM Errand", as: String.self)
      let error = #expect(throws: BothyError.self) { try open(fitting, misspelt) }
      #expect(error?.code == .invalidQuery)
      #expect(error?.message.hasPrefix("Request 2 of") == true && error?.message.contains("titel") == true)
      expect(.unknownField) { try open(Errand.all.where(Field<Int>("none") == 1)) }
      expect(.invalidQuery) { try open(SQLQuery("DELETE FROM Errand", as: Int.self)) }
      #expect(!FileManager.default.fileExists(atPath: folder.database))
      try open(fitting, Errand.order(by: \.title), Errand.all.group(by: \.done).count())
      #expect(FileManager.default.fileExists(atPath: folder.database))
    }
  #endif

  @Test("A type of one value takes the first column")
  func oneValue() async throws {
    #expect(try await store.sql("SELECT count(*), 7 FROM Errand;", as: Int.self) == [3])
    #expect(try await store.sql("SELECT due FROM Errand ORDER BY _id", as: Date?.self) == [noon, nil, nil])
    let id = UUID()
    #expect(try await store.sql("SELECT \(id)", as: UUID.self) == [id])
  }

  @Test("Two spellings of a letter in SQL are two questions")
  func spellings() async throws {
    try await store.write { try $0.insert(Errand("5", "caf\u{E9}")) }
    for _ in 0..<2 {
      let sql: [SQLText] = [
        "SELECT _id FROM Errand WHERE title = 'caf\u{E9}'",
        "SELECT _id FROM Errand WHERE title = 'cafe\u{301}'",
      ]
      #expect(try await store.sql(sql[0], as: String.self) == ["5"])
      #expect(try await store.sql(sql[1], as: String.self) == [])
    }
  }

  @Test("A coordinate without a value is two nulls")
  func noCoordinate() async throws {
    let cases: [(Coordinate?, Int)] = [(nil, 0), (Coordinate(latitude: 59.5, longitude: 10.75), 1)]
    for (here, expected) in cases {
      let found = try await store.sql(
        "SELECT count(*) FROM Errand WHERE (place_lat, place_lon) = (\(here)) AND title = \("Row")",
        as: Int.self)
      #expect(found == [expected])
    }
  }

  @Test("Values after a coordinate are bound at their own places")
  func coordinate() async throws {
    let here = Coordinate(latitude: 59.5, longitude: 10.75)
    let found = try await store.sql(
      "SELECT _id FROM Errand WHERE (place_lat, place_lon) = (\(here)) AND title = \("Row") AND done = \(false)",
      as: String.self)
    #expect(found == ["4"])
  }

  @Test("Values that SQL can't have and parameters without a value are refused")
  func values() {
    let notFinite = refusal(of: SQLQuery("SELECT \(Double.nan)", as: Double?.self))
    #expect(notFinite.hasPrefix("invalidValue"))
    for text: SQLText in ["SELECT _id FROM Errand WHERE title = ?", "SELECT ?2, \(1)", "SELECT :name"] {
      let reason = refusal(of: SQLQuery(text, as: String.self))
      #expect(reason.contains("parameters without a value"))
    }
  }

  @Test("A column that a row's type doesn't take is named")
  func mismatches() {
    struct Row: Decodable { var title: Int }
    #expect(
      refusal(of: SQLQuery("SELECT title FROM Errand", as: Row.self))
        == "invalidValue: The column 'title' isn't a whole number.")
    #expect(
      refusal(of: SQLQuery("SELECT NULL AS title", as: Row.self)).contains("Make the property optional"))
    #expect(refusal(of: SQLQuery("SELECT 1 AS titel", as: Row.self)).contains("no column 'title'"))
    #expect(refusal(of: SQLQuery("SELECT 300 AS n", as: UInt8.self)).contains("from 0 to 255"))
  }

  @Test("A text that isn't a case of an enum is refused as a value")
  func cases() {
    enum Size: String, Decodable { case small }
    struct Row: Decodable { var size: Size }
    let message = refusal(of: SQLQuery("SELECT 'huge' AS size", as: Row.self))
    #expect(message.hasPrefix("invalidValue: The column 'size' isn't a"))
    #expect(refusal(of: SQLQuery("SELECT 'huge'", as: Size.self)).hasPrefix("invalidValue"))
  }

  @Test("The store's own tables are out of reach, the indexes aren't")
  func reach() async throws {
    let tables = [
      "bothy_meta", "sqlite_master", "sqlite_schema", "bothy_fts_Errand_data", "bothy_fts_Errand_docsize",
      "pragma_table_list",
    ]
    for (table, columns) in tables.flatMap({ table in ["*", "count(*)"].map { (table, $0) } }) {
      let query = SQLQuery(SQLText(stringLiteral: "SELECT \(columns) FROM \(table)"), as: String?.self)
      #expect(refusal(of: query).hasPrefix("invalidQuery"), "\(columns) of \(table)")
    }
    let milk = """
      SELECT Errand._id FROM Errand JOIN bothy_fts_Errand AS words ON words.rowid = Errand.rowid
      WHERE words.title MATCH \("milk") ORDER BY rank
      """ as SQLText
    #expect(try await store.sql(milk, as: String.self) == ["1"])
    let south = """
      SELECT _id FROM Errand WHERE rowid IN (SELECT place FROM "bothy_geo(Errand.place)" WHERE south < 60)
      """ as SQLText
    #expect(try await store.sql(south, as: String.self) == ["4"])
    let after = """
      SELECT value FROM Errand, json_each(Errand."after")
      """ as SQLText
    #expect(try await store.sql(after, as: String.self) == ["1"])
  }

  @Test("An endless recursion is given up, and the store reads on")
  func endless() throws {
    for text: SQLText in [
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT max(n.x) FROM n, n AS o",
    ] {
      var query = SQLQuery(text, as: Int.self)
      query.timeLimit = .milliseconds(30)
      #expect(refusal(of: query).contains("given up"))
    }
    #expect(try store.read { try $0.fetch(SQLQuery("SELECT count(*) FROM Note", as: Int.self)) } == [2])
  }

  @Test("SQL in a write sees its changes")
  func inside() throws {
    let found = try store.write { transaction in
      try transaction.insert(Note("c", "new", 9))
      return try transaction.fetch(SQLQuery("SELECT stars FROM Note WHERE text = \("new")", as: Int.self))
    }
    #expect(found == [9])
  }
}

/// What observers of SQL read again.
@Suite("Observed SQL", .timeLimit(.minutes(5)))
struct ObservedSQLTests {
  /// A row that counts how often one is decoded.
  private struct Title: Decodable, Equatable {
    static let decoded = Calls()
    var title: String

    init(from decoder: any Decoder) throws {
      title = try decoder.singleValueContainer().decode(String.self)
      Self.decoded.add()
    }
  }

  @Test("SQL is read again only after a change of its columns or rows")
  func columns() async throws {
    let store = try LocalStore(inMemory: StoreSchema(Errand.self))
    try await store.write { try $0.insert(Errand("1", "one")) }
    let seen = Received<[String]>()
    let observer = Task {
      for try await titles in store.values(
        of: SQLQuery("SELECT title FROM Errand ORDER BY _id", as: Title.self))
      {
        seen.append(titles.map(\.title))
      }
    }
    try await until { seen.values.count == 1 }
    var flags = store.values(of: SQLQuery("SELECT done FROM Errand", as: Bool.self)).makeAsyncIterator()
    #expect(try await flags.next() == [false])
    for round in 1...20 {
      try await store.write { try $0.update(Errand.self, id: "1") { $0.done = round % 2 == 1 } }
      #expect(try await flags.next() == [round % 2 == 1])
    }
    #expect(Title.decoded.count == 1)
    try await store.write { try $0.update(Errand.self, id: "1") { $0.title = "two" } }
    try await until { seen.values.count == 2 }
    try await store.write { try $0.insert(Errand("2", "three")) }
    try await until { seen.values.count == 3 }
    observer.cancel()
    #expect(seen.values == [["one"], ["two"], ["two", "three"]] && Title.decoded.count == 4)
  }

  @Test("SQL is read again after a change of what a join compares by names")
  func joinsByName() async throws {
    let store = try LocalStore(inMemory: StoreSchema(Errand.self, Note.self))
    try await store.write { transaction in
      try transaction.insert(Note("a", "one", 1))
      try transaction.insert(Note("b", "two", 2))
    }
    let pairs = SQLQuery("SELECT n.stars FROM Note n JOIN Note USING (text) ORDER BY 1", as: Int.self)
    let shared = SQLQuery("SELECT count(*) FROM errand JOIN Note using(_id)", as: Int.self)
    let alike = SQLQuery(
      "SELECT count(*) FROM (SELECT 1 AS stars) NATURAL JOIN Note", as: Int.self)
    var stars = store.values(of: pairs).makeAsyncIterator()
    var (counts, others) = (
      store.values(of: shared).makeAsyncIterator(), store.values(of: alike).makeAsyncIterator()
    )
    #expect(try await stars.next() == [1, 2])
    #expect(try await counts.next() == [0])
    #expect(try await others.next() == [1])
    try await store.write { _ = try $0.update(Note.self, id: "b") { $0.text = "one" } }
    #expect(try await stars.next() == [1, 1, 2, 2])
    try await store.write { try $0.insert(Errand("a", "title")) }
    #expect(try await counts.next() == [1])
    try await store.write { _ = try $0.update(Note.self, id: "b") { $0.stars = 1 } }
    #expect(try await others.next() == [2])
  }
}
