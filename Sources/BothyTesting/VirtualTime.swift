import Synchronization

/// A clock that a test moves: milliseconds since 1970 for a store and its `SyncService`.
///
/// It is the time of day, by which edits and retries are dated. Waits are those of `VirtualClock`. May be used from any
/// task.
///
/// ```swift
/// let time = VirtualTime()
/// let server = SyncService(storage: try SQLiteServerStorage(), now: time.reader())
/// let behind = time.reader(skew: -60_000)  // a minute behind
/// time.advance(by: 3_600_000)
/// ```
public final class VirtualTime: Sendable {
  private let milliseconds: Mutex<Int64>

  /// Starts at 2026-01-01T00:00:00Z unless told otherwise.
  ///
  /// - Parameter start: milliseconds since 1970.
  public init(_ start: Int64 = 1_767_225_600_000) { milliseconds = Mutex(start) }

  /// The time in milliseconds since 1970, without a device's skew.
  public var now: Int64 { milliseconds.withLock { $0 } }

  /// Moves the clock by `amount` milliseconds, forward or back. Wakes no tasks, because they sleep on a `VirtualClock`.
  ///
  /// Readers see the new time at once.
  public func advance(by amount: Int64) { milliseconds.withLock { $0 += amount } }

  /// Returns a function that reads the clock with a constant error, for a device whose clock is wrong.
  ///
  /// It keeps the clock alive, and may be called from any thread.
  ///
  /// - Parameter skew: milliseconds that are added to the time. A positive skew is ahead.
  public func reader(skew: Int64 = 0) -> @Sendable () -> Int64 { { self.now + skew } }
}
