import BothyStore
import BothyTestSupport
import Dispatch
import Testing

/// Notices that meet a busy dispatcher or a closed store.
@Suite("Notices of commits", .timeLimit(.minutes(5))) struct NoticeTests {
  @Test("Commits during a slow read are all reported after it")
  func merged() async throws {
    let folder = try TemporaryFolder()
    let store = try LocalStore(
      at: folder.database, schema: todoSchema, options: StoreOptions(durability: .normal, processes: .single))
    let entered = Received<Int>()
    let gate = DispatchSemaphore(value: 0)
    defer { gate.signal() }
    var commits = store.commits.makeAsyncIterator()
    // All observations share the thread that this read holds. Commits gather meanwhile.
    let slow = store.observe(.types("Tag")) { transaction in
      entered.append(1)
      gate.wait()
      return try transaction.exists(RecordID(type: "Tag", id: "t"))
    }
    let consumer = Task {
      var values = slow.makeAsyncIterator()
      return try await values.next()
    }
    try await until { entered.values.count == 1 }
    try await store.write { try $0.insert(Todo("a")) }
    try await store.write { try $0.insert(Todo("b")) }
    gate.signal()
    #expect(await commits.next()?.records == ["Todo": .some(["a", "b"])])
    #expect(try await consumer.value == false)
  }

  @Test("An observation that begins after closing ends at once")
  func late() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.close()
    let titles = store.values(of: Todo.self, id: "a", \.title)
    let valuesEnd = try await withDeadline {
      var iterator = titles.makeAsyncIterator()
      return try await iterator.next() == nil
    }
    #expect(valuesEnd)
    let commits = store.commits
    let commitsEnd = try await withDeadline {
      var iterator = commits.makeAsyncIterator()
      return await iterator.next() == nil
    }
    #expect(commitsEnd)
  }
}
