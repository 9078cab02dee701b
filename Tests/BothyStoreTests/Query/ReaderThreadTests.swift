import BothyStore
import BothyTestSupport
import Testing

/// Blocking reads beside asynchronous reads, with few readers and threads.
@Suite("Readers and threads", .timeLimit(.minutes(5)))
struct ReaderThreadTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "Blocking reads never keep asynchronous reads from returning their reader",
    .timeLimit(.minutes(5)), arguments: [1, 2])
  func sideBySide(readers: Int) async throws {
    let store = try LocalStore(
      at: folder.database, schema: todoSchema,
      options: StoreOptions(durability: .normal, processes: .single, readers: readers))
    try await store.write { try $0.insert(Todo("a", "here")) }
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<16 {
        group.addTask {
          var found = 0
          for _ in 0..<60 {
            let todo =
              number.isMultiple(of: 2)
              ? try await store.read { try $0.fetch(Todo.self, id: "a") }
              : try Self.waiting(store)
            if todo != nil { found += 1 }
            await Task.yield()
          }
          return found
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts == Array(repeating: 60, count: 16))
    try store.close()
  }

  private static func waiting(_ store: LocalStore) throws -> Todo? {
    try store.read { try $0.fetch(Todo.self, id: "a") }
  }

  @Test("A read of a cancelled task doesn't begin")
  func cancelled() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await store.read { try $0.fetch(Todo.self, id: "a") }
    }
    task.cancel()
    let error = await #expect(throws: BothyError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }
}
