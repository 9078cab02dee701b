import BothyStore
import BothyTestSupport
import Foundation
import Testing

/// The order in which listeners receive commits.
@Suite(.timeLimit(.minutes(5))) struct EventOrderTests {
  @Test("Events arrive in the order of the commits, from any thread")
  func order() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    let events = store.events
    let calls = Calls()
    let (threads, writes) = (4, 500)
    DispatchQueue.concurrentPerform(iterations: threads) { _ in
      for _ in 0..<writes {
        try? store.write { transaction in  // A failure shows as a missing event.
          try transaction.insert(Todo("\(calls.add())"))
        }
      }
    }
    try store.close()
    var told: [Int] = []
    for await event in events { told += event.compactMap { Int($0.record.id) } }
    #expect(told == Array(1...threads * writes))
  }

  @Test("The events of a closed store end at once")
  func closed() async throws {
    let store = try LocalStore(inMemory: todoSchema)
    try store.close()
    for await _ in store.events { Issue.record("A closed store reports a commit.") }
  }
}
