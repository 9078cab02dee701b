import BothyStore
import Synchronization

/// The times at which the server last reported that a scope has nothing new. They are kept in memory, because they
/// aren't worth a commit.
///
/// A time is written to the file with the next write, and by itself once the file's time is an hour old. So after a
/// relaunch an answer may seem up to an hour older than it is, never newer.
final class HeardScopes: Sendable {
  /// The greatest age of the file's time, in milliseconds.
  static let interval: Int64 = 3_600_000
  private let times = Mutex<[SyncScope: Int64]>([:])

  func note(_ scope: SyncScope, at time: Int64) {
    times.withLock { $0[scope] = max(time, $0[scope] ?? .min) }
  }

  /// Returns the time at which a pull of the scope was last completed, or `nil`.
  func time(of state: PullState) -> Int64? {
    guard let stored = state.pulledAt else { return nil }
    guard state.isComplete, let heard = times.withLock({ $0[state.scope] }) else { return stored }
    return max(stored, heard)
  }
}
