import BothyPostgres
import Testing

@Suite("The threads of a pool of connections", .timeLimit(.minutes(5)))
struct WorkerDemandTests {
  @Test("Each waiting job has a thread of its own, up to the limit")
  func demand() {
    let cases: [(jobs: Int, idle: Int, started: Int, starts: Bool)] = [
      (1, 0, 0, true), (1, 0, 2, true), (1, 0, 3, false), (1, 1, 1, false), (1, 2, 2, false),
      // The idle thread was woken for the first job, and hasn't taken it yet.
      (2, 1, 1, true), (3, 2, 2, true), (2, 2, 2, false), (4, 3, 3, false),
    ]
    for (jobs, idle, started, starts) in cases {
      let found = WorkerDemand.startsThread(waiting: jobs, idle: idle, started: started, limit: 3)
      #expect(found == starts, "\(jobs) jobs, \(idle) of \(started) threads idle")
    }
  }
}
