import BothyStore
import BothyTestSupport
import GRDB
import Testing

/// A recorder whose tables change the stored version of the schema to 9, inside the transaction that opens the file. To
/// the rest of the opening it looks like a newer app that was faster.
private struct NewerApp: ChangeRecorder {
  var tables: [String] {
    [
      """
      CREATE TABLE IF NOT EXISTS bothy_meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID
      """,
      "UPDATE bothy_meta SET value = json_set(value, '$.version', 9) WHERE key = 'schema'",
    ]
  }

  var time: Int64 { 0 }

  func record(_ changes: [Change], in transaction: WriteTransaction) throws {}

  func later(
    _ value: FieldValue, than earlier: FieldValue, readAs read: FieldValue, _ field: FieldSchema
  ) throws -> FieldValue { value }

  func former(of id: RecordID, in transaction: ReadTransaction) throws -> [FormerValues] { [] }

  func migrate(_ step: Migration.Step, in database: Database) throws {}

  func pending(of type: String, in database: Database) throws -> Set<String> { [] }

  func convert(
    _ field: String, of type: String, in database: Database, _ value: (JSONValue) throws -> JSONValue
  ) throws {}

  func rename(_ type: String, from old: NameMap, to new: NameMap, in database: Database) throws {}

  func rename(container: String, to name: String, in database: Database) throws {}
}

/// A file that changes between the first look at it and the transaction that opens it.
@Suite("Files that a newer app changes meanwhile", .timeLimit(.minutes(5)))
struct NewerMeanwhileTests {
  private let schema = StoreSchema(types: [TypeSchema("Note", fields: [FieldSchema("title", .text)])])

  @Test("A file that a newer app converts during the opening is refused")
  func newer() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/app.bothy"
    let first = try LocalStore(at: path, schema: schema)
    try first.write { try $0.insert(AnyRecord("Note", id: "a", ["title": "kept"])) }
    try first.close()
    let error = #expect(throws: BothyError.self) {
      _ = try LocalStore(
        at: path, schema: schema, migrations: [], options: StoreOptions(), recorder: NewerApp())
    }
    #expect(error?.code == .newerFile)
    let again = try LocalStore(at: path, schema: schema)
    #expect(again.schema == schema)
    #expect(try again.record(RecordID(type: "Note", id: "a"))?["title"] == "kept")
  }
}
