import BothySync
import BothyTesting
import Synchronization
import Testing

@Suite("The async semaphore", .timeLimit(.minutes(5)))
struct AsyncSemaphoreTests {
  @Test("One task at a time passes the semaphore")
  func exclusive() async throws {
    let semaphore = AsyncSemaphore()
    let level = Level()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask {
          try await semaphore.withPermit {
            level.enter()
            await Task.yield()
            level.leave()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(level.most == 1)
    #expect(level.passed == 50)
  }

  @Test("A cancelled waiter leaves at once, and the others pass")
  func cancellation() async throws {
    let semaphore = AsyncSemaphore()
    let latch = Latch()
    let holder = Task { try await semaphore.withPermit { await latch.pass() } }
    await latch.reached()
    let waiters = (0..<9).map { _ in Task { try await semaphore.withPermit { true } } }
    for index in [0, 3, 8] { waiters[index].cancel() }
    for index in [0, 3, 8] { #expect(await throwsCancellation(waiters[index])) }
    latch.open()
    try await holder.value
    for index in [1, 2, 4, 5, 6, 7] { #expect(try await waiters[index].value) }
    #expect(try await semaphore.withPermit { true })
  }

  @Test("A body that throws leaves the semaphore open")
  func throwing() async throws {
    struct Broken: Error {}
    let semaphore = AsyncSemaphore()
    await #expect(throws: Broken.self) { try await semaphore.withPermit { throw Broken() } }
    #expect(try await semaphore.withPermit { true })
  }

  @Test("A task that doesn't wait passes a free semaphore alone, and no other")
  func free() async throws {
    let semaphore = AsyncSemaphore()
    let isAlone = await semaphore.ifFree {
      #expect(semaphore.isInside)
      return await semaphore.ifFree { true } == nil
    }
    #expect(isAlone == true)
    #expect(try await semaphore.withPermit { await semaphore.ifFree { true } } == nil)
    #expect(await semaphore.ifFree { true } == true)
  }

  private func throwsCancellation(_ task: Task<Bool, any Error>) async -> Bool {
    do {
      _ = try await task.value
      return false
    } catch { return error is CancellationError }
  }
}

@Suite("The signal", .timeLimit(.minutes(5)))
struct SignalTests {
  @Test("Rings without a waiter are remembered as one")
  func oneSlot() async {
    let signal = Signal()
    for _ in 0..<5 { signal.ring() }
    #expect(await signal.wait())
    let second = Task { await signal.wait() }
    second.cancel()
    #expect(await second.value == false)
  }

  @Test("A waiter receives the ring that comes later")
  func later() async {
    let signal = Signal()
    let waiter = Task { await signal.wait() }
    await Task.yield()
    signal.ring()
    #expect(await waiter.value)
  }

  @Test("A cancelled wait takes no ring from the next one")
  func cancelled() async {
    let signal = Signal()
    let first = Task { await signal.wait() }
    first.cancel()
    #expect(await first.value == false)
    signal.ring()
    #expect(await signal.wait())
  }
}

/// The number of tasks inside now, and the highest number so far.
private final class Level: Sendable {
  private let counts = Mutex((inside: 0, most: 0, passed: 0))

  var most: Int { counts.withLock { $0.most } }
  var passed: Int { counts.withLock { $0.passed } }

  func enter() {
    counts.withLock { counts in
      counts.inside += 1
      counts.most = max(counts.most, counts.inside)
    }
  }

  func leave() {
    counts.withLock { counts in
      counts.inside -= 1
      counts.passed += 1
    }
  }
}
