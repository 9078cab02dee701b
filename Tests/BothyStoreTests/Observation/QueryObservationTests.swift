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
