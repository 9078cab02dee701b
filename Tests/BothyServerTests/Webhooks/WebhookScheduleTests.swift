import BothyServer
import BothyStore
import BothySync
import Testing

@Suite("The order of a webhook's deliveries", .timeLimit(.minutes(5)))
struct WebhookScheduleTests {
  private func schedule(width: Int = 2, capacity: Int = 3) -> WebhookSchedule {
    WebhookSchedule(width: width, capacity: capacity, backoff: Backoff(random: { 0 }))
  }

  @Test("A space is delivered once at a time, and again if news came meanwhile")
  func again() {
    var schedule = schedule()
    schedule.news("a")
    schedule.news("a")
    #expect(schedule.next(at: 0) == "a")
    schedule.news("a")
    #expect(schedule.next(at: 0) == nil)
    schedule.ended("a", .done(isSuccess: true), at: 0)
    #expect(schedule.next(at: 0) == "a")
    schedule.ended("a", .done(isSuccess: true), at: 0)
    #expect(schedule.next(at: 0) == nil && schedule.isIdle)
  }

  @Test("Spaces with more changes let others come first")
  func turns() {
    var schedule = schedule(width: 1)
    schedule.news("a")
    schedule.news("b")
    #expect(schedule.next(at: 0) == "a")
    #expect(schedule.next(at: 0) == nil, "one at a time")
    schedule.ended("a", .more(isSuccess: true), at: 0)
    #expect(schedule.next(at: 0) == "b")
    schedule.ended("b", .done(isSuccess: true), at: 0)
    #expect(schedule.next(at: 0) == "a")
  }

  @Test("Spaces beyond the capacity are left out, which is noted")
  func capacity() {
    var schedule = schedule()
    for space in ["a", "b", "c"] { schedule.news(space) }
    #expect(schedule.isFull && !schedule.isIncomplete)
    schedule.news("d")
    schedule.news("a")
    #expect(schedule.isIncomplete)
    schedule.beginSearch()
    #expect(!schedule.isIncomplete)
  }

  @Test("A failed space waits for its time, and news doesn't hurry it")
  func waiting() {
    var schedule = schedule()
    schedule.news("a")
    _ = schedule.next(at: 0)
    schedule.ended("a", .failed(until: 500), at: 0)
    schedule.news("a")
    #expect(schedule.failing == 1 && schedule.moment == 500)
    #expect(schedule.next(at: 499) == nil)
    #expect(schedule.next(at: 500) == "a" && schedule.failing == 0)
    schedule.ended("a", .waits(until: 900), at: 500)
    #expect(schedule.failing == 0 && schedule.moment == 900 && schedule.next(at: 899) == nil)
    #expect(schedule.next(at: 900) == "a")
  }

  @Test("After three failures in a row one space is attempted at a time")
  func struggling() {
    var schedule = schedule(width: 3, capacity: 9)
    for space in ["a", "b", "c", "d"] { schedule.news(space) }
    for _ in 0..<3 { _ = schedule.next(at: 0) }
    for space in ["a", "b", "c"] { schedule.ended(space, .failed(until: 10_000), at: 0) }
    #expect(schedule.next(at: 0) == nil, "the webhook pauses as a whole")
    #expect(schedule.moment == 100, "a tenth of the first bound")
    #expect(schedule.next(at: 100) == "d")
    schedule.news("e")
    #expect(schedule.next(at: 100) == nil, "the attempt is alone")
    schedule.ended("d", .done(isSuccess: true), at: 100)
    #expect(schedule.failing == 0)
    #expect([0, 1, 2].map { _ in schedule.next(at: 100) } == ["e", "a", "b"], "all go on at once")
  }

  @Test("Another space's success cuts no wait short that the receiver demanded")
  func demanded() {
    var schedule = schedule(width: 3, capacity: 9)
    for space in ["a", "b", "c", "d"] { schedule.news(space) }
    for _ in 0..<3 { _ = schedule.next(at: 0) }
    schedule.ended("a", .failed(until: 10_000, demanded: 9000), at: 0)
    for space in ["b", "c"] { schedule.ended(space, .failed(until: 10_000), at: 0) }
    #expect(schedule.next(at: 100) == "d")
    schedule.ended("d", .done(isSuccess: true), at: 100)
    #expect([0, 1, 2].map { _ in schedule.next(at: 100) } == ["b", "c", nil])
    #expect(schedule.failing == 1 && schedule.moment == 9000)
    #expect(schedule.next(at: 8999) == nil)
    #expect(schedule.next(at: 9000) == "a")
  }

  @Test("Pauses of a failing webhook grow up to a bound")
  func pauses() {
    var schedule = schedule(width: 1, capacity: 9)
    var pauses: [Int64] = []
    var now: Int64 = 0
    schedule.news("a")
    for _ in 0..<12 {
      guard let moment = schedule.moment else { break }
      pauses.append(max(0, moment - now))
      now = max(now, moment)
      guard let space = schedule.next(at: now) else { break }
      schedule.ended(space, .failed(until: now), at: now)
    }
    #expect(pauses.count == 12)
    #expect(Array(pauses.suffix(2)) == [6000, 6000], "a tenth of a minute")
    #expect(pauses == pauses.sorted())
  }

  @Test("After 410 nothing is delivered any longer")
  func gone() {
    var schedule = schedule()
    for space in ["a", "b"] { schedule.news(space) }
    _ = schedule.next(at: 0)
    schedule.ended("a", .gone, at: 0)
    schedule.news("c")
    #expect(schedule.isDisabled && schedule.next(at: .max) == nil && schedule.moment == nil)
  }
}
