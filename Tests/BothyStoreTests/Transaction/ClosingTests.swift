import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite("Closing a store", .timeLimit(.minutes(5)))
struct ClosingTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func use(_ store: LocalStore, _ number: Int) throws {
    switch number {
    case 0: _ = try store.read { try $0.fetch(Todo.self, id: "a") }
    case 1: _ = try store.fetch(Todo.self, id: "a")
    case 2: try store.write { try $0.update(Todo.self, id: "a") { $0.done.toggle() } }
    default: break
    }
  }

  @Test("Calls during the closing of a store are finished or refused")
  func races() async throws {
    for round in 0..<40 {
      let store = try LocalStore(at: folder.path + "/\(round).bothy", schema: todoSchema)
      try await store.write { try $0.insert(Todo("a", "first")) }
      let observed = Task { for try await _ in store.values(of: Todo.self, id: "a") {} }
      let users = (0..<4).map { number in
        Task.detached { () async -> any Error in
          do {
            while true {
              await Task.yield()
              if number == 3 { _ = try await store.read { try $0.fetch(Todo.self, id: "a") } }
              try Self.use(store, number)
            }
          } catch { return error }
        }
      }
      for _ in 0..<round { await Task.yield() }
      try store.close()
      for user in users {
        let error = await user.value
        #expect(error is BothyError, "\(error)")
      }
      _ = await observed.result
      let again = try LocalStore(at: folder.path + "/\(round).bothy", schema: todoSchema)
      #expect(try await again.fetch(Todo.self, id: "a") != nil)
      try again.close()
    }
  }

  @Test("After closing every call is refused, and closing again does nothing")
  func afterwards() async throws {
    for store in [
      try LocalStore(at: folder.database, schema: todoSchema), try LocalStore(inMemory: todoSchema),
    ] {
      try store.close()
      try store.close()
      for number in 0..<3 { #expect(throws: BothyError.self) { try Self.use(store, number) } }
      await #expect(throws: BothyError.self) { try await store.read { try $0.fetch(Todo.self, id: "a") } }
    }
  }
}
