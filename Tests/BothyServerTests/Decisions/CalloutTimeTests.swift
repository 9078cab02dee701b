import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// A back end that is slow, away or crowded.
@Suite("Time and places of the call-out", .timeLimit(.minutes(5)))
struct CalloutTimeTests {
  private static let proposal = WriteProposal(
    space: "hut", user: Caller("ann"), time: 1000,
    writes: [ProposedWrite(operation: "op-1", kind: .insert, record: RecordID(type: "Todo", id: "1"))])

  private struct Down: Error {}

  /// Promises: A-30
  @Test("A hanging back end is given up after the time limit, then left alone")
  func hangs() async throws {
    let (clock, time) = (VirtualClock(), ClockUnderTest())
    let backEnd = BackEndUnderTest { _ in
      try await clock.sleep(for: .seconds(3600))
      return BackEndUnderTest.text("")
    }
    let callout = try backEnd.callout(clock: clock, now: { time.now })
    let task = Task { try await callout.decisions(on: Self.proposal) }
    await clock.waitForSleepers(2)
    #expect(clock.sleepers == [.seconds(2), .seconds(3600)])
    clock.advance(by: .seconds(2))
    let late = try await task.value
    #expect(late.first?.outage?.contains("in time") == true)
    #expect(clock.sleepers.isEmpty, "the request was cancelled")
    backEnd.set { try BackEndUnderTest.accepting($0) }
    time.now += 999
    #expect(try await callout.decisions(on: Self.proposal).first?.outage?.contains("a moment ago") == true)
    #expect(backEnd.requests.count == 1)
    time.now += 1
    #expect(try await callout.decisions(on: Self.proposal) == [.accept])
    #expect(try await callout.decisions(on: Self.proposal) == [.accept])
  }

  @Test("An unreachable back end is an outage, which a wrong clock doesn't prolong")
  func away() async throws {
    let time = ClockUnderTest()
    let backEnd = BackEndUnderTest { _ in throw Down() }
    let callout = try backEnd.callout(now: { time.now })
    #expect(try await callout.decisions(on: Self.proposal).first?.outage?.contains("reached") == true)
    backEnd.set { try BackEndUnderTest.accepting($0) }
    time.now -= 60_000
    #expect(try await callout.decisions(on: Self.proposal) == [.accept])
  }

  @Test("An answer without decisions doesn't keep other requests from being sent")
  func unusable() async throws {
    let backEnd = BackEndUnderTest { _ in BackEndUnderTest.text("", status: 500) }
    let callout = try backEnd.callout()
    for _ in 0..<2 {
      #expect(try await callout.decisions(on: Self.proposal).first?.outage?.contains("500") == true)
    }
    #expect(backEnd.requests.count == 2)
  }

  @Test("Requests beyond the places and the line are refused at once")
  func crowded() async throws {
    let latch = Latch()
    let backEnd = BackEndUnderTest { request in
      await latch.pass()
      return try BackEndUnderTest.accepting(request)
    }
    var limits = WriteCallout.Limits()
    limits.requests = 1
    let callout = try backEnd.callout(limits)
    try await withThrowingTaskGroup(of: [WriteDecision].self) { tasks in
      tasks.addTask { try await callout.decisions(on: Self.proposal) }
      await latch.reached()
      // Four wait in line, so the first that ends is the fifth.
      for _ in 0..<5 { tasks.addTask { try await callout.decisions(on: Self.proposal) } }
      let first = try #require(try await tasks.next())
      #expect(first.first?.outage?.contains("too many requests") == true)
      #expect(backEnd.requests.count == 1)
      latch.open()
      while let decisions = try await tasks.next() { #expect(decisions == [.accept]) }
    }
    #expect(backEnd.requests.count == 5)
  }

  @Test("A request that mostly waited in line doesn't count as silence")
  func waits() async throws {
    let clock = VirtualClock()
    let backEnd = BackEndUnderTest { request in
      try await clock.sleep(for: .milliseconds(1500))
      return try BackEndUnderTest.accepting(request)
    }
    var limits = WriteCallout.Limits()
    limits.requests = 1
    let callout = try backEnd.callout(limits, clock: clock)
    let first = Task { try await callout.decisions(on: Self.proposal) }
    await clock.waitForSleepers(2)
    let second = Task { try await callout.decisions(on: Self.proposal) }
    await clock.waitForSleepers(3)
    clock.advance(by: .milliseconds(1500))
    #expect(try await first.value == [.accept])
    await clock.waitForSleepers(2)
    clock.advance(by: .milliseconds(500))
    #expect(try await second.value.first?.outage?.contains("too many requests") == true)
    backEnd.set { try BackEndUnderTest.accepting($0) }
    #expect(try await callout.decisions(on: Self.proposal) == [.accept])
  }

  @Test("A caller who leaves ends the call-out, and causes no outage")
  func leaves() async throws {
    let clock = VirtualClock()
    let backEnd = BackEndUnderTest { request in
      try await clock.sleep(for: .seconds(1))
      return try BackEndUnderTest.accepting(request)
    }
    let callout = try backEnd.callout(clock: clock)
    let task = Task { try await callout.decisions(on: Self.proposal) }
    await clock.waitForSleepers(2)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let other = Task { try await callout.decisions(on: Self.proposal) }
    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(1))
    #expect(try await other.value == [.accept])
  }
}
