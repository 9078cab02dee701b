import Synchronization

/// A clock that a test moves: milliseconds since 1970 for `SyncClock` and `SyncService`.
public final class VirtualTime: Sendable {
  private let milliseconds: Mutex<Int64>

  /// Starts at 2026-01-01T00:00:00Z unless told otherwise.
  public init(_ start: Int64 = 1_767_225_600_000) { milliseconds = Mutex(start) }

  /// In milliseconds since 1970.
  public var now: Int64 { milliseconds.withLock { $0 } }

  /// Moves the clock by `amount` milliseconds, forward or back. Wakes no tasks, because they sleep on a `VirtualClock`.
  public func advance(by amount: Int64) { milliseconds.withLock { $0 += amount } }

  /// Returns a function that reads the clock with a constant error, for a device whose clock is wrong.
  public func reader(skew: Int64 = 0) -> @Sendable () -> Int64 { { self.now + skew } }
}
