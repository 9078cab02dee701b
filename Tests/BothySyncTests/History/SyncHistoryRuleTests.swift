import BothySync
import Testing

@Suite("The rule of the sync log", .timeLimit(.minutes(5)))
struct SyncHistoryRuleTests {
  private static let start: Int64 = 1_000_000

  /// Returns a sync that ended `after` milliseconds after the start and took `length`.
  private func run(
    _ problem: SyncStop? = nil, after: Int64 = 0, length: Int64 = 100, pushed: Int = 0, rejected: Int = 0,
    requests: Int = 0
  ) -> StoreMaintenance.SyncRun {
    let end = Self.start + after
    return StoreMaintenance.SyncRun(
      began: end - length, ended: end, pushed: pushed, rejected: rejected, requests: requests,
      problem: problem)
  }

  private let failed = SyncStop.unreachable("No route to the host.")

  @Test("The first sync of a file is recorded, however it ended")
  func first() {
    for problem in [nil, failed] { #expect(SyncHistoryRule.verdict(on: run(problem), after: nil) == .row) }
  }

  @Test("A sync that moved records is recorded each time, whatever its end")
  func moved() {
    for problem in [nil, failed] {
      for last in [nil, failed] {
        let verdict = SyncHistoryRule.verdict(
          on: run(problem, after: 10, pushed: 1), after: run(last, pushed: 1))
        #expect(verdict == .row)
      }
    }
  }

  @Test("A sync without work after a successful one is not recorded")
  func idle() {
    for last in [run(), run(pushed: 3), run(rejected: 2)] {
      for after in [10, 30_000, 86_400_000] {
        #expect(SyncHistoryRule.verdict(on: run(after: Int64(after), requests: 1), after: last) == .nothing)
      }
    }
  }

  @Test("The first failure and the first success after failures are recorded at once")
  func turned() {
    #expect(SyncHistoryRule.verdict(on: run(failed, after: 10), after: run()) == .row)
    #expect(SyncHistoryRule.verdict(on: run(after: 10), after: run(failed)) == .row)
    #expect(SyncHistoryRule.verdict(on: run(.throttled("Later."), after: 10), after: run(failed)) == .row)
    #expect(SyncHistoryRule.verdict(on: run(after: 10, rejected: 1), after: run()) == .row)
  }

  @Test("Equal failures are counted, in the file once a minute at most")
  func repeated() {
    let last = run(failed)
    let other = SyncStop.unreachable("The name was not found.")
    for problem in [failed, other] {
      for after in [0, 1, 59_999] {
        #expect(SyncHistoryRule.verdict(on: run(problem, after: Int64(after)), after: last) == .countLater)
      }
      #expect(SyncHistoryRule.verdict(on: run(problem, after: 60_000), after: last) == .count)
    }
    #expect(SyncHistoryRule.verdict(on: run(after: 60_000, rejected: 2), after: run(rejected: 2)) == .count)
  }

  @Test(
    "A failure after one with work done has a row of its own"
  )
  func repeatedAfterWork() {
    #expect(SyncHistoryRule.verdict(on: run(failed, after: 10), after: run(failed, pushed: 2)) == .row)
  }

  @Test("A clock that was set back delays no count")
  func clockSetBack() {
    #expect(SyncHistoryRule.verdict(on: run(failed, after: -3_600_000), after: run(failed)) == .count)
  }

  @Test("Refusals of a whole request are distinguished by their codes")
  func codes() {
    let last = run(.refused(code: "wrongAccount", "no"))
    #expect(
      SyncHistoryRule.verdict(on: run(.refused(code: "wrongSpace", "no"), after: 1), after: last) == .row)
    #expect(
      SyncHistoryRule.verdict(on: run(.refused(code: "wrongAccount", "No."), after: 1), after: last)
        == .countLater)
  }

  @Test("Syncs that were skipped or stopped by signing out are not recorded")
  func leftOut() {
    for problem in [SyncStop.alreadyRunning, .signedOut] {
      #expect(SyncHistoryRule.verdict(on: run(problem), after: nil) == .nothing)
    }
  }

  @Test("A cancelled sync is recorded if it sent a request or took long")
  func cancelled() {
    #expect(SyncHistoryRule.verdict(on: run(.cancelled), after: nil) == .nothing)
    #expect(SyncHistoryRule.verdict(on: run(.cancelled, requests: 1), after: nil) == .row)
    #expect(SyncHistoryRule.verdict(on: run(.cancelled, length: 10_000), after: nil) == .row)
  }
}

@Suite("The health of syncing by its log", .timeLimit(.minutes(5)))
struct SyncStandingTests {
  private func run(_ problem: SyncStop?, _ began: Int64, _ ended: Int64, count: Int = 1)
    -> StoreMaintenance.SyncRun
  {
    StoreMaintenance.SyncRun(began: began, ended: ended, problem: problem, count: count)
  }

  private let away = SyncStop.unreachable("No route.")

  @Test("Nothing is known of a file that was never synced")
  func never() {
    let health = SyncHealth([], pulledAt: nil)
    #expect(health.lastEndedWell == nil && health.failing == nil)
  }

  @Test("A sync without work counts by the time of its pull")
  func quiet() {
    let health = SyncHealth([run(nil, 10, 20)], pulledAt: 90)
    #expect(health.lastEndedWell == 90 && health.failing == nil)
  }

  @Test("Failures are reported with the newest reason, the first time and their number")
  func failing() {
    let runs = [
      run(.throttled("Later."), 300, 310), run(away, 100, 220, count: 7), run(nil, 10, 20), run(away, 1, 2),
    ]
    let health = SyncHealth(runs, pulledAt: 60)
    #expect(health.lastEndedWell == 60)
    #expect(health.failing?.reason == .throttled("Later."))
    #expect(health.failing?.since == 100 && health.failing?.last == 310 && health.failing?.count == 8)
  }

  @Test("A successful pull does not hide another failure of the sync")
  func pulledMeanwhile() {
    let health = SyncHealth([run(away, 100, 220, count: 7), run(nil, 10, 20)], pulledAt: 210)
    #expect(health.lastEndedWell == 20 && health.failing?.since == 100)
  }

  @Test("A cancelled sync counts as neither success nor failure")
  func cancelled() {
    let well = SyncHealth([run(.cancelled, 50, 60), run(nil, 10, 20)], pulledAt: nil)
    #expect(well.lastEndedWell == 20 && well.failing == nil)
    let failing = SyncHealth([run(.cancelled, 50, 60), run(away, 10, 20)], pulledAt: nil)
    #expect(failing.lastEndedWell == nil && failing.failing?.count == 1)
  }
}
