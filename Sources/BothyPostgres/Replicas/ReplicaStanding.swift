package import BothySyncService

/// The decision if a replica is used: it is left alone after a failure, for longer each time, until a look succeeds.
package struct ReplicaStanding: Sendable {
  package typealias Instant = ContinuousClock.Instant

  /// The times for which a replica is left alone at least.
  package static let shortestRest = Duration.seconds(1)
  package static let longestRest = Duration.seconds(60)

  /// The reason why it isn't used; `nil` while it is.
  package private(set) var problem: ReplicaState.Problem? = .unchecked
  private var rest = shortestRest
  private var restEnd: Instant?
  private var usedSince: Instant?

  package init() {}

  /// Notes a failure. Further ones of a replica that is left alone don't make its rest longer.
  package mutating func failed(_ problem: ReplicaState.Problem, at time: Instant) {
    if self.problem == nil {
      restEnd = time + rest
      rest = min(rest * 2, Self.longestRest)
    }
    self.problem = problem
    usedSince = nil
  }

  /// Notes a look that found nothing wrong. A replica that has been used for the length of its next rest begins again
  /// with a short one.
  package mutating func succeeded(at time: Instant) {
    if problem != nil {
      if let restEnd, time < restEnd { return }
      (problem, usedSince) = (nil, time)
    } else if let usedSince, usedSince + rest <= time {
      rest = Self.shortestRest
    }
  }
}

/// The time for which a replica has lacked changes, from looks at both logs.
package struct ReplicaLag: Sendable {
  /// An end of the primary's log that the replica hadn't reached, with the time of the look.
  private var missing: (log: Int64, since: ContinuousClock.Instant)?
  package private(set) var bytes: Int64 = 0

  package init() {}

  /// Notes the ends of the logs at one look.
  package mutating func noted(primary: Int64, replica: Int64, at time: ContinuousClock.Instant) {
    bytes = max(0, primary - replica)
    if bytes == 0 { return missing = nil }
    if missing.map({ replica >= $0.log }) ?? true { missing = (primary, time) }
  }

  /// Returns the seconds since the look at which the replica lacked what it still lacks.
  package func seconds(at time: ContinuousClock.Instant) -> Double {
    missing.map { max(0, $0.since.duration(to: time) / .seconds(1)) } ?? 0
  }
}
