import BothyStore
import Testing

/// Reads that block their thread beside reads that do not, where readers and threads are few.
@Suite("Readers and threads", .timeLimit(.minutes(5)))
struct ReaderThreadTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "Reads that wait on their thread never keep those that do not from giving their reader back",
    .timeLimit(.minutes(5)), arguments: [1, 2])
  func sideBySide(readers: Int) async throws {
    let store = try Store(
      at: folder.database, schema: todoSchema,
      options: StoreOptions(durability: .normal, processes: .single, readers: readers))
    try await store.write { try $0.insert(Todo("a", "here")) }
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<16 {
        group.addTask {
          var found = 0
          for _ in 0..<200 {
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
    #expect(counts == Array(repeating: 200, count: 16))
    try store.close()
  }

  private static func waiting(_ store: Store) throws -> Todo? {
    try store.read { try $0.fetch(Todo.self, id: "a") }
  }

  @Test("A read of a task that was cancelled is not begun")
  func cancelled() async throws {
    let store = try Store(inMemory: todoSchema)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await store.read { try $0.fetch(Todo.self, id: "a") }
    }
    task.cancel()
    let error = await #expect(throws: StoreError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }
}
