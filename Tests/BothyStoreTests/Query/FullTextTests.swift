import BothyStore
import BothyTestSupport
import Testing

/// Full text: the words of a text, and the maintenance of their index.
@Suite(.timeLimit(.minutes(5))) struct FullTextTests {
  private static let texts = [
    "straße": "Die lange Straße am Fluß", "strasse": "STRASSE", "office": "Our o\u{FB03}ce",
    "plain": "the office",
    "ligature": "the \u{FB01}nal word", "final": "a final word", "café": "Cafe\u{301} crème",
    "greek": "ΟΔΥΣΣΕΥΣ",
    "turkish": "İstanbul ve Iğdır", "arabic": "مَكْتَبَة", "cjk": "東京 タワー",
    "japanese": "高い東京タワーを見る", "mixed": "iPhone東京店", "chinese": "我喜欢北京大学", "thai": "ฉันรักกรุงเทพ",
    "korean": "서울에서 만나요", "kana": "ガラス がらす ｶﾞﾗｽ", "emoji": "go 🏔️ now",
    "number": "route 66½",
    "apostrophe": "l'été d'Anne", "dots": "U.S.A. e-mail", "zero": "word\u{0}another",
    "": "",
  ]

  private static let searches = [
    "straße", "strasse", "STRASSE", "fluss", "office", "o\u{FB03}ce", "OFFI", "final", "\u{FB01}nal",
    "FINAL wor",
    "cafe", "CAFÉ", "creme", "οδυσσευς", "οδυσσευσ", "istanbul", "ığdır", "مكتبة", "東京", "タワ", "🏔️", "京", "京大",
    "北京大学", "京タワーを", "京東", "iphone", "iPhone 店", "東京店", "iphone東京", "กรุงเทพ",
    "รัก", "서울", "울에서", "ガラス", "ラス", "がら", "大 喜欢北", "東* タワー", "66",
    "ete anne",
    "usa", "u s a", "mail", "e-mail", "another", "word another", "\"office\"", "a OR b", "NOT", "route*",
  ]

  private func filled(_ store: LocalStore) throws {
    try store.write { transaction in
      for (id, text) in Self.texts { try transaction.insert(Todo(id, text)) }
    }
  }

  private func answer(_ store: LocalStore, _ text: String) throws -> [String] {
    try store.fetch(AnyQuery("Todo", where: .matches(text))).map(\.id)
  }

  @Test("A search finds equal records on a device, by the reference and in documents", arguments: searches)
  func agreement(search: String) throws {
    let store = try LocalStore(inMemory: todoSchema)
    try filled(store)
    let records = try store.fetch(AnyQuery("Todo"))
    let expected = try AnyQuery("Todo", where: .matches(search)).evaluate(
      over: records, schema: Todo.schema)
    #expect(try answer(store, search) == expected.map(\.id))
    let found = try store.read { transaction in
      try records.filter { record in
        let select = try PreparedStatement(
          "SELECT bothy_matches(?, '{}', 'title', ?)", in: transaction.database)
        select.bind(search, at: 1)
        select.bind(record["title"], at: 2)
        defer { select.reset() }
        return try select.step() && select.int(at: 0) == 1
      }
    }
    #expect(found == expected)
  }

  @Test(
    "Words with ß, ligatures and accents are found in any spelling",
    arguments: [
      ("straße", ["strasse", "straße"]), ("strasse", ["strasse", "straße"]),
      ("STRASSE", ["strasse", "straße"]),
      ("office", ["office", "plain"]), ("o\u{FB03}ce", ["office", "plain"]),
      ("final", ["final", "ligature"]),
      ("\u{FB01}nal", ["final", "ligature"]), ("café", ["café"]), ("fluß", ["straße"]),
    ])
  func found(search: String, ids: [String]) throws {
    let store = try LocalStore(inMemory: todoSchema)
    try filled(store)
    #expect(try answer(store, search) == ids)
  }

  @Test(
    "Any part of a word without spaces is found",
    arguments: [
      ("京", ["chinese", "cjk", "japanese", "mixed"]), ("東京", ["cjk", "japanese", "mixed"]),
      ("京大", ["chinese"]), ("北京大学", ["chinese"]), ("京タワーを", ["japanese"]), ("タワ", ["cjk", "japanese"]),
      ("京東", []), ("東京 店", ["mixed"]), ("iphone店", ["mixed"]), ("phone", []), ("กรุง", ["thai"]),
      ("東京大学", []),
    ])
  func parts(search: String, ids: [String]) throws {
    let store = try LocalStore(inMemory: todoSchema)
    try filled(store)
    #expect(try answer(store, search) == ids)
  }

  @Test("Opening a file of the third format makes its text index again")
  func thirdFormat() throws {
    let folder = try TemporaryFolder()
    var store = try LocalStore(at: folder.database, schema: todoSchema)
    try filled(store)
    try store.tamper("INSERT INTO bothy_fts_Todo(bothy_fts_Todo) VALUES ('delete-all')")
    try store.tamper("PRAGMA user_version = 3")
    #expect(try answer(store, "京大") == [])
    try store.close()
    store = try LocalStore(at: folder.database, schema: todoSchema)
    #expect(try answer(store, "京大") == ["chinese"])
    #expect(try store.count("PRAGMA user_version") == 4)
    #expect(try store.diagnose().isHealthy)
    try store.close()
  }

  /// Recreates the indexes in the form of the first format.
  private func makeOld(_ store: LocalStore) throws {
    try store.tamper("DROP INDEX bothy_index_Todo__container")
    for event in ["insert", "update", "delete"] { try store.tamper("DROP TRIGGER bothy_fts_Todo_\(event)") }
    try store.tamper("DROP TABLE bothy_fts_Todo")
    try store.tamper(
      """
      CREATE VIRTUAL TABLE bothy_fts_Todo USING fts5("title", content="Todo", content_rowid='rowid',
      tokenize='unicode61 remove_diacritics 2')
      """)
    let add = "INSERT INTO bothy_fts_Todo(rowid, title) VALUES (new.rowid, new.title);"
    let remove =
      "INSERT INTO bothy_fts_Todo(bothy_fts_Todo, rowid, title) VALUES ('delete', old.rowid, old.title);"
    for (event, body) in [("insert", add), ("update", remove + " " + add), ("delete", remove)] {
      try store.tamper("CREATE TRIGGER bothy_fts_Todo_\(event) AFTER \(event) ON Todo BEGIN \(body) END")
    }
    try store.tamper("INSERT INTO bothy_fts_Todo(bothy_fts_Todo) VALUES ('rebuild')")
    try store.tamper("PRAGMA user_version = 1")
  }

  @Test("Opening a file of the first format rebuilds its text index")
  func upgraded() throws {
    let folder = try TemporaryFolder()
    var store = try LocalStore(at: folder.database, schema: todoSchema)
    try filled(store)
    try makeOld(store)
    #expect(try answer(store, "strasse") == ["strasse"])
    for column in ["_created", "_modified", "_owner"] {
      try store.tamper("ALTER TABLE Todo DROP COLUMN \(column)")
    }
    try store.close()
    store = try LocalStore(at: folder.database, schema: todoSchema)
    #expect(try answer(store, "strasse") == ["strasse", "straße"])
    #expect(try store.count("PRAGMA user_version") == 4)
    #expect(try store.diagnose().isHealthy)
    try store.close()
  }

  @Test("A change of another column doesn't touch the text index")
  func columns() throws {
    let store = try LocalStore(inMemory: todoSchema)
    try filled(store)
    func changes(_ sql: String) throws -> Int64 {
      try store.write { transaction in
        let before = try Self.totalChanges(transaction)
        try PreparedStatement(sql, in: transaction.database).run()
        return try Self.totalChanges(transaction) - before
      }
    }
    #expect(try changes("UPDATE Todo SET done = 1 WHERE _id = 'plain'") == 1)
    #expect(try changes("UPDATE Todo SET _version = '7' WHERE _id = 'plain'") == 1)
    #expect(try changes("UPDATE Todo SET title = title WHERE _id = 'plain'") == 1)
    #expect(try changes("UPDATE Todo SET title = 'new words' WHERE _id = 'plain'") > 1)
    #expect(try answer(store, "new") == ["plain"])
    #expect(try answer(store, "office") == ["office"])
    #expect(try store.diagnose().isHealthy)
  }

  private static func totalChanges(_ transaction: WriteTransaction) throws -> Int64 {
    let select = try PreparedStatement("SELECT total_changes()", in: transaction.database)
    defer { select.reset() }
    return try select.step() ? select.int(at: 0) : 0
  }
}
