import BothyPostgres
import BothySyncService
import Testing

@Suite("The standing of a replica", .timeLimit(.minutes(5)))
struct ReplicaStandingTests {
  private let start = ContinuousClock.now

  @Test("A replica is used after a look that succeeds, and not before")
  func firstLook() {
    var standing = ReplicaStanding()
    #expect(standing.problem == .unchecked)
    standing.failed(.away, at: start)
    #expect(standing.problem == .away)
    standing.succeeded(at: start)
    #expect(standing.problem == nil)
  }

  @Test("A replica that fails again and again is left alone for longer each time")
  func longerRests() {
    var standing = ReplicaStanding()
    standing.succeeded(at: start)
    var time = start
    for rest in [1, 2, 4, 8, 16, 32, 60, 60] {
      standing.failed(.behind, at: time)
      // Reads that were under way fail too.
      standing.failed(.away, at: time)
      time += .seconds(rest) - .milliseconds(1)
      standing.succeeded(at: time)
      #expect(standing.problem == .away, "\(rest)")
      time += .milliseconds(1)
      standing.succeeded(at: time)
      #expect(standing.problem == nil, "\(rest)")
    }
  }

  @Test("A replica that was used for its next rest begins with a short one")
  func recovery() {
    var standing = ReplicaStanding()
    standing.succeeded(at: start)
    standing.failed(.behind, at: start)
    var time = start + .seconds(1)
    standing.succeeded(at: time)
    // Its next rest is two seconds. It is used for less, and fails.
    time += .milliseconds(1999)
    standing.succeeded(at: time)
    standing.failed(.behind, at: time)
    time += .seconds(2)
    standing.succeeded(at: time)
    #expect(standing.problem == nil)
    // Its next rest is four seconds. It is used for as long.
    time += .seconds(4)
    standing.succeeded(at: time)
    standing.failed(.behind, at: time)
    standing.succeeded(at: time + .milliseconds(999))
    #expect(standing.problem == .behind)
    standing.succeeded(at: time + .seconds(1))
    #expect(standing.problem == nil)
  }

  @Test("The lag begins with the look at which something was missing")
  func lag() {
    var lag = ReplicaLag()
    #expect(lag.bytes == 0 && lag.seconds(at: start) == 0)
    lag.noted(primary: 100, replica: 90, at: start)
    #expect(lag.bytes == 10 && lag.seconds(at: start + .seconds(3)) == 3)
    // It moves, but not as far as the primary was.
    lag.noted(primary: 200, replica: 99, at: start + .seconds(4))
    #expect(lag.bytes == 101 && lag.seconds(at: start + .seconds(5)) == 5)
    // It is never even, and never long behind.
    lag.noted(primary: 300, replica: 250, at: start + .seconds(6))
    #expect(lag.bytes == 50 && lag.seconds(at: start + .seconds(7)) == 1)
    lag.noted(primary: 300, replica: 300, at: start + .seconds(8))
    #expect(lag.bytes == 0 && lag.seconds(at: start + .seconds(9)) == 0)
  }
}
