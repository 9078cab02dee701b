import BothyStore
import BothyTestSupport
import GRDB
import Testing

@Suite(.timeLimit(.minutes(10)))
struct QueryObservationTests {
  let store: LocalStore
  let open = AnyQuery("Todo", where: .compare(field: "done", .equal, false), order: [SortKey("title")])

  init() throws { store = try LocalStore(inMemory: todoSchema) }

  @Test("A query delivers its records when they change, not when others do")
  func records() async throws {
    var typed = store.values(of: RecordQuery<Todo>(open)).makeAsyncIterator()
    var untyped = store.values(of: open).makeAsyncIterator()
    #expect(try await typed.next() == [])
    #expect(try await untyped.next() == [])
    try await store.write { try $0.insert(Todo("x", "done", done: true)) }
    try await store.write { try $0.insert(Tag("t", "tag")) }
    try await store.write { transaction in
      try transaction.insert(Todo("b", "2"))
      try transaction.insert(Todo("a", "3"))
    }
    #expect(try await typed.next()?.map(\.id) == ["b", "a"])
    #expect(try await untyped.next()?.map(\.id) == ["b", "a"])
    try await store.write { try $0.update(Todo.self, id: "b") { $0.title = "4" } }
    #expect(try await typed.next()?.map(\.title) == ["3", "4"])
    try await store.write { try $0.update(Todo.self, id: "b") { $0.done = true } }
    #expect(try await typed.next()?.map(\.id) == ["a"])
  }

  @Test("A count is delivered when it changes")
  func counts() async throws {
    var counts = store.values(of: RecordQuery<Todo>(open).count()).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try await store.write { try $0.insert(Todo("a", "1")) }
    #expect(try await counts.next() == 1)
    try await store.write { try $0.update(Todo.self, id: "a") { $0.title = "2" } }
    try await store.write { try $0.insert(Todo("b", "1")) }
    #expect(try await counts.next() == 2)
  }

  @Test("Observers of equal questions share one read a commit")
  func shared() async throws {
    struct Titles: ReadRequest {
      let reads: Calls
      let type: String
      var plan: ReadTransaction.Plan<Int> {
        ReadTransaction.Plan(.types("Todo"), ReadIdentity(words: ["titles", type])) {
          [reads] transaction, fingerprint in
          reads.add()
          let count = try transaction.count(AnyQuery("Todo"))
          fingerprint?.combine(count)
          return count
        }
      }
    }
    let (reads, others) = (Calls(), Calls())
    let seen = Received<Int>()
    let requests = Array(repeating: Titles(reads: reads, type: "caf\u{e9}"), count: 10)
    let observers = (requests + [Titles(reads: others, type: "cafe\u{301}")]).map { request in
      Task { [store] in for try await count in store.values(of: request) { seen.append(count) } }
    }
    try await until { seen.values.count == 11 }
    let before = reads.count
    // Few of the observers wait for the first commits, and nearly all for one of the later ones.
    for round in 1...20 {
      try await store.write { try $0.insert(Todo("\(round)", "1")) }
      try await until { seen.values.count == 11 * (round + 1) }
    }
    for observer in observers { observer.cancel() }
    #expect(reads.count - before < 10 * 20 && others.count >= 21)
  }

  @Test("A new spelling of a letter is a change of a record")
  func spellings() async throws {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    let library = try LocalStore(inMemory: StoreSchema(Book.self, Shelf.self))
    try await library.write { transaction in
      try transaction.insert(Shelf("s", composed, 0))
      try transaction.insert(Book("b", "title", pages: 1, shelf: "s"))
    }
    var shelf = library.values(of: Shelf.self, id: "s").makeAsyncIterator()
    var books = library.values(of: Book.all.with(\.shelf)).makeAsyncIterator()
    #expect(try await shelf.next()??.name.utf8.count == 5)
    #expect(try await books.next()?.first?.related.name.utf8.count == 5)
    try await library.write { _ = try $0.update(Shelf.self, id: "s") { $0.name = decomposed } }
    #expect(try await shelf.next()??.name.utf8.count == 6)
    #expect(try await books.next()?.first?.related.name.utf8.count == 6)
  }

  @Test("A negative limit of children is refused, as that of other queries")
  func negativeLimit() throws {
    let library = try LocalStore(inMemory: StoreSchema(Book.self, Shelf.self))
    try library.write { try $0.insert(Shelf("s", "name", 0)) }
    expect(.invalidQuery) {
      _ = try library.read { try $0.fetch(Shelf.all.with(Book.all.limit(-1), by: \.shelf)) }
    }
    expect(.invalidQuery) {
      _ = try library.read { try $0.fetch(Shelf.all.with(Book.all.limit(1, offset: -1), by: \.shelf)) }
    }
  }

  @Test("An error of the file reaches an observation as the store's own")
  func broken() async throws {
    let folder = try TemporaryFolder()
    let store = try LocalStore(at: folder.database, schema: todoSchema)
    let second = try LocalStore(at: folder.database, schema: todoSchema)
    var values = store.values(of: AnyQuery("Tag")).makeAsyncIterator()
    #expect(try await values.next() == [])
    try await DatabaseQueue(path: folder.database).write { try $0.execute(sql: "DROP TABLE Tag") }
    try await second.write { try $0.insert(Todo("a", "1")) }
    let error = await #expect(throws: BothyError.self) {
      while try await values.next(isolation: nil) != nil {}
    }
    #expect(error?.message.contains("Tag") == true, "\(error?.message ?? "")")
  }
}
