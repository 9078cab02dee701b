import BothyStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OpeningTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("a file that is no database is refused untouched")
  func notADatabase() throws {
    let text = Data(String(repeating: "Not a database. ", count: 100).utf8)
    try text.write(to: URL(fileURLWithPath: folder.database))
    expect(.notADatabase) { _ = try Store(at: folder.database, schema: todoSchema) }
    expect(.notADatabase) { _ = try Store(existing: folder.database) }
    expect(.notADatabase) { _ = try Store.diagnose(fileAt: folder.database) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == text)
  }

  @Test("a database of another program is refused untouched")
  func foreign() throws {
    let store = try Store(at: folder.database, schema: todoSchema)
    try store.tamper("PRAGMA application_id = 7")
    try store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
    expect(.notADatabase) { _ = try Store(at: folder.database, schema: todoSchema) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
  }

  @Test("an empty file becomes a store")
  func emptyFile() throws {
    #expect(FileManager.default.createFile(atPath: folder.database, contents: Data()))
    let store = try Store(at: folder.database, schema: todoSchema)
    try store.write { try $0.insert(Todo("a")) }
    #expect(try store.fetch(Todo.self, id: "a") != nil)
  }

  @Test("a missing folder, a file in place of the folder and a folder in place of the file are named as such")
  func places() throws {
    expect(.cannotOpen) { _ = try Store(at: folder.path + "/none/x.db", schema: todoSchema) }
    expect(.cannotOpen) { _ = try Store(at: "/dev/null/x.db", schema: todoSchema) }
    expect(.cannotOpen) { _ = try Store(at: folder.path, schema: todoSchema) }
    expect(.cannotOpen) { _ = try Store(existing: folder.database) }
    expect(.cannotOpen) { _ = try Store.diagnose(fileAt: folder.database) }
  }

  @Test("a folder that may not be written is refused")
  func readOnlyFolder() throws {
    // /proc may be written by nobody, root included.
    let path = FileManager.default.fileExists(atPath: "/proc/self") ? "/proc/x.db" : "/System/x.db"
    expect(.cannotOpen) { _ = try Store(at: path, schema: todoSchema) }
  }

  @Test("a store in memory is gone with it, and no other sees it")
  func inMemory() throws {
    let (one, two) = (try Store(inMemory: todoSchema), try Store(inMemory: todoSchema))
    try one.write { try $0.insert(Todo("a")) }
    #expect(one.path == ":memory:")
    #expect(try one.fetch(Todo.self, id: "a") != nil)
    #expect(try two.fetch(Todo.self, id: "a") == nil)
  }

  @Test("what was written is there when the file is opened again")
  func durable() throws {
    let store = try Store(at: folder.database, schema: todoSchema)
    try store.write { try $0.insert(Todo("a", "kept")) }
    try store.close()
    #expect(try Store(at: folder.database, schema: todoSchema).fetch(Todo.self, id: "a")?.title == "kept")
  }

  /// Promises: S-8
  @Test("a file of a later format is refused by a typed error and left as it is")
  func laterFormat() throws {
    let store = try Store(at: folder.database, schema: todoSchema)
    try store.tamper("PRAGMA user_version = 99")
    try store.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
    expect(.newerFile) { _ = try Store(at: folder.database, schema: todoSchema) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
  }
}
