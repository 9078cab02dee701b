import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Testing

/// A recorder whose tables count how often their statements ran.
private struct CountingRecorder: ChangeRecorder {
  var others: [String] = []
  var tables: [String] {
    ["CREATE TABLE IF NOT EXISTS runs (number INTEGER) STRICT", "INSERT INTO runs VALUES (1)"] + others
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

@Suite(.timeLimit(.minutes(5)))
struct OpeningTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Promises: N-13
  @Test("A file that isn't a database is refused and unchanged")
  func notADatabase() throws {
    let text = Data(String(repeating: "Not a database. ", count: 100).utf8)
    try text.write(to: URL(fileURLWithPath: folder.database))
    expect(.notADatabase) { _ = try LocalStore(at: folder.database, schema: todoSchema) }
    expect(.notADatabase) { _ = try LocalStore(existing: folder.database) }
    expect(.notADatabase) { _ = try LocalStore.diagnose(fileAt: folder.database) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == text)
  }

  @Test("A database of another program is refused and unchanged")
  func foreign() throws {
    let store = try LocalStore(at: folder.database, schema: todoSchema)
    try store.tamper("PRAGMA application_id = 7")
    try store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
    expect(.notADatabase) { _ = try LocalStore(at: folder.database, schema: todoSchema) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
  }

  @Test("An empty file becomes a store")
  func emptyFile() throws {
    #expect(FileManager.default.createFile(atPath: folder.database, contents: Data()))
    let store = try LocalStore(at: folder.database, schema: todoSchema)
    try store.write { try $0.insert(Todo("a")) }
    #expect(try store.fetch(Todo.self, id: "a") != nil)
  }

  @Test("The error names a missing folder or a misplaced file or folder")
  func places() throws {
    expect(.cannotOpen) { _ = try LocalStore(at: folder.path + "/none/x.db", schema: todoSchema) }
    expect(.cannotOpen) { _ = try LocalStore(at: "/dev/null/x.db", schema: todoSchema) }
    expect(.cannotOpen) { _ = try LocalStore(at: folder.path, schema: todoSchema) }
    expect(.cannotOpen) { _ = try LocalStore(existing: folder.database) }
    expect(.cannotOpen) { _ = try LocalStore.diagnose(fileAt: folder.database) }
  }

  @Test("The error of a folder in place of a file says so")
  func folderAsFile() throws {
    let error = #expect(throws: BothyError.self) { try LocalStore.storedSchema(at: folder.path) }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message == "\(folder.path) is a folder. Give the path of a file in it.")
  }

  @Test("A folder without write permission is refused")
  func readOnlyFolder() throws {
    // No process can create a file in /proc, not even root.
    let path = FileManager.default.fileExists(atPath: "/proc/self") ? "/proc/x.db" : "/System/x.db"
    expect(.cannotOpen) { _ = try LocalStore(at: path, schema: todoSchema) }
  }

  @Test("A store in memory is private and deleted on release")
  func inMemory() throws {
    let (one, two) = (try LocalStore(inMemory: todoSchema), try LocalStore(inMemory: todoSchema))
    try one.write { try $0.insert(Todo("a")) }
    #expect(one.path == ":memory:")
    #expect(try one.fetch(Todo.self, id: "a") != nil)
    #expect(try two.fetch(Todo.self, id: "a") == nil)
  }

  @Test("Written records exist when the file is opened again")
  func durable() throws {
    let store = try LocalStore(at: folder.database, schema: todoSchema)
    try store.write { try $0.insert(Todo("a", "kept")) }
    try store.close()
    #expect(
      try LocalStore(at: folder.database, schema: todoSchema).fetch(Todo.self, id: "a")?.title == "kept")
  }

  /// Promises: S-8
  @Test("A file of a later format is refused with a typed error and unchanged")
  func laterFormat() throws {
    let store = try LocalStore(at: folder.database, schema: todoSchema)
    try store.tamper("PRAGMA user_version = 99")
    try store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
    expect(.newerFile) { _ = try LocalStore(at: folder.database, schema: todoSchema) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
  }

  @Test("An opening creates the recorder's tables again only after a change of tables")
  func recorderTables() throws {
    /// Opens the file, tampers with it, and returns how often the recorder's statements have run.
    func runs(_ recorder: CountingRecorder, then tampering: String? = nil) throws -> Int64 {
      let store = try LocalStore(
        at: folder.database, schema: todoSchema, migrations: [], options: StoreOptions(), recorder: recorder)
      defer { try? store.close() }
      if let tampering { try store.tamper(tampering) }
      return try store.count("SELECT count(*) FROM runs")
    }
    #expect(try runs(CountingRecorder()) == 1)
    #expect(try runs(CountingRecorder(), then: "CREATE TABLE other (number INTEGER)") == 1)
    #expect(try runs(CountingRecorder(), then: "DROP TABLE other") == 2)
    #expect(try runs(CountingRecorder()) == 3)
    #expect(try runs(CountingRecorder()) == 3)
    let more = CountingRecorder(others: ["CREATE TABLE IF NOT EXISTS more (number INTEGER) STRICT"])
    #expect(try runs(more) == 4)
    #expect(try runs(more) == 4)
  }
}
