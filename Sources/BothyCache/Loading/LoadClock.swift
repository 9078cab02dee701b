public import Foundation

/// The clocks of the loading part: the device's calendar clock for stored times, and a monotonic clock for waiting.
///
/// Freshness is computed by the calendar clock, and timeouts and pauses by the other.
public struct LoadClock: Sendable {
  /// Returns the time of the device's clock in milliseconds since 1970.
  package let wall: @Sendable () -> Int64
  /// Returns the running time of the monotonic clock, which is never set and never runs backward.
  let uptime: @Sendable () -> Duration
  package let sleep: @Sendable (Duration) async throws -> Void

  /// Creates the clocks of a cache, by default those of this machine. Tests pass their own.
  ///
  /// - Parameters:
  ///   - clock: the clock for waiting, such as one that a test moves.
  ///   - wall: returns milliseconds since 1970. It is called from any thread, several times for each read.
  public init<C: Clock>(
    _ clock: C = ContinuousClock(),
    wall: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) where C.Duration == Duration {
    let start = clock.now
    self.wall = wall
    uptime = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(for: $0) }
  }
}
