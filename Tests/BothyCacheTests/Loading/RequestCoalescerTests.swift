import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Running loads", .timeLimit(.minutes(5)))
struct RequestCoalescerTests {
  private let coalescer = RequestCoalescer<String, Int>()

  /// Promises: E-12, B-42
  @Test("A hundred callers of one key cause one load, and each receives its result")
  func coalescing() async throws {
    let gate = Latch()
    let loads = Locked(0)
    let results = try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 0..<100 {
        group.addTask { [coalescer] in
          try? await coalescer.value(for: "tile") { _ in
            loads.change { $0 += 1 }
            await gate.pass()
            return 7
          }
        }
      }
      try await until { coalescer.waiterCount("tile") == 100 }
      gate.open()
      return try await group.reduce(into: [Int?]()) { $0.append($1) }
    }
    #expect(results == Array(repeating: 7, count: 100))
    #expect(loads.value == 1)
    #expect(coalescer.count == 0)
  }

  /// Promises: B-27, E-13, R-32
  @Test("A cancelled caller ends at once, and other callers receive the load's result")
  func oneCancels() async throws {
    let gate = Latch()
    let loads = Locked(0)
    let callers = (0..<3).map { _ in
      Task { [coalescer] in
        try await coalescer.value(for: "tile") { _ in
          loads.change { $0 += 1 }
          await gate.pass()
          return Task.isCancelled ? -1 : 7
        }
      }
    }
    try await until { coalescer.waiterCount("tile") == 3 }
    callers[0].cancel()
    #expect(await callers[0].failure == .cancelled)
    #expect(coalescer.waiterCount("tile") == 2)
    gate.open()
    #expect(try await callers[1].value == 7)
    #expect(try await callers[2].value == 7)
    #expect(loads.value == 1)
  }

  /// Promises: E-13, R-32
  @Test("The last caller's cancellation cancels the load, whose late result is still used")
  func lastOut() async throws {
    let (gate, started) = (Latch(), Latch())
    let finished = Locked<[Bool]>([])
    let work: RequestCoalescer<String, Int>.Work = { _ in
      started.open()
      await gate.pass()
      finished.change { $0.append(Task.isCancelled) }
      return 7
    }
    let first = Task { [coalescer] in try await coalescer.value(for: "tile", work) }
    await started.pass()
    first.cancel()
    #expect(await first.failure == .cancelled)
    #expect(coalescer.count == 1, "the load is ending, but still there")
    let second = Task { [coalescer] in try await coalescer.value(for: "tile", work) }
    try await until { coalescer.waiterCount("tile") == 1 }
    gate.open()
    #expect(try await second.value == 7)
    #expect(finished.value == [true], "one load, which was told to stop")
  }

  @Test("A caller that joins a load ending without a result starts the next")
  func afterCancelled() async throws {
    let gate = Latch()
    let running = Locked((now: 0, most: 0, loads: 0))
    let work: RequestCoalescer<String, Int>.Work = { _ throws(LoadFailure) in
      let number = running.change { state -> Int in
        state.now += 1
        state.loads += 1
        state.most = max(state.most, state.now)
        return state.loads
      }
      defer { running.change { $0.now -= 1 } }
      if number == 1 {
        await gate.pass()
        throw LoadFailure(.cancelled, "Stopped.")
      }
      return number
    }
    let first = Task { [coalescer] in try await coalescer.value(for: "tile", work) }
    await gate.reached()
    first.cancel()
    _ = await first.result
    let others = (0..<5).map { _ in Task { [coalescer] in try await coalescer.value(for: "tile", work) } }
    try await until { coalescer.waiterCount("tile") == 5 }
    gate.open()
    for other in others { #expect(try await other.value == 2) }
    #expect(running.value.most == 1)
    #expect(running.value.loads == 2)
  }

  @Test(
    "A load has the highest priority of its current callers")
  func priorities() async throws {
    let gate = Latch()
    let seen = Locked<InFlightRequest?>(nil)
    let work: RequestCoalescer<String, Int>.Work = { inFlight in
      seen.change { $0 = inFlight }
      await gate.pass()
      return 1
    }
    let low = Task { [coalescer] in try await coalescer.value(for: "tile", priority: .prefetch, work) }
    await gate.reached()
    #expect(seen.value?.priority == .prefetch)
    let high = Task { [coalescer] in try await coalescer.value(for: "tile", priority: .visible, work) }
    try await until { coalescer.waiterCount("tile") == 2 }
    #expect(seen.value?.priority == .visible)
    high.cancel()
    _ = await high.result
    #expect(seen.value?.priority == .prefetch)
    gate.open()
    #expect(try await low.value == 1)
  }

  @Test("All callers receive progress, and a late one receives the last report")
  func progress() async throws {
    let gate = Latch()
    let told = Locked<[String]>([])
    let work: RequestCoalescer<String, Int>.Work = { inFlight in
      inFlight.report(ResourceCache.Progress(received: 10, expected: 20))
      await gate.pass()
      inFlight.report(ResourceCache.Progress(received: 20, expected: 20))
      return 1
    }
    let first = Task { [coalescer] in
      try await coalescer.value(
        for: "a", progress: { p in told.change { $0.append("a\(p.received)") } }, work)
    }
    await gate.reached()
    let second = Task { [coalescer] in
      try await coalescer.value(
        for: "a", progress: { p in told.change { $0.append("b\(p.received)") } }, work)
    }
    try await until { told.value.count == 2 }
    gate.open()
    _ = try await (first.value, second.value)
    #expect(told.value.sorted() == ["a10", "a20", "b10", "b20"])
  }
}

extension Task where Success: Sendable {
  /// The reason of the task's failure, or `nil` if it succeeded.
  var failure: LoadFailure.Reason? {
    get async {
      guard case .failure(let error) = await result else { return nil }
      return (error as? LoadFailure)?.reason
    }
  }
}
