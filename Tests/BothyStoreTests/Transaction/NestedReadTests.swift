import BothyStore
import BothyTestSupport
import Testing

/// Reads that begin inside a transaction of the same store.
@Suite(.timeLimit(.minutes(5))) struct NestedReadTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func store(inMemory: Bool) throws -> LocalStore {
    let store =
      try inMemory ? LocalStore(inMemory: todoSchema) : LocalStore(at: folder.database, schema: todoSchema)
    try store.write { try $0.insert(Todo("a", "first")) }
    return store
  }

  private let one = RecordID(type: "Todo", id: "a")

  /// Returns the number of records that each way to read finds, inside the caller's transaction.
  private func found(_ store: LocalStore) throws -> [Int] {
    [
      try store.fetch(RecordQuery<Todo>()).count, try store.fetch(AnyQuery("Todo")).count,
      try store.count(RecordQuery<Todo>()), try store.read { try $0.count(RecordQuery<Todo>()) },
      try store.fetch(Todo.self, id: "a") == nil ? 0 : 1, try store.record(one) == nil ? 0 : 1,
    ]
  }

  @Test("A read inside a read of one store sees the same moment", arguments: [true, false])
  func read(inMemory: Bool) throws {
    let store = try store(inMemory: inMemory)
    #expect(try store.read { _ in try found(store) } == [1, 1, 1, 1, 1, 1])
  }

  @Test("A read inside a write sees the changes of the write", arguments: [true, false])
  func write(inMemory: Bool) throws {
    let store = try store(inMemory: inMemory)
    let inside = try store.write { transaction in
      try transaction.delete(Todo.self, id: "a")
      return try found(store)
    }
    #expect(inside == [0, 0, 0, 0, 0, 0])
  }

  @Test("An asynchronous read inside an asynchronous transaction joins it too", arguments: [true, false])
  func asynchronous(inMemory: Bool) async throws {
    let store = try store(inMemory: inMemory)
    #expect(try await store.read { _ in try store.count(RecordQuery<Todo>()) } == 1)
    let inside = try await store.write { transaction in
      try transaction.insert(Todo("b"))
      return try store.count(RecordQuery<Todo>())
    }
    #expect(inside == 2)
  }

  @Test("A read inside the closure of an observation joins its transaction", arguments: [true, false])
  func observed(inMemory: Bool) async throws {
    let store = try store(inMemory: inMemory)
    let counts = store.observe(.types("Todo")) { _ in try store.count(RecordQuery<Todo>()) }
    var answers = counts.makeAsyncIterator()
    #expect(try await answers.next() == 1)
    try await store.write { try $0.insert(Todo("b")) }
    #expect(try await answers.next() == 2)
  }

  @Test("A write inside a write or a read in memory is refused")
  func refused() throws {
    for inMemory in [true, false] {
      let store = try store(inMemory: inMemory)
      expect(.nestedWrite) { try store.write { _ in try store.write { _ in } } }
      if inMemory { expect(.nestedWrite) { try store.read { _ in try store.write { _ in } } } }
      try store.read { _ in
        guard !inMemory else { return }
        try store.write { try $0.insert(Todo("b")) }
        #expect(try store.count(RecordQuery<Todo>()) == 1, "the read stays at its moment")
      }
    }
  }

  @Test("Two stores can read inside one another's transactions")
  func two() throws {
    let (first, second) = (try store(inMemory: true), try LocalStore(inMemory: todoSchema))
    try first.write { _ in
      try second.write { transaction in
        try transaction.insert(Todo("x"))
        try transaction.insert(Todo("y"))
        #expect(try first.count(RecordQuery<Todo>()) == 1)
        #expect(try second.count(RecordQuery<Todo>()) == 2)
      }
    }
  }
}
