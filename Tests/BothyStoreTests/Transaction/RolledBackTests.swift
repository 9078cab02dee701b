import BothyStore
import BothyTestSupport
import Testing

/// A transaction that SQLite ends by itself because the disk is full.
@Suite(.timeLimit(.minutes(5))) struct RolledBackTests {
  private let folder: TemporaryFolder
  private let store: LocalStore

  init() throws {
    folder = try TemporaryFolder()
    store = try LocalStore(at: folder.database, schema: todoSchema)
    // SQLite treats the limit of pages as a full disk.
    try store.tamper("PRAGMA max_page_count = \(store.count("PRAGMA page_count") + 2)")
  }

  private let long = String(repeating: "x", count: 100_000)

  @Test("Nothing of a transaction stays after a caught error of a full disk")
  func caught() throws {
    expect(.rolledBack) {
      try store.write { transaction in
        try transaction.insert(Tag("first", "first"))
        try? transaction.insert(Tag("long", long))  // This must fail.
        try? transaction.insert(Tag("last", "last"))  // It may fail, but must not stay.
      }
    }
    #expect(try store.count(RecordQuery<Tag>()) == 0)
    try store.write { try $0.insert(Tag("next", "next")) }
    #expect(try store.count(RecordQuery<Tag>()) == 1)
  }

  @Test("Reads inside the transaction are refused after such an error")
  func reads() throws {
    var refused = 0
    expect(.rolledBack) {
      try store.write { transaction in
        do { try transaction.insert(Tag("long", long)) } catch { refused += 1 }
        do { _ = try transaction.fetch(Tag.self, id: "first") } catch { refused += 1 }
        do { _ = try transaction.fetch(RecordQuery<Tag>()) } catch { refused += 1 }
      }
    }
    #expect(refused == 3)
  }

  @Test("An uncaught error of a full disk says that the disk is full")
  func thrown() throws {
    expect(.diskFull) { try store.write { try $0.insert(Tag("long", long)) } }
    #expect(try store.count(RecordQuery<Tag>()) == 0)
  }
}
