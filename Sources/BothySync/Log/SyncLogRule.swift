/// Decides how the log of syncs keeps a sync that has ended, given the last noted one. Pure: it reads and writes
/// nothing.
///
/// | the sync                                                    | kept                                          |
/// |-------------------------------------------------------------|-----------------------------------------------|
/// | was left out, or stopped by signing out                     | nothing                                       |
/// | was cancelled within ten seconds, nothing done              | nothing                                       |
/// | moved something                                             | a row                                         |
/// | moved nothing and refused nothing, and the last ended well  | nothing                                       |
/// | ended as the last did, neither having moved anything        | a count: at once, or later within the minute  |
/// | ended in another way                                        | a row                                         |
package enum SyncLogRule {
  package enum Verdict: Sendable, Equatable {
    /// Nothing is written, now or later.
    case nothing
    /// The last row counts this sync too. It was written a moment ago, so the count waits in memory until the next
    /// write.
    case countLater
    /// The last row counts this sync too.
    case count
    case row
  }

  /// The shortest time between two counts of equal failures in their row, in milliseconds.
  package static let interval: Int64 = 60_000
  /// The time within which the app cancelled the sync by choice, if it did nothing before, in milliseconds.
  package static let patience: Int64 = 10_000

  package static func verdict(on run: StoreMaintenance.SyncRun, after last: StoreMaintenance.SyncRun?)
    -> Verdict
  {
    if !mayMatter(run) { return .nothing }
    guard !run.movedSomething, let last else { return .row }
    if run.problem == nil && run.refused == 0 && last.problem == nil { return .nothing }
    guard run.repeats(last) else { return .row }
    // A clock that was set back makes the difference negative. Then the row is due too.
    return (0..<interval).contains(run.ended - last.ended) ? .countLater : .count
  }

  /// Returns true if the sync may be noted, whatever was noted last.
  package static func mayMatter(_ run: StoreMaintenance.SyncRun) -> Bool {
    switch run.problem {
    case .alreadyRunning, .signedOut: false
    case .cancelled:
      run.movedSomething || run.refused > 0 || run.requests > 0 || run.ended - run.began >= patience
    default: true
    }
  }
}
