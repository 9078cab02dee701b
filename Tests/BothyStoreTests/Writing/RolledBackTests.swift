import BothyStore
import Testing

/// A transaction that SQLite ends by itself because the disk is full.
@Suite(.timeLimit(.minutes(5))) struct RolledBackTests {
  private let folder: TemporaryFolder
  private let store: Store

  init() throws {
    folder = try TemporaryFolder()
    store = try Store(at: folder.database, schema: todoSchema)
    // SQLite takes the limit of pages for a full disk.
    try store.tamper("PRAGMA max_page_count = \(store.count("PRAGMA page_count") + 2)")
  }

  private let long = String(repeating: "x", count: 100_000)

  @Test("an error of a full disk that the app catches leaves nothing of the transaction")
  func caught() throws {
    expect(.rolledBack) {
      try store.write { transaction in
        try transaction.insert(Tag("first", "first"))
        try? transaction.insert(Tag("long", long))  // fails, which is the point
        try? transaction.insert(Tag("last", "last"))  // fails or not, it must not stay
      }
    }
    #expect(try store.count(RecordQuery<Tag>()) == 0)
    try store.write { try $0.insert(Tag("next", "next")) }
    #expect(try store.count(RecordQuery<Tag>()) == 1)
  }

  @Test("after such an error reads inside the transaction are refused too")
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

  @Test("an error of a full disk that reaches the store says that the disk is full")
  func thrown() throws {
    expect(.diskFull) { try store.write { try $0.insert(Tag("long", long)) } }
    #expect(try store.count(RecordQuery<Tag>()) == 0)
  }
}
