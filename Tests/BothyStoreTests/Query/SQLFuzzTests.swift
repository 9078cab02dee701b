import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// Statements that write, in random forms. None of them writes through a SQL query.
@Suite("SQL that writes", .timeLimit(.minutes(15)))
struct SQLFuzzTests {
  /// The number of random statements a seed. `BOTHY_STATEMENTS` sets it.
  static let count = ProcessInfo.processInfo.environment["BOTHY_STATEMENTS"].flatMap { Int($0) } ?? 150

  @Test("No statement of a fuzzer's list writes, in a read or in a write", arguments: UInt64(1)...8)
  func writes(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let store = try LocalStore(at: folder.database, schema: StoreSchema(Errand.self, Note.self))
    try store.write { transaction in
      try transaction.insert(Errand("1", "Buy milk"))
      try transaction.insert(Note("a", "text", 3))
    }
    var random = SeededChoices(seed: seed)
    // Opens the readers and the copy of the tables before the files are counted.
    _ = try store.read { try $0.fetch(SQLQuery("SELECT 1", as: Int.self)) }
    let before = try State(store, folder)
    for round in 0..<Self.count {
      let sql = Self.statement(&random, folder.path + "/stolen.sqlite")
      let query = SQLQuery(SQLText(stringLiteral: sql), as: String?.self)
      let code = try Self.code { try store.read { _ = try $0.fetch(query) } }
      let inWrite = try Self.code { try store.write { _ = try $0.fetch(query) } }
      #expect(code == .invalidQuery && inWrite == .invalidQuery, "seed \(seed), round \(round): \(sql)")
    }
    #expect(try State(store, folder) == before, "seed \(seed)")
    // The connections write as before.
    try store.write { try $0.insert(Note("b", nil, 1)) }
    #expect(try store.count(AnyQuery("Note")) == 2)
  }

  /// Returns the code of the error that the body throws, or nil.
  private static func code(_ body: () throws -> Void) throws -> BothyError.Code? {
    do { try body() } catch let error as BothyError { return error.code }
    return nil
  }

  /// All that a statement could change: the content, the tables, settings of the file and the connection, other files.
  private struct State: Equatable {
    var rows: [AnyRecord]
    var numbers: [Int64]
    var files: [String]

    init(_ store: LocalStore, _ folder: TemporaryFolder) throws {
      rows = try store.fetch(AnyQuery("Errand")) + store.fetch(AnyQuery("Note"))
      numbers = try store.write { transaction in
        try [
          "SELECT count(*) FROM sqlite_master", "SELECT count(*) FROM sqlite_temp_master",
          "SELECT sum(length(sql)) FROM sqlite_master", "SELECT count(*) FROM pragma_database_list",
          "SELECT count(*) FROM bothy_fts_Errand('milk')", "SELECT count(*) FROM bothy_fts_Errand_idx",
          "PRAGMA user_version", "PRAGMA application_id", "PRAGMA writable_schema", "PRAGMA foreign_keys",
          "PRAGMA query_only", "PRAGMA synchronous", "PRAGMA schema_version", "PRAGMA cache_size",
        ].map { sql -> Int64 in
          let select = try PreparedStatement(unkept: sql, in: transaction.database)
          defer { select.reset() }
          return try select.step() ? select.int(at: 0) : -1
        }
      }
      files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }
  }

  /// Statements that write, or reach beyond the tables: one a line, with names in braces for what varies.
  private static let forms = """
    INSERT INTO {table} DEFAULT VALUES
    INSERT OR REPLACE INTO Note(_id, stars) VALUES ('n', {n})
    INSERT INTO Note(_id, stars) SELECT _id, {n} FROM Errand RETURNING _id
    INSERT INTO Note(_id, stars) VALUES ('a', 1) ON CONFLICT(_id) DO UPDATE SET stars = {n} RETURNING 1
    REPLACE INTO Note(_id) VALUES ('a')
    UPDATE Errand SET title = 'x' RETURNING title
    UPDATE Note SET stars = {n} WHERE _id = 'a'
    DELETE FROM {table}
    DELETE FROM Errand WHERE rowid > {n} RETURNING *
    WITH n(x) AS (SELECT {n}) INSERT INTO Note(_id, stars) SELECT x, x FROM n
    WITH n AS (SELECT 1) DELETE FROM Note
    WITH n AS (SELECT 1) UPDATE Note SET stars = 0 RETURNING stars
    INSERT INTO bothy_fts_Errand(bothy_fts_Errand) VALUES ('rebuild')
    INSERT INTO bothy_fts_Errand(bothy_fts_Errand) VALUES ('delete-all')
    INSERT INTO bothy_fts_Errand(bothy_fts_Errand, rank) VALUES ('pgsz', {n})
    DELETE FROM "bothy_geo(Errand.place)"
    UPDATE bothy_fts_Errand_data SET block = x''
    ATTACH '{file}' AS {name}
    ATTACH ':memory:' AS {name}
    DETACH main
    VACUUM INTO '{file}'
    VACUUM
    REINDEX
    ANALYZE
    ANALYZE {table}
    PRAGMA writable_schema = 1
    PRAGMA user_version = {n}
    PRAGMA main.journal_mode = DELETE
    PRAGMA application_id({n})
    PRAGMA foreign_keys = ON
    PRAGMA query_only = 1
    PRAGMA wal_checkpoint(TRUNCATE)
    PRAGMA synchronous = OFF
    PRAGMA table_info(Errand)
    PRAGMA cache_size = {n}
    PRAGMA optimize
    SELECT * FROM pragma_user_version
    CREATE TEMP TABLE {name} AS SELECT * FROM Note
    CREATE TABLE {name}(a)
    CREATE VIEW {name} AS SELECT 1
    CREATE TEMP TRIGGER {name} AFTER INSERT ON Note BEGIN DELETE FROM Errand; END
    CREATE INDEX {name} ON Note(stars)
    CREATE VIRTUAL TABLE {name} USING fts5(a)
    CREATE VIRTUAL TABLE temp.{name} USING fts5vocab('main', 'bothy_fts_Errand', 'row')
    DROP TABLE {table}
    DROP INDEX IF EXISTS bothy_index_Errand_title
    DROP TRIGGER bothy_fts_Errand_insert
    ALTER TABLE Note ADD COLUMN {name}
    ALTER TABLE Note RENAME TO {name}
    BEGIN
    BEGIN IMMEDIATE
    COMMIT
    ROLLBACK
    END
    SAVEPOINT {name}
    RELEASE {name}
    SELECT load_extension('{file}')
    SELECT LOAD_EXTENSION(title, 'f') FROM Errand
    SELECT writefile('{file}', title) FROM Errand
    SELECT fts3_tokenizer('simple')
    SELECT sql FROM sqlite_master
    SELECT type FROM "sqlite_schema"
    SELECT key FROM bothy_meta
    SELECT block FROM bothy_fts_Errand_data
    SELECT 1; DELETE FROM Note
    SELECT 1; COMMIT
    ; DROP TABLE Note
    SELECT (DELETE FROM Note)
    SELECT * FROM (UPDATE Note SET stars = 1 RETURNING *)
    EXPLAIN INSERT INTO Note(_id, stars) VALUES ('e', 1)
    EXPLAIN QUERY PLAN DELETE FROM Note
    -- nothing
    """.split(separator: "\n").map(String.init)

  private static func statement(_ random: inout SeededChoices, _ file: String) -> String {
    let tables = ["Errand", "errand", "\"Note\"", "main.Note", "bothy_meta", "sqlite_master", "temp.x"]
    let names = ["x", "y1", "\"z z\"", "bothy_fts_Errand_data"]
    let sql = random.pick(forms)
      .replacing("{table}", with: random.pick(tables)).replacing("{name}", with: random.pick(names))
      .replacing("{n}", with: "\(Int.random(in: -3...300, using: &random))").replacing("{file}", with: file)
    return disguised(sql, &random)
  }

  /// Returns the statement with other letters, comments and spaces, which SQLite reads alike.
  private static func disguised(_ sql: String, _ random: inout SeededChoices) -> String {
    var sql = sql
    if random.chance(0.3), !sql.contains("'"), !sql.contains("\"") { sql = sql.lowercased() }
    if random.chance(0.3) { sql = sql.replacing(" ", with: random.pick(["\n", "\t", " /* SELECT */ "])) }
    if random.chance(0.3) { sql = random.pick([" ", "/* a */", "-- SELECT 1\n", "\n"]) + sql }
    if random.chance(0.2) { sql += random.pick([";", " ;", ";;", " -- SELECT", " /* open", "; SELECT 1"]) }
    return sql
  }
}
