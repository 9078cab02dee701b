import BothyStore
import Synchronization

/// When the server last said of a scope that nothing is new: kept in memory, because that is worth no commit.
///
/// The time goes into the file with the next thing that is written, and by itself once the file's is an hour old. After a
/// relaunch an answer may so seem up to an hour older than it is, never newer.
final class HeardScopes: Sendable {
  /// How old the file's time may get, in milliseconds.
  static let interval: Int64 = 3_600_000
  private let times = Mutex<[PullScope: Int64]>([:])

  func note(_ scope: PullScope, at time: Int64) {
    times.withLock { $0[scope] = max(time, $0[scope] ?? .min) }
  }

  /// When a pull of the scope was last completed; nil when none was.
  func time(of state: PullState) -> Int64? {
    guard let stored = state.pulledAt else { return nil }
    guard state.isComplete, let heard = times.withLock({ $0[state.scope] }) else { return stored }
    return max(stored, heard)
  }
}
