/// Decides what the log of syncs keeps of one that has ended, given what was noted last. Pure: it reads and writes
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
    /// The last row stands for this one too, but was written a moment ago: counted in memory until the next word.
    case countLater
    /// The last row stands for this one too.
    case count
    case row
  }

  /// Equal failures raise the count of their row no more often than this, in milliseconds.
  package static let interval: Int64 = 60_000
  /// A sync that was cancelled sooner than this, with nothing done, was the app's change of mind.
  package static let patience: Int64 = 10_000

  package static func verdict(on run: SyncRun, after last: SyncRun?) -> Verdict {
    if !mayMatter(run) { return .nothing }
    guard !run.movedSomething, let last else { return .row }
    if run.problem == nil && run.refused == 0 && last.problem == nil { return .nothing }
    guard run.repeats(last) else { return .row }
    // A clock that was set back makes the difference negative; then the row is due too.
    return (0..<interval).contains(run.ended - last.ended) ? .countLater : .count
  }

  /// Whether the sync can be worth a word, whatever was noted last.
  package static func mayMatter(_ run: SyncRun) -> Bool {
    switch run.problem {
    case .alreadyRunning, .signedOut: false
    case .cancelled:
      run.movedSomething || run.refused > 0 || run.requests > 0 || run.ended - run.began >= patience
    default: true
    }
  }
}
