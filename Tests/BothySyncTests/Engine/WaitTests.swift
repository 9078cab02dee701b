import BothySync
import BothyTestSupport
import Testing

@Suite("One task's wait", .timeLimit(.minutes(5)))
struct WaitTests {
  @Test("A wait ends with the first value, before or after it begins", arguments: [false, true])
  func first(isEarly: Bool) async throws {
    let wait = Wait<Int>()
    if isEarly { #expect(wait.end(with: .success(1))) }
    let task = Task { try await wait.value() }
    if !isEarly {
      await Task.yield()
      #expect(wait.end(with: .success(1)))
    }
    #expect(!wait.end(with: .success(2)))
    task.cancel()
    #expect(try await task.value == 1)
  }

  @Test("A cancelled wait throws, says so once, and takes no value")
  func cancelled() async throws {
    let (wait, calls) = (Wait<Int>(), Received<Bool>())
    let task = Task { try await wait.value { calls.append(true) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!wait.end(with: .success(1)))
    #expect(calls.values == [true])
  }

  @Test("A wait in a cancelled task throws at once")
  func before() async throws {
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await Wait<Int>().value()
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
