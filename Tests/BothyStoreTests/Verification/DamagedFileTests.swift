import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite("A file that is damaged when it is opened", .timeLimit(.minutes(5)))
struct DamagedFileTests {
  private let folder: TemporaryFolder
  private let schema = StoreSchema(types: [TypeSchema("Item", fields: [.field("text", String.self)])])
  private var path: String { folder.file("items.bothy") }
  private var copied: String { folder.file("original.bothy") }

  init() throws { folder = try TemporaryFolder() }

  /// Copies a file in use, with 500 records, as the end of its process leaves it.
  private func abandoned() throws {
    let store = try LocalStore(at: copied, schema: schema)
    try store.write { transaction in
      for number in 0..<500 {
        try transaction.insert(
          AnyRecord("Item", id: "i\(number)", ["text": .text(String(repeating: "x", count: 200))]))
      }
    }
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: copied + suffix, toPath: path + suffix)
    }
    try store.close()
  }

  /// Closes the file, overwrites some pages, and leaves a log as an ended process does.
  private func damage() throws {
    for suffix in ["", "-wal"] { try FileManager.default.removeItem(atPath: path + suffix) }
    try FileManager.default.copyItem(atPath: copied, toPath: path)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    for page in 10..<20 as Range<UInt64> {
      try file.seek(toOffset: page * 4096)
      try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
    }
    try file.close()
    try Data(repeating: 0, count: 32).write(to: URL(fileURLWithPath: path + "-wal"))
  }

  /// Promises: S-3
  @Test("After its process ends, an undamaged file opens with all committed records")
  func undamaged() throws {
    try abandoned()
    let store = try LocalStore(at: path, schema: schema)
    #expect(try store.count(AnyQuery("Item")) == 500)
    try store.close()
  }

  /// Returns the names of the quarantined files.
  private func kept() -> [String] {
    folder.names(in: folder.path)
      .filter { $0.contains(".damaged-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
  }

  /// Expects that this opening renames the file and names it in the error. The next one creates a new file and reports
  /// the old one.
  private func expectSetAside() throws {
    let error = try #require(
      #expect(throws: BothyError.self) { _ = try LocalStore(at: path, schema: schema) })
    #expect(error.code == .corrupt)
    #expect(!FileManager.default.fileExists(atPath: path))
    let old = folder.file(try #require(kept().first))
    #expect(error.message.contains(old))
    #expect(try !LocalStore.diagnose(fileAt: old).isHealthy)
    for _ in 0..<2 {
      let store = try LocalStore(at: path, schema: schema)
      #expect(try store.count(AnyQuery("Item")) == 0)
      #expect(store.damagedFiles == [old])
      #expect(try store.diagnose().findings.contains { $0.message.contains(old) })
      try store.close()
    }
  }

  @Test("Opening a file after its process ended reads only what it needs")
  func notLookedThrough() throws {
    try abandoned()
    try damage()
    let store = try LocalStore(at: path, schema: schema)
    store.waitForFileCheck()
    try store.close()
    #expect(kept().isEmpty, "this day's check was made")
  }

  /// Promises: S-3, N-13
  @Test("After a read meets damage, the next opening quarantines the file and keeps it")
  func met() throws {
    try abandoned()
    try damage()
    let store = try LocalStore(at: path, schema: schema)
    let error = #expect(throws: BothyError.self) { _ = try store.fetch(AnyQuery("Item")) }
    #expect(error?.code == .corrupt)
    store.waitForFileCheck()
    try store.close()
    try expectSetAside()
  }

  /// Promises: S-3
  @Test("After a migration meets damage, the next opening quarantines the file", arguments: [true, false])
  func metByMigration(hasStep: Bool) throws {
    try abandoned()
    try damage()
    let added: [FieldSchema] = [.field("text", String.self), .field("size", Int.self, default: 1)]
    let fields = hasStep ? [.field("text", Int.self)] : added
    let step = Migration.Step.convertField(type: "Item", field: "text", from: String.self) { _ in .int(1) }
    #expect(throws: BothyError.self) {
      _ = try LocalStore(
        at: path, schema: StoreSchema(version: 2, types: [TypeSchema("Item", fields: fields)]),
        migrations: hasStep ? [Migration(to: 2, step)] : [])
    }
    try expectSetAside()
  }

  /// Promises: S-3
  @Test("After the daily check finds damage, the next opening quarantines and keeps the file")
  func setAside() throws {
    try abandoned()
    let original = try LocalStore(at: copied, schema: schema)
    try original.tamper("UPDATE bothy_meta SET value = '1000' WHERE key = 'checked'")
    try original.close()
    try damage()
    let store = try LocalStore(at: path, schema: schema)
    store.waitForFileCheck()
    try store.close()
    try expectSetAside()
  }

  @Test("The next opening drops a suspicion that it doesn't confirm")
  func unfounded() throws {
    try abandoned()
    try Data().write(to: URL(fileURLWithPath: path + "-suspect"))
    let store = try LocalStore(at: path, schema: schema)
    #expect(try store.count(AnyQuery("Item")) == 500)
    try store.close()
    #expect(!FileManager.default.fileExists(atPath: path + "-suspect"))
  }

  /// Promises: S-3
  @Test(
    "An opening quarantines a file without its first page and says what to do",
    arguments: ["zeroed", "overwritten", "cut off"])
  func firstPage(_ kind: String) throws {
    try abandoned()
    for suffix in ["", "-wal"] { try FileManager.default.removeItem(atPath: path + suffix) }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: copied))
    switch kind {
    case "cut off": bytes = bytes.prefix(50)
    case "zeroed": bytes.replaceSubrange(0..<4096, with: Data(repeating: 0, count: 4096))
    default: bytes.replaceSubrange(0..<4096, with: Data(repeating: 0xA5, count: 4096))
    }
    try bytes.write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: BothyError.self) { _ = try LocalStore(at: path, schema: schema) }
    #expect(error?.code == .corrupt && error?.message.contains("was quarantined") == true, "\(error as Any)")
    let store = try LocalStore(at: path, schema: schema)
    #expect(store.damagedFiles.count == 1)
    try store.write { _ = try $0.insert(AnyRecord("Item", id: "new", ["text": "x"])) }
    try store.close()
  }

  /// Promises: S-3
  @Test("A file whose quarantine ended after the log's rename opens with all records")
  func halfRenamed() throws {
    try abandoned()
    let place = "\(path).damaged-\(Int64(Date().timeIntervalSince1970 * 1000))-wal"
    try FileManager.default.moveItem(atPath: path + "-wal", toPath: place)
    let store = try LocalStore(at: path, schema: schema)
    #expect(try store.count(AnyQuery("Item")) == 500)
    try store.close()
    // The log of an earlier state stays away from a file that was changed since.
    try Data(repeating: 0xA5, count: 32).write(to: URL(fileURLWithPath: path + ".damaged-1-wal"))
    try LocalStore(at: path, schema: schema).close()
    #expect(FileManager.default.fileExists(atPath: path + ".damaged-1-wal"))
  }

  @Test("A file of another kind is refused and left in its place")
  func otherKind() throws {
    for bytes in [Data(repeating: 0, count: 8192), Data("a letter of some length".utf8)] {
      try bytes.write(to: URL(fileURLWithPath: path))
      let error = #expect(throws: BothyError.self) { _ = try LocalStore(at: path, schema: schema) }
      #expect(error?.code == .notADatabase)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }
  }

  /// Promises: S-3
  @Test("A tool opens a damaged file and leaves it in its place")
  func left() throws {
    try abandoned()
    try damage()
    var options = StoreOptions()
    options.damagedFile = .leave
    let store = try LocalStore(at: path, schema: schema, options: options)
    #expect(try !store.diagnose().isHealthy)
    try store.close()
    #expect(FileManager.default.fileExists(atPath: path))
  }
}
