import BothyStore
import BothyTestSupport
import Testing

/// The natural order of texts: its keys, its stored keys, and its pages.
@Suite("Natural order", .timeLimit(.minutes(5))) struct NaturalOrderTests {
  private static func key(_ text: String) -> [UInt8] { Array(NaturalOrder.key(of: text).utf8) }

  @Test(
    "Case, accents, forms of letters and leading zeros don't count",
    arguments: [
      ["Straße", "STRASSE", "strasse", "STRA\u{1E9E}E"], ["café", "CAFE", "cafe\u{301}", "Caf\u{C9}"],
      ["item 7", "Item 007", "ITEM 7"], ["\u{FB01}n", "FIN"], ["１２", "12", "\u{661}\u{662}"],
      [
        "\u{3A3}\u{3AF}\u{3C3}\u{3C5}\u{3C6}\u{3BF}\u{3C2}",
        "\u{3A3}\u{399}\u{3A3}\u{3A5}\u{3A6}\u{39F}\u{3A3}",
      ],
      ["İstanbul", "istanbul", "ISTANBUL"], ["co\u{AD}op", "coop"], ["0", "00"], [""],
      ["\u{5E9}\u{5C1}\u{5DC}", "\u{5E9}\u{5DC}"],
    ])
  func equal(texts: [String]) {
    for text in texts { #expect(Self.key(text) == Self.key(texts[0]), "\(text)") }
  }

  @Test("Numbers sort by their value, before letters and after signs")
  func ascending() {
    let texts = [
      "", " x", "- 3", "0", "1", "1 a", "1.9", "1.10", "2", "10", "99999999", "100000000",
      "12345678901234567890",
      "a", "a 2", "a 10", "a-b", "a1", "a9b", "a10", "ab", "\u{C4}c", "B", "item 9", "Item 10", "item 10a",
      "item 100", "Zo\u{EB}", "zz", "\u{F8}", "\u{3B1}", "\u{3B2}", "\u{304B}", "\u{304C}",
    ]
    for (lower, upper) in zip(texts, texts.dropFirst()) {
      #expect(Self.key(lower).lexicographicallyPrecedes(Self.key(upper)), "\(lower), \(upper)")
    }
  }

  @Test("A long text has a key of limited length")
  func length() {
    let long = String(repeating: "ab\u{E9} ", count: 10_000)
    #expect((400..<404).contains(Self.key(long).count))
    #expect(Self.key(long) == Self.key(long + "x"))
    let digits = String(repeating: "7", count: 20_000)
    #expect(Self.key(digits).count < 500)
    #expect(Self.key(digits) == Self.key("0" + digits))
    #expect(Self.key("e" + String(repeating: "\u{301}", count: 9000)) == Self.key("E"))
  }

  private static let type = TypeSchema(
    "Track",
    fields: [
      FieldSchema("name", .text, optional: true, natural: true), FieldSchema("plain", .text, optional: true),
      FieldSchema("number", .int, optional: true),
    ])
  private static let names = [
    "Item 10", "item 9", "\u{C9}tude 2", "etude 12", "ETUDE 2", "item 009", "b", "A", "", "Z\u{0}y", "z",
  ]

  private static let records: [AnyRecord] =
    names.enumerated().map { number, name in
      AnyRecord(
        "Track", id: "t\(number)",
        ["name": .text(name), "plain": .text(name), "number": .int(Int64(number % 2))])
    } + [AnyRecord("Track", id: "none", ["number": 1])]

  private func store() throws -> LocalStore {
    let store = try LocalStore(inMemory: StoreSchema(types: [Self.type]))
    try store.write { transaction in for record in Self.records { try transaction.insert(record) } }
    return store
  }

  @Test("Stored and computed keys give the order of the evaluator", arguments: [true, false])
  func agreement(ascending: Bool) throws {
    let store = try store()
    for name in ["name", "plain"] {
      for rest in [[], [SortKey("number")]] {
        let order = [SortKey(name, ascending: ascending, natural: true)] + rest
        let query = AnyQuery("Track", order: order)
        let expected = try query.evaluate(over: Self.records, schema: Self.type)
        #expect(try store.fetch(query) == expected, "\(name)")
        #expect(expected.first?.id == (ascending ? "none" : "t9"))
      }
    }
    let up = AnyQuery("Track", order: [SortKey("name", natural: true)], limit: 6)
    #expect(try store.fetch(up).map(\.id) == ["none", "t8", "t7", "t6", "t2", "t4"])
    expect(.invalidQuery) {
      _ = try store.fetch(AnyQuery("Track", order: [SortKey("number", natural: true)]))
    }
  }

  @Test("Pages in the natural order are the whole result, with equal texts too", arguments: [true, false])
  func pages(ascending: Bool) async throws {
    let store = try store()
    for name in ["name", "plain"] {
      let order = [SortKey(name, ascending: ascending, natural: true), SortKey("number", ascending: false)]
      let query = AnyQuery("Track", order: order)
      let whole = try query.evaluate(over: Self.records, schema: Self.type).map(\.id)
      for size in 1...4 {
        var found: [String] = []
        for try await record in store.records(query, pageSize: size) { found.append(record.id) }
        #expect(found == whole, "\(name), \(size)")
      }
    }
    let start = try #require(Self.records.first { $0.id == "t2" })
    var next = AnyQuery("Track", order: [SortKey("name", natural: true)])
    next.filter = next.continuations(after: start, Self.type)[0]
    #expect(try store.plan(next).contains("INDEX bothy_natural(Track.name) (_sort_name>?)"))
  }

  @Test("A comparison by the natural order is that of the evaluator")
  func conditions() throws {
    let store = try store()
    for name in ["name", "plain"] {
      for comparison in ConditionTree.Comparison.allCases {
        let condition = ConditionTree.compareNaturally(field: name, comparison, "\u{E9}tude 2")
        for tree in [condition, .not(condition)] {
          let query = AnyQuery("Track", where: tree)
          let expected = try query.evaluate(over: Self.records, schema: Self.type)
          #expect(try store.fetch(query) == expected, "\(tree)")
          #expect(try WhereParser.parse(tree.description) == tree)
        }
      }
    }
    let equal = AnyQuery("Track", where: .compareNaturally(field: "name", .equal, "etude 2"))
    #expect(try store.fetch(equal).map(\.id) == ["t2", "t4"])
    #expect(try store.plan(equal).contains("INDEX bothy_natural(Track.name)"))
  }

  @Test("A sort key in the natural order survives its text and its JSON")
  func forms() throws {
    let keys = try SortKey.parse("-name NATURAL, plain natural,number")
    let expected = [
      SortKey("name", ascending: false, natural: true), SortKey("plain", natural: true), SortKey("number"),
    ]
    #expect(keys == expected)
    #expect(try SortKey.parse(keys.map(\.description).joined(separator: ",")) == keys)
    let query = AnyQuery("Track", order: keys)
    #expect(query.json.canonicalText.contains(#"{"natural":"-name"}"#))
    #expect(try AnyQuery(json: query.json).order == keys)
    expect(.invalidQuery) { _ = try AnyQuery(json: ["type": "Track", "order": [["natural": 1]]]) }
  }

  @Test("Typed queries have pages in the natural order")
  func typed() throws {
    let store = try LocalStore(inMemory: StoreSchema(Errand.self, Note.self))
    try store.write { transaction in
      for (number, title) in ["Row 10", "row 9", "R\u{F6}w 9", "a"].enumerated() {
        try transaction.insert(Errand("\(number)", title))
      }
    }
    let query = Errand.order(by: \.title, natural: true)
    #expect(try store.fetch(query).map(\.id) == ["3", "1", "2", "0"])
    #expect(
      try store.fetch(Errand.order(by: \.title, .descending, natural: true)).map(\.id) == [
        "0", "1", "2", "3",
      ])
    #expect(try store.fetch(Errand.where { $0.title.equals(naturally: "ROW 09") }).map(\.id) == ["1", "2"])
    #expect(try store.fetch(Errand.where { !$0.title.equals(naturally: "r\u{F6}w 9") }).count == 2)
    let last = try #require(try store.fetch(query.limit(2)).last)
    #expect(try store.fetch(query.limit(9).after(last)).map(\.id) == ["2", "0"])
  }
}

/// The stored keys of the natural order, under writes, migrations and damage.
@Suite("Stored sort keys", .timeLimit(.minutes(5))) struct NaturalIndexTests {
  private static func type(_ name: String? = "name", natural: Bool = true) -> TypeSchema {
    let field = name.map { FieldSchema($0, .text, optional: true, fullText: true, natural: natural) }
    return TypeSchema(
      "Track", fields: [FieldSchema("number", .int, optional: true)] + (field.map { [$0] } ?? []))
  }

  private func ids(_ store: LocalStore, _ field: String = "name") throws -> [String] {
    try store.fetch(AnyQuery("Track", order: [SortKey(field, natural: true)])).map(\.id)
  }

  private func columns(_ store: LocalStore) throws -> Int64 {
    try store.count("SELECT count(*) FROM pragma_table_info('Track') WHERE substr(name, 1, 6) = '_sort_'")
  }

  @Test("Keys follow inserts, updates and changes from a server")
  func writes() throws {
    let store = try LocalStore(inMemory: StoreSchema(types: [Self.type()]))
    try store.write { transaction in
      try transaction.insert(AnyRecord("Track", id: "a", ["name": "b 10"]))
      try transaction.insert(AnyRecord("Track", id: "b", ["name": "B 9"]))
      try transaction.insert(AnyRecord("Track", id: "c"))
      let table = try transaction.catalog.table("Track")
      for (version, name) in [("1", "z"), ("2", "b 1")] {
        let values = AnyRecord("Track", id: "d", ["name": .text(name)]).values(for: table.schema)
        try transaction.put(table, id: "d", StoredRow(values: values, container: nil, version: version))
      }
    }
    #expect(try ids(store) == ["c", "d", "b", "a"])
    try store.write { transaction in
      try transaction.update(RecordID(type: "Track", id: "a"), fields: ["name": "a"])
      try transaction.update(RecordID(type: "Track", id: "b"), fields: ["name": .null])
      try transaction.update(RecordID(type: "Track", id: "c"), fields: ["number": 1])
    }
    #expect(try ids(store) == ["b", "c", "a", "d"])
    #expect(try store.diagnose().findings == [])
    #expect(try store.fetch(AnyQuery("Track", where: .matches("b"))).map(\.id) == ["d"])
  }

  @Test("A migration adds keys, which follow a renamed and a dropped field")
  func migration() throws {
    let folder = try TemporaryFolder()
    func open(_ version: Int, _ type: TypeSchema, _ steps: Migration...) throws -> LocalStore {
      try LocalStore(
        at: folder.database, schema: StoreSchema(version: version, types: [type]), migrations: steps)
    }
    var store = try open(1, Self.type(natural: false))
    try store.write { transaction in
      for (number, name) in ["x 10", "X 9", "w"].enumerated() {
        try transaction.insert(AnyRecord("Track", id: "\(number)", ["name": .text(name)]))
      }
    }
    #expect(try columns(store) == 0)
    #expect(try ids(store) == ["2", "1", "0"])
    try store.close()
    store = try open(2, Self.type())
    #expect(try columns(store) == 1)
    #expect(try ids(store) == ["2", "1", "0"])
    #expect(try store.count("SELECT count(*) FROM Track WHERE _sort_name = 'x 19'") == 1)
    try store.close()
    let renaming = Migration(to: 3, .renameField(type: "Track", from: "name", to: "title"))
    store = try open(3, Self.type("title"), renaming)
    #expect(try columns(store) == 1)
    #expect(try ids(store, "title") == ["2", "1", "0"])
    #expect(try store.diagnose().findings == [])
    try store.close()
    store = try open(4, Self.type(nil), renaming, Migration(to: 4, .dropField(type: "Track", field: "title")))
    #expect(try columns(store) == 0)
    #expect(try store.diagnose().findings == [])
    try store.close()
  }

  @Test("Wrong and missing keys are found and repaired")
  func damage() throws {
    let store = try LocalStore(inMemory: StoreSchema(types: [Self.type()]))
    try store.write { transaction in
      for name in ["x 10", "X 9"] {
        try transaction.insert(AnyRecord("Track", id: name, ["name": .text(name)]))
      }
    }
    try store.tamper("UPDATE Track SET _sort_name = 'a' WHERE _id = 'x 10'")
    var diagnosis = try store.diagnose()
    #expect(diagnosis.findings.map(\.check) == ["order"])
    #expect(try store.repair(diagnosis).findings == [])
    #expect(try ids(store) == ["X 9", "x 10"])
    try store.tamper("DROP TRIGGER \"bothy_natural(Track.name)_update\"")
    diagnosis = try store.diagnose()
    #expect(diagnosis.findings.map(\.check) == ["tables"])
    #expect(try store.repair(diagnosis).findings == [])
  }

  @Test("Keys of anything but text, and of a secret, are refused", arguments: 0..<3)
  func refused(number: Int) {
    var field = FieldSchema("name", number == 0 ? .int : .text, optional: true, natural: true)
    field.isSensitive = number == 1
    field.isDecimal = number == 2
    expect(.invalidSchema) {
      _ = try LocalStore(inMemory: StoreSchema(types: [TypeSchema("Track", fields: [field])]))
    }
  }

  @Test("A schema document with stored keys reads back as it was written")
  func document() throws {
    let schema = StoreSchema(types: [Self.type()])
    #expect(try StoreSchema(json: schema.json.canonicalText) == schema)
    #expect(schema.json.canonicalText.contains(#""natural":true"#))
  }
}
